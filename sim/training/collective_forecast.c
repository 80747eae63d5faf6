#include "sim/training/collective_forecast.h"

#include "sim/training/exchange.h"

typedef struct {
  const CollForecast *forecast;
  Exchange *exchange;
  Engine *engine;
  Timings *timings;
} Run;

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

static double run_once(const Run *run, const LibraryChoice *choice, double size_B)
{
  const double from_s = engine_now_s(run->engine);

  engine_sleep(run->engine, choice->launch_s);
  if (exchange_run_messages(run->exchange, run->forecast->kind, choice, size_B))
    return engine_now_s(run->engine) - from_s;
  for (guint p = 0; p < exchange_n_phases(run->exchange, run->forecast->kind, choice);
       p++) {
    const ExchangePhase phase =
      exchange_phase(run->exchange, run->forecast->kind, choice, p, size_B);
    engine_sleep(run->engine, phase.wait_s);
    exchange_transfer(run->engine, &phase);
  }
  return engine_now_s(run->engine) - from_s;
}

static void add_row(const Run *run, double size_B)
{
  const double n = run->timings->n_ranks;
  const LibraryChoice choice = exchange_choose(run->exchange, run->forecast->kind, size_B);
  Timing row = { .size_B = size_B, .time_s = run_once(run, &choice, size_B) };

  row.algbw_Bps = row.time_s > 0 ? size_B / row.time_s : 0;
  row.busbw_Bps = row.algbw_Bps * bus_factor(run->forecast->kind, n);
  row.algorithm = g_strdup(choice.collective->info.name);
  row.protocol = g_strdup(choice.protocol);
  row.floor_s = exchange_floor_s(run->exchange, run->forecast->kind, size_B);
  row.bottleneck =
    g_strdup(exchange_bottleneck(run->exchange, run->forecast->kind, size_B));
  g_array_append_val(run->timings->rows, row);
}

static void run_all(void *data)
{
  const Run *run = data;

  for (guint i = 0; i < run->forecast->n_sizes; i++)
    add_row(run, run->forecast->sizes_B[i]);
}

static Timings *describe(const Setup *setup, const CollForecast *forecast,
                         const Exchange *exchange)
{
  Timings *timings = timings_new();

  timings->collective = g_strdup(coll_kind_name(forecast->kind));
  timings->cluster = g_strdup(setup->name);
  timings->engine = g_strdup_printf(
    "%s, %s", engine_way(forecast->fold, forecast->messages), engine_version());
  timings->n_ranks = topology_n_gpus(exchange_topology(exchange));
  timings->n_nodes = topology_n_nodes(exchange_topology(exchange));
  for (guint i = 0; i < setup->constants->len; i++) {
    const Constant *constant = &g_array_index(setup->constants, Constant, i);
    if (setup_uses(setup, constant->name, timings->n_nodes > 1))
      constants_add(timings->constants, constant);
  }
  return timings;
}

Timings *collective_forecast(const Setup *setup, const CollForecast *forecast,
                             GError **error)
{
  const ExchangeNeeds needs = { .kinds = forecast->kind };
  g_autoptr(Exchange) exchange = exchange_new(setup, &needs, error);
  if (exchange == NULL)
    return NULL;

  const Topology *topology = exchange_topology(exchange);
  const EngineConfig config = { .fold = forecast->fold };
  g_autoptr(Timings) timings = describe(setup, forecast, exchange);
  g_autoptr(Engine) engine =
    engine_new(&config, topology_links(topology), topology_n_links(topology));
  Run run = {
    .forecast = forecast, .exchange = exchange, .engine = engine, .timings = timings
  };

  if (!forecast->messages)
    exchange_announce(exchange, engine, false, 0);
  else if (!exchange_announce_messages(exchange, engine, false, error))
    return NULL;
  return engine_run(engine, run_all, &run, error) ? g_steal_pointer(&timings) : NULL;
}
