/* The stages of a unit: queues, servers, transfers. */
#include "sim/base/units.h"
#include "sim/training/job.h"

#include <math.h>

/* A process that serves one resource. */
typedef struct {
  Job *job;
  guint resource;
  guint track;
} Server;

static const Stage *stage_at(const Job *job, guint index)
{
  const GArray *stages = job->composition->pipeline.stages;
  return index < stages->len ? &g_array_index(stages, Stage, index) : NULL;
}

static const Resource *resource_at(const Job *job, guint index)
{
  return &g_array_index(job->composition->pipeline.resources, Resource, index);
}

guint job_track(const Job *job, guint resource, guint server)
{
  guint track = 1 + server;
  for (guint r = 0; r < resource; r++)
    track += resource_at(job, r)->concurrency;
  return track;
}

static void item_free(Item *item)
{
  unit_clear(&item->unit);
  g_free(item);
}

static void skip_stages(const Job *job, Item *item)
{
  const Stage *stage;
  while ((stage = stage_at(job, item->stage)) != NULL && stage->only_fused &&
         item->unit.gradients->len == 1)
    item->stage++;
}

static void notify(Lane *lane)
{
  if (lane->n_waiting == 0)
    return;
  lane->n_waiting--;
  engine_signal_raise(lane->changed);
}

/* Credit comes back when the item leaves the stage that the resource names; @p stage is
 * the one it has left, or one beyond the last. */
static void return_credit(Job *job, Item *item, guint stage)
{
  const guint n_stages = job->composition->pipeline.stages->len;

  for (guint r = 0; item->held_credit >> r != 0; r++) {
    const bool ends = MIN(resource_at(job, r)->credit_stage, n_stages) == stage;
    if (!(item->held_credit >> r & 1) || !ends)
      continue;
    item->held_credit &= ~(1u << r);
    job->lanes[r].credit_B += item->unit.size_B;
    notify(&job->lanes[r]);
  }
}

static void synchronise(Job *job, guint32 gradient)
{
  const double latency_s = engine_now_s(job->engine) - job->ready_s[gradient];

  if (job->timeline.measuring)
    g_array_append_val(job->timeline.latencies_s, latency_s);
  job->pending_of_layer[workload_gradient(job->workload, gradient)->layer]--;
  job->n_pending--;
}

static void finish(Job *job, Item *item)
{
  const guint n_before = job->n_pending;

  for (guint i = 0; i < item->unit.gradients->len; i++) {
    const guint32 gradient = g_array_index(item->unit.gradients, guint32, i);
    if (++job->parts_done[gradient] == item->unit.n_parts)
      synchronise(job, gradient);
  }
  return_credit(job, item, job->composition->pipeline.stages->len);
  item_free(item);
  if (job->n_pending < n_before && job->worker_waits) {
    job->worker_waits = false;
    engine_signal_raise(job->synchronised);
  }
}

static int compare_items(gconstpointer a, gconstpointer b, gpointer data G_GNUC_UNUSED)
{
  const Item *one = a, *other = b;
  if (one->unit.priority != other->unit.priority)
    return one->unit.priority < other->unit.priority ? -1 : 1;
  return (one->number > other->number) - (one->number < other->number);
}

/* Queue the unit for its next stage, or end its way. */
static void pass_on(Job *job, Item *item)
{
  skip_stages(job, item);
  const Stage *stage = stage_at(job, item->stage);
  if (stage == NULL) {
    finish(job, item);
    return;
  }
  Lane *lane = &job->lanes[stage->resource];
  if (resource_at(job, stage->resource)->by_priority)
    g_queue_insert_sorted(&lane->items, item, compare_items, NULL);
  else
    g_queue_push_tail(&lane->items, item);
  notify(lane);
}

/* The next item of the lane, when there is one and credit for it; NULL at closing time. */
static Item *take(Job *job, guint resource)
{
  Lane *lane = &job->lanes[resource];

  while (g_queue_is_empty(&lane->items) || !(lane->credit_B > 0)) {
    if (lane->closing && g_queue_is_empty(&lane->items))
      return NULL;
    lane->n_waiting++;
    engine_signal_wait(lane->changed);
  }
  Item *item = g_queue_pop_head(&lane->items);
  if (isfinite(lane->credit_B)) {
    lane->credit_B -= item->unit.size_B;
    item->held_credit |= 1u << resource;
  }
  return item;
}

void job_dispatch(Job *job, Unit *unit)
{
  Item *item = g_new(Item, 1);
  *item = (Item){ .unit = *unit, .number = job->n_dispatched++ };

  unit_init(unit);
  if (job->timeline.measuring) {
    job->timeline.n_units++;
    job->timeline.largest_unit_B = MAX(job->timeline.largest_unit_B, item->unit.size_B);
  }
  pass_on(job, item);
}

static void all_reduce(Job *job, double size_B)
{
  const LibraryChoice choice = exchange_choose(job->exchange, size_B);

  timeline_depart(&job->timeline, engine_now_s(job->engine));
  engine_sleep(job->engine, choice.launch_s);
  for (guint p = 0; p < exchange_n_phases(job->exchange, &choice); p++) {
    const ExchangePhase phase = exchange_phase(job->exchange, &choice, p, size_B);
    engine_sleep(job->engine, phase.wait_s);
    const double start_s = engine_now_s(job->engine);
    exchange_transfer(job->engine, &phase);
    timeline_add_transfer(&job->timeline, job->exchange, &phase, start_s,
                          engine_now_s(job->engine));
  }
  timeline_arrive(&job->timeline, engine_now_s(job->engine));
}

static void trace_stage(const Server *server, const Stage *stage, const Item *item,
                        double start_s)
{
  Timeline *timeline = &server->job->timeline;
  if (!timeline->traced || !timeline->measuring)
    return;

  const guint n_tensors = item->unit.gradients->len;
  g_autofree char *size = units_show_bytes(item->unit.size_B, 3);
  g_autofree char *name = g_strdup_printf("%s %s, %u tensor%s", stage->name, size,
                                          n_tensors, n_tensors == 1 ? "" : "s");
  result_add_span(timeline->result, server->track, name, start_s,
                  engine_now_s(server->job->engine));
}

/* All stages of the item that follow one another on this server's resource. */
static void serve_item(const Server *server, Item *item)
{
  Job *job = server->job;
  const Stage *stage;

  for (;
       (stage = stage_at(job, item->stage)) != NULL && stage->resource == server->resource;
       item->stage++, skip_stages(job, item)) {
    const double start_s = engine_now_s(job->engine);
    if (stage->kind == STAGE_COLLECTIVE)
      all_reduce(job, item->unit.size_B);
    else
      engine_sleep(job->engine,
                   stage_wait_s(stage, item->unit.gradients->len, item->unit.size_B));
    if (job->timeline.measuring)
      job->timeline.stage_s[item->stage] += engine_now_s(job->engine) - start_s;
    trace_stage(server, stage, item, start_s);
    return_credit(job, item, item->stage);
  }
}

static void serve(void *data)
{
  g_autofree Server *server = data;
  Item *item;

  while ((item = take(server->job, server->resource)) != NULL) {
    serve_item(server, item);
    pass_on(server->job, item);
  }
}

void job_open_pipeline(Job *job)
{
  const guint n_resources = job->composition->pipeline.resources->len;

  job->lanes = g_new0(Lane, n_resources);
  for (guint r = 0; r < n_resources; r++) {
    const Resource *resource = resource_at(job, r);
    Lane *lane = &job->lanes[r];
    g_queue_init(&lane->items);
    lane->changed = engine_signal_new(job->engine);
    lane->credit_B = resource->credit_B > 0 ? resource->credit_B : HUGE_VAL;
    for (guint i = 0; i < resource->concurrency; i++) {
      Server *server = g_new(Server, 1);
      *server = (Server){ .job = job, .resource = r, .track = job_track(job, r, i) };
      engine_spawn(job->engine, "server", serve, server);
    }
  }
}

void job_close_pipeline(Job *job)
{
  for (guint r = 0; r < job->composition->pipeline.resources->len; r++) {
    job->lanes[r].closing = true;
    for (guint n = job->lanes[r].n_waiting; n > 0; n--)
      notify(&job->lanes[r]);
  }
}

void job_free_pipeline(Job *job)
{
  for (guint r = 0; job->lanes != NULL && r < job->composition->pipeline.resources->len;
       r++) {
    engine_signal_free(job->lanes[r].changed);
    g_queue_clear(&job->lanes[r].items);
  }
  g_clear_pointer(&job->lanes, g_free);
}
