#include "sim/training/fleet.h"

/* What one node has done so far. */
typedef struct {
  guint clock;          /* iterations that have ended */
  GArray *ends_s;       /* of double: when; the first is the begin of the first */
  guint *read;          /* of each piece: its version when it was last pulled */
  EngineSignal *may_go; /* raised when the slowest goes on and this one waits for that */
  bool waits;
} Node;

struct Fleet {
  Job *jobs;
  Node *nodes;
  guint n_nodes;
  guint n_running;
  Consistency consistency;
  guint staleness, n_pieces;
  guint *version;   /* of each piece: updates so far */
  GPtrArray **held; /* of each piece: items (borrowed) of nodes that pushed early */
  guint slowest;    /* iterations that all have ended */
  bool measuring, is_over;
  double stale_updates, n_updates; /* of the measured time */
  guint lead; /* largest of a node that began an iteration over the slowest */
};

static void lay_node(Fleet *self, const FleetSetup *setup, guint node, Result *result)
{
  Job *job = &self->jobs[node];
  g_autoptr(Crews) crews = crews_new_of_node(setup->crews, node);
  const guint n_stages = setup->compositions[node].pipeline.stages->len;

  *job = *setup->job;
  job->composition = &setup->compositions[node];
  job->fleet = self;
  job->lead = &self->jobs[0];
  job->node = 1 + node;
  job_lay_crews(job, crews,
                &(JobCrews){ .seed = rng_hash(setup->seed, node, 1), .fold = true });
  timeline_init(&job->timeline, setup->traced && node == 0, n_stages, result);
  self->nodes[node].ends_s = g_array_new(FALSE, FALSE, sizeof(double));
  self->nodes[node].read = g_new0(guint, self->n_pieces + 1);
}

Fleet *fleet_new(const FleetSetup *setup, Result *result)
{
  const Composition *composition = &setup->compositions[0];
  Fleet *self = g_new0(Fleet, 1);

  self->n_nodes = setup->crews->n_nodes;
  self->consistency = composition->consistency;
  self->staleness = composition->staleness;
  self->n_pieces = composition->n_pieces;
  self->jobs = g_new0(Job, self->n_nodes);
  self->nodes = g_new0(Node, self->n_nodes);
  self->version = g_new0(guint, self->n_pieces + 1);
  self->held = g_new0(GPtrArray *, self->n_pieces + 1);
  for (guint p = 0; p < self->n_pieces; p++)
    self->held[p] = g_ptr_array_new();
  for (guint node = 0; node < self->n_nodes; node++)
    lay_node(self, setup, node, result);
  return self;
}

void fleet_free(Fleet *self)
{
  for (guint node = 0; node < self->n_nodes; node++) {
    job_clear(&self->jobs[node]);
    g_clear_pointer(&self->nodes[node].may_go, engine_signal_free);
    g_array_unref(self->nodes[node].ends_s);
    g_free(self->nodes[node].read);
  }
  for (guint p = 0; p < self->n_pieces; p++)
    g_ptr_array_unref(self->held[p]);
  g_free(self->held);
  g_free(self->version);
  g_free(self->nodes);
  g_free(self->jobs);
  g_free(self);
}

/* ---- clocks ------------------------------------------------------------------------ */

static double now_s(const Fleet *self)
{
  return engine_now_s(self->jobs[0].engine);
}

/* The slowest node has ended its warm-up, or its last measured iteration. */
static void tell_time(Fleet *self)
{
  const RunSpec *run = &self->jobs[0].setup->run;

  if (self->slowest != run->warmup && self->slowest != run->warmup + run->iterations)
    return;
  self->measuring = self->slowest == run->warmup;
  self->is_over = !self->measuring;
  for (guint node = 0; node < self->n_nodes; node++) {
    Job *job = &self->jobs[node];
    if (self->measuring)
      timeline_begin(&job->timeline, now_s(self));
    else
      timeline_end(&job->timeline, now_s(self));
    *(self->measuring ? &job->measured_from_s : &job->measured_to_s) = now_s(self);
    if (self->measuring && self->nodes[node].clock == self->slowest)
      job->last_from_s = now_s(self);
  }
}

/* With asynchronous servers, is this one too far ahead? */
static bool must_wait(const Fleet *self, const Node *node)
{
  return self->consistency == CONSISTENCY_SSP && !self->is_over &&
         node->clock > self->slowest + self->staleness;
}

static void wake_waiting(Fleet *self)
{
  for (guint i = 0; i < self->n_nodes; i++) {
    Node *node = &self->nodes[i];
    if (!node->waits || must_wait(self, node))
      continue;
    node->waits = false;
    engine_signal_raise(node->may_go);
  }
}

/* An iteration of @p node has ended, or its first begins. */
static void advance(Fleet *self, Node *node, bool begins)
{
  const double end_s = now_s(self);
  guint slowest = G_MAXUINT;

  g_array_append_val(node->ends_s, end_s);
  node->clock += begins ? 0 : 1;
  for (guint i = 0; i < self->n_nodes; i++)
    slowest = MIN(slowest, self->nodes[i].clock);
  if (slowest > self->slowest || (begins && node == &self->nodes[0])) {
    self->slowest = slowest;
    tell_time(self);
    wake_waiting(self);
  }
}

static void begin_iteration(Fleet *self, Node *node)
{
  while (must_wait(self, node)) {
    node->waits = true;
    engine_signal_wait(node->may_go);
  }
  if (self->measuring)
    self->lead = MAX(self->lead, node->clock - self->slowest);
}

/* ---- processes --------------------------------------------------------------------- */

/* Synchronous nodes go through the same iterations; others go on until the slowest has
 * ended its own. */
static bool goes_on(const Fleet *self, const Node *node)
{
  const RunSpec *run = &self->jobs[0].setup->run;

  return self->consistency == CONSISTENCY_SYNC ? node->clock < run->warmup + run->iterations
                                               : !self->is_over;
}

static void run_node(void *data)
{
  Job *job = data;
  Fleet *self = job->fleet;
  Node *node = &self->nodes[job->node - 1];
  Worker *worker = &job->workers[0];

  while (goes_on(self, node)) {
    begin_iteration(self, node);
    if (!goes_on(self, node))
      break;
    worker_iterate(worker);
    worker->iteration++;
    advance(self, node, false);
  }
  worker_await(worker, &job->rounds_done, worker->n_rounds);
  if (--self->n_running > 0)
    return;
  for (guint i = 0; i < self->n_nodes; i++)
    job_stop(&self->jobs[i]);
}

void fleet_run(void *data)
{
  Fleet *self = data;

  self->n_running = self->n_nodes;
  for (guint i = 0; i < self->n_nodes; i++) {
    self->nodes[i].may_go = engine_signal_new(self->jobs[i].engine);
    job_start(&self->jobs[i]);
  }
  for (guint i = 0; i < self->n_nodes; i++)
    advance(self, &self->nodes[i], true);
  for (guint i = 1; i < self->n_nodes; i++)
    engine_spawn(self->jobs[i].engine, "node", run_node, &self->jobs[i]);
  run_node(&self->jobs[0]);
}

/* ---- servers ----------------------------------------------------------------------- */

bool fleet_arrives(Fleet *self, Item *item)
{
  GPtrArray *held = self->held[item->unit.piece];

  if (self->consistency != CONSISTENCY_SYNC || held->len + 1 == self->n_nodes)
    return true;
  g_ptr_array_add(held, item);
  return false;
}

void fleet_applies(Fleet *self, Item *item)
{
  const guint piece = item->unit.piece;
  GPtrArray *held = self->held[piece];

  if (self->measuring && self->consistency != CONSISTENCY_SYNC) {
    self->stale_updates +=
      self->version[piece] - self->nodes[item->job->node - 1].read[piece];
    self->n_updates++;
  }
  self->version[piece]++;
  g_autoptr(GPtrArray) ready = held;
  self->held[piece] = g_ptr_array_new();
  for (guint i = 0; i < ready->len; i++) {
    Item *one = g_ptr_array_index(ready, i);
    one->stage++;
    job_pass_on(one);
  }
}

void fleet_pulls(Fleet *self, const Item *item)
{
  self->nodes[item->job->node - 1].read[item->unit.piece] = self->version[item->unit.piece];
}

/* ---- results ----------------------------------------------------------------------- */

/* Iterations per second, from the first to the last end within the measured time. */
static double rate_of(const Fleet *self, guint node)
{
  const GArray *ends_s = self->nodes[node].ends_s;
  const Job *job = &self->jobs[node];
  const double from_s = job->measured_from_s, to_s = job->measured_to_s;
  double first_s = 0, last_s = 0;
  guint n = 0;

  for (guint i = 0; i < ends_s->len; i++) {
    const double end_s = g_array_index(ends_s, double, i);
    if (end_s < from_s - SCHEDULE_INSTANT_S || end_s > to_s + SCHEDULE_INSTANT_S)
      continue;
    first_s = n++ == 0 ? end_s : first_s;
    last_s = end_s;
  }
  return n >= 2 && last_s > first_s ? (n - 1) / (last_s - first_s) : n / (to_s - from_s);
}

static void add_timeline(Timeline *sum, const Timeline *one, guint n_stages)
{
  sum->busy_s += one->busy_s;
  sum->n_units += one->n_units;
  sum->message_B += one->message_B;
  sum->largest_unit_B = MAX(sum->largest_unit_B, one->largest_unit_B);
  for (guint tier = 0; tier < TIER_N; tier++) {
    sum->moved_B[tier] += one->moved_B[tier];
    sum->peak[tier] = MAX(sum->peak[tier], one->peak[tier]);
  }
  for (guint kind = 0; kind < COLL_N_KINDS; kind++)
    sum->collective_B[kind] += one->collective_B[kind];
  for (guint s = 0; s < n_stages; s++)
    sum->stage_s[s] += one->stage_s[s];
  g_array_append_vals(sum->latencies_s, one->latencies_s->data, one->latencies_s->len);
}

const Job *fleet_sum_up(Fleet *self)
{
  Job *job = &self->jobs[0];
  Timeline *sum = &job->timeline;
  const guint n_stages = job->composition->pipeline.stages->len;
  const double n = self->n_nodes;
  double rate = rate_of(self, 0);

  for (guint node = 1; node < self->n_nodes; node++) {
    add_timeline(sum, &self->jobs[node].timeline, n_stages);
    rate += rate_of(self, node);
  }
  sum->busy_s /= n;
  sum->n_units /= self->n_nodes;
  sum->message_B /= n;
  for (guint kind = 0; kind < COLL_N_KINDS; kind++)
    sum->collective_B[kind] /= n;
  for (guint s = 0; s < n_stages; s++)
    sum->stage_s[s] /= n;
  job->n_measured = rate / n * (job->measured_to_s - job->measured_from_s);
  return job;
}

double fleet_staleness_updates(const Fleet *self)
{
  return self->n_updates > 0 ? self->stale_updates / self->n_updates : 0;
}

guint fleet_staleness_iterations(const Fleet *self)
{
  return self->lead;
}
