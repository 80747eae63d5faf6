/* The stages of a unit: queues, servers, transfers. */
#include "sim/base/units.h"
#include "sim/training/fleet.h"

#include <math.h>

/* A process that serves one lane of a resource. */
typedef struct {
  Job *job;
  guint resource;
  Lane *lane;
  guint track; /* of the picture; NO_TRACK: one of many that are alike */
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

/* The job that has the queue: of servers one for all nodes. */
static const Job *holder_of(const Job *job, guint resource)
{
  return resource_at(job, resource)->is_servers && job->lead != NULL ? job->lead : job;
}

static Lane *lane_of(const Job *job, guint resource, guint server)
{
  const guint index = resource_at(job, resource)->per_server ? server : 0;
  const Job *holder = holder_of(job, resource);
  return &g_array_index(holder->lanes, Lane, holder->first_lane[resource] + index);
}

static void item_free(Item *item)
{
  unit_clear(&item->unit);
  g_free(item);
}

static void skip_stages(const Job *job, Item *item)
{
  const Stage *stage;
  while ((stage = stage_at(job, item->stage)) != NULL &&
         (stage->route != item->route || (stage->only_last && !item->unit.is_last) ||
          (stage->only_fused && item->unit.gradients->len == 1)))
    item->stage++;
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
    Lane *lane = lane_of(job, r, item->unit.server);
    lane->credit_B += item->unit.size_B;
    lane_notify(lane);
  }
}

/* The unit ends what the next iteration waits for. */
static void decide(Job *job, const Item *item)
{
  job->decider = item->number;
  job->decided_s = engine_now_s(job->engine);
}

static void synchronise(Job *job, const Item *item, guint32 gradient)
{
  const bool crosses = job->composition->crosses_iterations;
  const double latency_s = engine_now_s(job->engine) - job->ready_s[gradient];

  if (job->timeline.measuring)
    g_array_append_val(job->timeline.latencies_s, latency_s);
  const guint layer = workload_gradient(job->workload, gradient)->layer;
  if (--job->pending_of_layer[layer] == 0) {
    job->layer_rounds[layer]++;
    if (crosses && layer == 0)
      decide(job, item);
  }
  if (--job->n_pending == 0) {
    job->rounds_done++;
    if (!crosses)
      decide(job, item);
    job_end_round(job);
  }
}

/* The exchange of the unit is over. */
static void tell_schedule(Job *job, Item *item)
{
  const ScheduleOps *schedule = job->composition->schedule;

  if (item->is_told || item->route == ROUTE_FETCHES || schedule->finished == NULL)
    return;
  item->is_told = true;
  if (schedule->finished(job_schedule_state(job), &item->unit, engine_now_s(job->engine)))
    job_wake_dispatcher(job);
}

/* ---- what the journal wants to know -------------------------------------------------- */

static void note_collective(const Server *server, const Item *item, CollKind kind,
                            double size_B, const LibraryChoice *choice, double start_s)
{
  const Job *job = server->job;
  JournalEntry entry = {
    .kind = kind,
    .collective = choice->collective,
    .size_B = size_B,
    .chunk_B = choice->terms.chunk_B,
    .unit = item->number,
    .stream = server->track,
    .is_fetch = item->route == ROUTE_FETCHES,
    .start_s = start_s - job->last_from_s,
    .end_s = engine_now_s(job->engine) - job->last_from_s,
  };

  if (job->journal == NULL || !job->timeline.measuring)
    return;
  for (guint i = 0; i < item->unit.gradients->len; i++)
    entry.ready_s =
      MAX(entry.ready_s,
          job->ready_s[g_array_index(item->unit.gradients, guint32, i)] - job->last_from_s);
  g_array_append_val(job->journal->entries, entry);
}

static void note_done(const Job *job, const Item *item)
{
  for (guint i = 0; job->journal != NULL && i < job->journal->entries->len; i++) {
    JournalEntry *entry = &g_array_index(job->journal->entries, JournalEntry, i);
    if (entry->unit == item->number)
      entry->done_s = engine_now_s(job->engine) - job->last_from_s;
  }
}

static void finish(Job *job, Item *item)
{
  const guint n_before = job->n_pending;
  const bool fetched = item->route == ROUTE_FETCHES;

  if (fetched)
    job->fetched[item->fetch]++;
  for (guint i = 0; i < item->unit.gradients->len; i++) {
    const guint32 gradient = g_array_index(item->unit.gradients, guint32, i);
    if (++job->parts_done[gradient] == item->unit.n_parts)
      synchronise(job, item, gradient);
  }
  return_credit(job, item, job->composition->pipeline.stages->len);
  tell_schedule(job, item);
  note_done(job, item);
  item_free(item);
  if (fetched || job->n_pending < n_before)
    job_wake_workers(job);
}

void job_pass_on(Item *item)
{
  Job *job = item->job;

  skip_stages(job, item);
  const Stage *stage = stage_at(job, item->stage);
  if (stage == NULL) {
    finish(job, item);
    return;
  }
  if (stage->kind == STAGE_DECODE) /* is the framework's, later */
    tell_schedule(job, item);
  Lane *lane = lane_of(job, stage->resource, item->unit.server);
  item->arrived_s = engine_now_s(job->engine);
  lane_put(lane, resource_at(job, stage->resource), item);
}

void job_dispatch(Job *job, Unit *unit)
{
  Item *item = g_new(Item, 1);
  *item = (Item){
    .job = job, .unit = *unit, .stage = job_first_stage(job), .number = job->n_dispatched++
  };

  unit_init(unit);
  for (guint i = 0; i < item->unit.gradients->len; i++)
    item->ready_s =
      MAX(item->ready_s, job->ready_s[g_array_index(item->unit.gradients, guint32, i)]);
  job_encode_item(job, item);
  if (job->timeline.measuring) {
    job->timeline.n_units++;
    job->timeline.largest_unit_B = MAX(job->timeline.largest_unit_B, item->unit.size_B);
  }
  job_pass_on(item);
}

void job_fetch(Job *job, guint index)
{
  Item *item = g_new(Item, 1);
  *item = (Item){ .job = job,
                  .route = ROUTE_FETCHES,
                  .fetch = index,
                  .number = job->n_dispatched++,
                  .ready_s = engine_now_s(job->engine) };

  unit_init(&item->unit);
  item->unit.size_B = g_array_index(job->composition->fetches, Fetch, index).size_B;
  job_pass_on(item);
}

static void transfer(Job *job, const ExchangePhase *phase)
{
  engine_sleep(job->engine, phase->wait_s);
  const double start_s = engine_now_s(job->engine);
  exchange_transfer(job->engine, phase);
  timeline_add_transfer(&job->timeline, job->exchange, phase, start_s,
                        engine_now_s(job->engine));
}

/* For who chooses codecs by what transfers take. */
static void tell_chooser(const Item *item, CollKind kind, double size_B,
                         const LibraryChoice *choice, double took_s)
{
  const Job *job = item->job;

  if (job->chooser != NULL && item->route == ROUTE_GRADIENTS)
    chooser_observe(job->chooser, &(ChooserMessage){ &item->unit, kind, choice, size_B,
                                                     took_s, job->timeline.measuring });
}

static void run_collective(const Server *server, const Item *item, CollKind kind,
                           double size_B)
{
  Job *job = item->job;
  const LibraryChoice choice = exchange_choose(job->exchange, kind, size_B);
  const ContentionLoad kernels = exchange_kernels(job->exchange, kind, &choice, size_B);
  const double from_s = engine_now_s(job->engine);

  timeline_depart(&job->timeline, engine_now_s(job->engine));
  job_begin_kernels(job, &kernels);
  engine_sleep(job->engine, choice.launch_s);
  const double start_s = engine_now_s(job->engine);
  const bool by_message = exchange_run_messages(job->exchange, kind, &choice, size_B);
  for (guint p = 0; p < exchange_n_phases(job->exchange, kind, &choice); p++) {
    const ExchangePhase phase = exchange_phase(job->exchange, kind, &choice, p, size_B);
    if (by_message) /* phases are not told apart: each loads its links all the time */
      timeline_add_transfer(&job->timeline, job->exchange, &phase, start_s,
                            engine_now_s(job->engine));
    else
      transfer(job, &phase);
  }
  job_end_kernels(job, &kernels);
  timeline_arrive(&job->timeline, engine_now_s(job->engine));
  note_collective(server, item, kind, size_B, &choice, start_s);
  tell_chooser(item, kind, size_B, &choice, engine_now_s(job->engine) - from_s);
  exchange_observe(job->exchange, kind, &choice, size_B,
                   engine_now_s(job->engine) - from_s);
}

static void run_move(Job *job, const Stage *stage, const Item *item)
{
  const bool encoded = item->is_encoded && stage->moves_message;
  const double size_B = encoded ? item->encoding.message_B : item->unit.size_B;
  const ExchangePhase phase = exchange_move(job->exchange, stage->move, job->node,
                                            item->unit.server, stage->alpha_s, size_B);

  timeline_depart(&job->timeline, engine_now_s(job->engine));
  transfer(job, &phase);
  timeline_arrive(&job->timeline, engine_now_s(job->engine));
}

/* Of racks: rings with the costs that the library has for as large an all-reduce. */
static void run_round_move(Job *job, const CompressionRound *round)
{
  const LibraryChoice choice =
    exchange_choose(job->exchange, COLL_ALL_REDUCE, round->size_B);
  const ExchangePhase phase =
    exchange_move_by(job->exchange, round->move, &choice.terms, round->size_B);

  timeline_depart(&job->timeline, engine_now_s(job->engine));
  engine_sleep(job->engine, choice.launch_s);
  transfer(job, &phase);
  timeline_arrive(&job->timeline, engine_now_s(job->engine));
}

static void run_rounds(const Server *server, const Item *item)
{
  const Encoding *encoding = &item->encoding;

  for (guint r = 0; r < encoding->n_rounds; r++) {
    const CompressionRound *round = &encoding->rounds[r];
    engine_sleep(item->job->engine, round->work_s);
    if (round->move != MOVE_N)
      run_round_move(item->job, round);
    else
      run_collective(server, item, round->kind, round->size_B);
  }
}

/* What a server does beside adding, on CPUs like those of the hosts. */
static double serve_s(const Stage *stage, const Encoding *encoding)
{
  return stage->n_pushes * encoding->decode_s +
         (stage->answers_in_full ? 0 : encoding->encode_s);
}

static void run_stage(const Server *server, const Stage *stage, const Item *item)
{
  Job *job = item->job;
  const Unit *unit = &item->unit;

  switch (stage->kind) {
  case STAGE_WAIT:
    engine_sleep(job->engine, stage_wait_s(stage, unit->gradients->len, unit->size_B));
    break;
  case STAGE_COLLECTIVE:
    if (item->is_encoded && !(stage->message_B > 0))
      run_rounds(server, item);
    else
      run_collective(server, item, stage->collective,
                     stage->message_B > 0 ? stage->message_B : unit->size_B);
    break;
  case STAGE_MOVE:
    engine_sleep(job->engine, stage_wait_s(stage, unit->gradients->len, unit->size_B));
    if (stage->move == MOVE_PULL && job->fleet != NULL)
      fleet_pulls(job->fleet, item);
    run_move(job, stage, item);
    break;
  case STAGE_ENCODE:
    engine_sleep(job->engine, item->encoding.encode_s);
    break;
  case STAGE_DECODE:
    engine_sleep(job->engine, item->encoding.decode_s);
    break;
  case STAGE_SERVE:
    engine_sleep(job->engine, stage_wait_s(stage, unit->gradients->len, unit->size_B) +
                                serve_s(stage, &item->encoding));
    break;
  }
}

static void trace_stage(const Server *server, const Stage *stage, const Item *item,
                        double start_s)
{
  Timeline *timeline = &server->job->timeline;
  if (!timeline->traced || !timeline->measuring || server->track == NO_TRACK)
    return;

  const guint n_tensors = item->unit.gradients->len;
  g_autofree char *size = units_show_bytes(item->unit.size_B, 3);
  g_autofree char *name = g_strdup_printf("%s %s, %u tensor%s", stage->name, size,
                                          n_tensors, n_tensors == 1 ? "" : "s");
  result_add_span(timeline->result, server->track, name, start_s,
                  engine_now_s(server->job->engine));
}

/* All stages of the item that follow one another on this server's resource.
 * @return false if the item is held until others have come so far */
static bool serve_item(const Server *server, Item *item)
{
  Job *job = item->job;
  const Stage *stage;

  for (;
       (stage = stage_at(job, item->stage)) != NULL && stage->resource == server->resource;
       item->stage++, skip_stages(job, item)) {
    const bool gathers = stage->gathers && job->fleet != NULL;
    if (gathers && !fleet_arrives(job->fleet, item))
      return false;
    job_await_backward(job, stage, item);
    const double start_s = engine_now_s(job->engine);
    run_stage(server, stage, item);
    if (job->timeline.measuring)
      job->timeline.stage_s[item->stage] += engine_now_s(job->engine) - start_s;
    trace_stage(server, stage, item, start_s);
    job_note_passage(job, item, server->lane, start_s);
    item->arrived_s = engine_now_s(job->engine);
    return_credit(job, item, item->stage);
    if (gathers)
      fleet_applies(job->fleet, item);
  }
  return true;
}

static void serve(void *data)
{
  g_autofree Server *server = data;
  const Resource *resource = resource_at(server->job, server->resource);
  Item *item;

  while ((item = lane_take(server->lane, resource, server->resource)) != NULL) {
    const bool goes_on = serve_item(server, item);
    lane_leave(server->lane, resource);
    if (goes_on)
      job_pass_on(item);
  }
}

/* Processes for one lane; those of the first lane of a resource are drawn. */
static void open_lane(Job *job, guint resource, Lane *lane, guint first_track)
{
  for (guint i = 0; i < resource_at(job, resource)->concurrency; i++) {
    Server *server = g_new(Server, 1);
    *server = (Server){
      .job = job,
      .resource = resource,
      .lane = lane,
      .track = first_track == NO_TRACK ? NO_TRACK : first_track + i,
    };
    engine_spawn(job->engine, "server", serve, server);
  }
}

static guint n_lanes(const Job *job, guint resource)
{
  if (holder_of(job, resource) != job)
    return 0;
  return resource_at(job, resource)->per_server ? job->composition->n_servers : 1;
}

/* All lanes first: processes keep pointers to them. */
static void lay_lanes(Job *job)
{
  const guint n_resources = job->composition->pipeline.resources->len;

  job->lanes = g_array_new(FALSE, TRUE, sizeof(Lane));
  job->first_lane = g_new(guint, n_resources);
  for (guint r = 0; r < n_resources; r++) {
    const double credit_B = resource_at(job, r)->credit_B;
    job->first_lane[r] = job->lanes->len;
    for (guint i = 0; i < n_lanes(job, r); i++) {
      const Lane lane = { .items = G_QUEUE_INIT,
                          .changed = engine_signal_new(job->engine),
                          .credit_B = credit_B > 0 ? credit_B : HUGE_VAL };
      g_array_append_val(job->lanes, lane);
    }
  }
}

void job_open_pipeline(Job *job)
{
  guint track = 1; /* 0 computes */

  lay_lanes(job);
  for (guint r = 0; r < job->composition->pipeline.resources->len; r++) {
    for (guint i = 0; i < n_lanes(job, r); i++)
      open_lane(job, r, &g_array_index(job->lanes, Lane, job->first_lane[r] + i),
                i == 0 ? track : NO_TRACK);
    track += resource_at(job, r)->concurrency;
  }
}

void job_close_pipeline(Job *job)
{
  for (guint i = 0; i < job->lanes->len; i++) {
    Lane *lane = &g_array_index(job->lanes, Lane, i);
    lane->closing = true;
    for (guint n = lane->n_waiting; n > 0; n--)
      lane_notify(lane);
  }
}

void job_free_pipeline(Job *job)
{
  for (guint i = 0; job->lanes != NULL && i < job->lanes->len; i++) {
    Lane *lane = &g_array_index(job->lanes, Lane, i);
    engine_signal_free(lane->changed);
    g_queue_clear(&lane->items);
  }
  g_clear_pointer(&job->lanes, g_array_unref);
  g_clear_pointer(&job->first_lane, g_free);
}
