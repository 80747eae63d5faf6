#include "sim/training/collective_forecast.h"

#include "sim/training/exchange.h"

/* One group and what it exchanges. */
typedef struct Run Run;
typedef struct {
  Run *run;
  const Group *group;
  Exchange *exchange; /* owned */
  LibraryChoice choice;
  double end_s; /* of the size under way */
} Party;

struct Run {
  const CollForecast *forecast;
  Engine *engine;
  Timings *timings;
  Party *parties;
  guint n_parties;
  double size_B;        /* under way */
  guint n_busy;         /* parties that are */
  EngineSignal *rested; /* raised when none is */
};

/* What nccl-tests multiplies the algorithm bandwidth with: bytes that the busiest port of
 * the best algorithm carries, per byte of size. NVIDIA/nccl-tests doc/PERFORMANCE.md. */
static double bus_factor(CollKind kind, double n)
{
  switch (kind) {
  case COLL_ALL_REDUCE:
    return 2 * (n - 1) / n;
  case COLL_REDUCE_SCATTER:
  case COLL_ALL_GATHER:
  case COLL_ALL_TO_ALL:
    return (n - 1) / n;
  case COLL_BROADCAST:
  case COLL_REDUCE:
  case COLL_SEND_RECV:
    return 1;
  }
  g_return_val_if_reached(1);
}

static void communicate(const Party *party)
{
  const Run *run = party->run;
  const CollKind kind = run->forecast->kind;

  engine_sleep(run->engine, party->choice.launch_s);
  if (exchange_run_messages(party->exchange, kind, &party->choice, run->size_B))
    return;
  for (guint p = 0; p < exchange_n_phases(party->exchange, kind, &party->choice); p++) {
    const ExchangePhase phase =
      exchange_phase(party->exchange, kind, &party->choice, p, run->size_B);
    engine_sleep(run->engine, phase.wait_s);
    exchange_transfer(run->engine, &phase);
  }
}

static void take_part(void *data)
{
  Party *party = data;
  Run *run = party->run;

  communicate(party);
  party->end_s = engine_now_s(run->engine);
  if (--run->n_busy == 0)
    engine_signal_raise(run->rested);
}

/* Let all communicate. @return the one that takes longest, the first of equals */
static const Party *run_once(Run *run, double size_B)
{
  const Party *slowest = &run->parties[0];

  run->size_B = size_B;
  run->n_busy = run->n_parties;
  for (guint i = 0; i < run->n_parties; i++)
    run->parties[i].choice =
      exchange_choose(run->parties[i].exchange, run->forecast->kind, size_B);
  for (guint i = 1; i < run->n_parties; i++)
    engine_spawn(run->engine, "group", take_part, &run->parties[i]);
  take_part(&run->parties[0]);
  engine_signal_wait(run->rested);
  for (guint i = 1; i < run->n_parties; i++)
    if (run->parties[i].end_s > slowest->end_s)
      slowest = &run->parties[i];
  return slowest;
}

/* Phases of the slowest, and what the others load the links with meanwhile: their phases of
 * the same number, or their last. */
static const char *find_bottleneck(const Run *run, const Party *slowest)
{
  const CollKind kind = run->forecast->kind;
  g_autofree const FlowSet **sets = g_new(const FlowSet *, run->n_parties);
  g_autofree double *wire_B = g_new(double, run->n_parties);
  Demand demand = { .wait_s = slowest->choice.launch_s };

  if (run->n_parties == 1)
    return exchange_bottleneck(slowest->exchange, kind, run->size_B);
  for (guint p = 0; p < exchange_n_phases(slowest->exchange, kind, &slowest->choice); p++) {
    const ExchangePhase own =
      exchange_phase(slowest->exchange, kind, &slowest->choice, p, run->size_B);
    guint n = 0;
    for (guint i = 0; i < run->n_parties; i++) {
      const Party *party = &run->parties[i];
      const guint n_phases = exchange_n_phases(party->exchange, kind, &party->choice);
      if (n_phases == 0)
        continue;
      const ExchangePhase phase = exchange_phase(party->exchange, kind, &party->choice,
                                                 MIN(p, n_phases - 1), run->size_B);
      sets[n] = phase.flows;
      wire_B[n++] = phase.wire_B;
    }
    demand_add_all(&demand, exchange_topology(slowest->exchange), sets, wire_B, n);
    demand.wait_s += own.wait_s;
    demand.limit_s += own.load->tightest * own.wire_B;
  }
  return demand_largest(&demand);
}

static void add_row(Run *run, double size_B)
{
  const CollKind kind = run->forecast->kind;
  const double begin_s = engine_now_s(run->engine);
  const Party *slowest = run_once(run, size_B);
  const double time_s = slowest->end_s - begin_s;
  const bool is_launch = run->forecast->launch_s > time_s;
  Timing row = { .size_B = size_B, .time_s = MAX(time_s, run->forecast->launch_s) };

  row.algbw_Bps = row.time_s > 0 ? size_B / row.time_s : 0;
  row.busbw_Bps = row.algbw_Bps * bus_factor(kind, slowest->group->n_ranks);
  row.algorithm = g_strdup(slowest->choice.collective->info.name);
  row.protocol = g_strdup(slowest->choice.protocol);
  for (guint i = 0; i < run->n_parties; i++)
    row.floor_s =
      MAX(row.floor_s, exchange_floor_s(run->parties[i].exchange, kind, size_B));
  row.bottleneck = g_strdup(is_launch ? "launch" : find_bottleneck(run, slowest));
  g_array_append_val(run->timings->rows, row);
}

static void run_all(void *data)
{
  Run *run = data;

  run->rested = engine_signal_new(run->engine);
  for (guint i = 0; i < run->forecast->n_sizes; i++)
    add_row(run, run->forecast->sizes_B[i]);
  engine_signal_free(run->rested);
}

static Timings *describe(const Setup *setup, const CollForecast *forecast,
                         const GPtrArray *groups)
{
  Timings *timings = timings_new();

  timings->collective = g_strdup(coll_kind_name(forecast->kind));
  timings->cluster = g_strdup(setup->name);
  timings->type = "float";
  timings->element_B = 4;
  timings->op =
    forecast->kind & (COLL_ALL_REDUCE | COLL_REDUCE_SCATTER | COLL_REDUCE) ? "sum" : "none";
  timings->root = forecast->kind & (COLL_BROADCAST | COLL_REDUCE) ? 0 : -1;
  timings->engine = g_strdup_printf(
    "%s, %s", engine_way(forecast->fold, forecast->messages), engine_version());
  timings->group = g_strdup(forecast->group);
  timings->n_groups = groups->len;
  timings->min_ranks = G_MAXUINT;
  for (guint i = 0; i < groups->len; i++) {
    const Group *group = g_ptr_array_index(groups, i);
    timings->n_ranks = MAX(timings->n_ranks, group->n_ranks);
    timings->min_ranks = MIN(timings->min_ranks, group->n_ranks);
    timings->n_nodes = MAX(timings->n_nodes, group->n_nodes);
  }
  for (guint i = 0; i < setup->constants->len; i++) {
    const Constant *constant = &g_array_index(setup->constants, Constant, i);
    if (setup_uses(setup, constant->name, timings->n_nodes > 1))
      constants_add(timings->constants, constant);
  }
  return timings;
}

/* Everyone, or the groups that were asked for. */
static GPtrArray *find_groups(const Setup *setup, const CollForecast *forecast,
                              const Topology *topology, GError **error)
{
  if (forecast->group != NULL) {
    GPtrArray *groups = grouping_find(&setup->grouping, forecast->group, topology, error);
    if (groups == NULL || groups->len <= COLL_FORECAST_MAX_GROUPS)
      return groups;
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%u groups are too many to run at once, at most %u: take one, '%s[0]'",
                groups->len, COLL_FORECAST_MAX_GROUPS, forecast->group);
    g_ptr_array_unref(groups);
    return NULL;
  }
  GPtrArray *all = g_ptr_array_new_with_free_func((GDestroyNotify)group_free);
  g_ptr_array_add(all, group_new_all(topology));
  return all;
}

static bool announce(const Run *run, GError **error)
{
  g_autofree Exchange **exchanges = g_new(Exchange *, run->n_parties);

  for (guint i = 0; i < run->n_parties; i++)
    exchanges[i] = run->parties[i].exchange;
  if (run->forecast->messages)
    return exchange_announce_all_messages(exchanges, run->n_parties, run->engine, false,
                                          error);
  exchange_announce_all(exchanges, run->n_parties, run->engine, false, 0);
  return true;
}

static void run_clear(Run *run)
{
  for (guint i = 0; i < run->n_parties; i++)
    g_clear_pointer(&run->parties[i].exchange, exchange_free);
  g_free(run->parties);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

static bool meet(Run *run, const Setup *setup, const GPtrArray *groups,
                 const Topology *topology, GError **error)
{
  run->parties = g_new0(Party, groups->len);
  for (guint i = 0; i < groups->len; i++) {
    Party *party = &run->parties[i];
    const ExchangeNeeds needs = {
      .kinds = run->forecast->kind,
      .topology = topology,
      .group = g_ptr_array_index(groups, i),
    };
    party->run = run;
    party->group = needs.group;
    party->exchange = exchange_new(setup, &needs, error);
    if (party->exchange == NULL)
      return false;
    run->n_parties++;
  }
  return true;
}

Timings *collective_forecast(const Setup *setup, const CollForecast *forecast,
                             GError **error)
{
  const ClusterSpec cluster = setup_cluster(setup);
  g_autoptr(Topology) topology = topology_new(&cluster, error);
  g_autoptr(GPtrArray) groups =
    topology == NULL ? NULL : find_groups(setup, forecast, topology, error);
  g_auto(Run) run = { .forecast = forecast };
  if (groups == NULL || !meet(&run, setup, groups, topology, error))
    return NULL;

  const EngineConfig config = { .fold = forecast->fold };
  g_autoptr(Timings) timings = describe(setup, forecast, groups);
  g_autoptr(Engine) engine =
    engine_new(&config, topology_links(topology), topology_n_links(topology));
  run.engine = engine;
  run.timings = timings;
  return announce(&run, error) && engine_run(engine, run_all, &run, error)
           ? g_steal_pointer(&timings)
           : NULL;
}
