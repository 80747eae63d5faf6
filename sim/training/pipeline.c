/* The stages of a unit: queues, servers, transfers. */
#include "sim/base/units.h"
#include "sim/training/job.h"

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

static void finish(Job *job, Item *item)
{
  const double now_s = engine_now_s(job->engine);

  for (guint i = 0; job->timeline.measuring && i < item->unit.gradients->len; i++) {
    const double latency_s =
      now_s - job->ready_s[g_array_index(item->unit.gradients, guint32, i)];
    g_array_append_val(job->timeline.latencies_s, latency_s);
  }
  job->n_pending -= item->unit.gradients->len;
  item_free(item);
  if (job->n_pending == 0)
    engine_signal_raise(job->synchronised);
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
  g_queue_push_tail(&job->lanes[stage->resource].items, item);
  engine_signal_raise(job->lanes[stage->resource].arrived);
}

void job_dispatch(Job *job, Unit *unit)
{
  Item *item = g_new(Item, 1);
  *item = (Item){ .unit = *unit };

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
    engine_transfer(job->engine, phase.set, phase.wire_B);
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
  }
}

static void serve(void *data)
{
  g_autofree Server *server = data;
  Lane *lane = &server->job->lanes[server->resource];

  for (;;) {
    engine_signal_wait(lane->arrived);
    Item *item = g_queue_pop_head(&lane->items);
    if (item == NULL)
      return;
    serve_item(server, item);
    pass_on(server->job, item);
  }
}

void job_open_pipeline(Job *job)
{
  const guint n_resources = job->composition->pipeline.resources->len;

  job->lanes = g_new0(Lane, n_resources);
  for (guint r = 0; r < n_resources; r++) {
    g_queue_init(&job->lanes[r].items);
    job->lanes[r].arrived = engine_signal_new(job->engine);
    for (guint i = 0; i < resource_at(job, r)->concurrency; i++) {
      Server *server = g_new(Server, 1);
      *server = (Server){ .job = job, .resource = r, .track = job_track(job, r, i) };
      engine_spawn(job->engine, "server", serve, server);
    }
  }
}

void job_close_pipeline(Job *job)
{
  for (guint r = 0; r < job->composition->pipeline.resources->len; r++)
    for (guint i = 0; i < resource_at(job, r)->concurrency; i++) {
      g_queue_push_tail(&job->lanes[r].items, NULL);
      engine_signal_raise(job->lanes[r].arrived);
    }
}

void job_free_pipeline(Job *job)
{
  for (guint r = 0; job->lanes != NULL && r < job->composition->pipeline.resources->len;
       r++) {
    engine_signal_free(job->lanes[r].arrived);
    g_queue_clear(&job->lanes[r].items);
  }
  g_clear_pointer(&job->lanes, g_free);
}
