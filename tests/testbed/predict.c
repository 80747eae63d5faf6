#include "tests/testbed/predict.h"

#include "models/transport.h"
#include "sim/base/units.h"
#include "sim/scenario/scenario.h"
#include "sim/training/collective_forecast.h"
#include "sim/training/exchange.h"

#include <string.h>

/* What moves, one after another. */
typedef struct {
  Exchange *exchange;
  Engine *engine;
  Move moves[2];
  guint n_moves;
  double size_B;
  double time_s;
} Moves;

static void run_moves(void *data)
{
  Moves *run = data;

  for (guint i = 0; i < run->n_moves; i++) {
    const ExchangePhase phase =
      exchange_move(run->exchange, run->moves[i], 0, 0, 0, run->size_B);
    engine_sleep(run->engine, phase.wait_s);
    exchange_transfer(run->engine, &phase);
  }
  run->time_s = engine_now_s(run->engine);
}

static bool predict_moves(const Setup *setup, const Sample *sample, double credit_s,
                          double *time_s, GError **error)
{
  const guint first_machine = 0;
  const ExchangeNeeds needs = { .moves = 1u << MOVE_PUSH | 1u << MOVE_PULL,
                                .machines = &first_machine,
                                .n_servers = 1 };
  g_autoptr(Exchange) exchange = exchange_new(setup, &needs, error);
  if (exchange == NULL)
    return false;

  const Topology *topology = exchange_topology(exchange);
  const EngineConfig config = { .fold = true };
  g_autoptr(Engine) engine =
    engine_new(&config, topology_links(topology), topology_n_links(topology));
  Moves run = { .exchange = exchange,
                .engine = engine,
                .moves = { MOVE_PUSH, MOVE_PULL },
                .n_moves = strcmp(sample->probe, "incast") == 0 ? 1 : 2,
                .size_B = sample->size };

  exchange_announce(exchange, engine, false, 0);
  if (!engine_run(engine, run_moves, &run, error))
    return false;
  *time_s = run.time_s - (run.n_moves > 1 ? credit_s : 0);
  return true;
}

static bool predict_collective(const Setup *setup, const Sample *sample, double *time_s,
                               GError **error)
{
  const CollForecast forecast = {
    .kind = COLL_ALL_REDUCE, .sizes_B = &sample->size, .n_sizes = 1, .fold = true
  };
  g_autoptr(Timings) timings = collective_forecast(setup, &forecast, error);

  if (timings == NULL)
    return false;
  const Timing *row = &g_array_index(timings->rows, Timing, 0);
  g_assert(strcmp(row->algorithm, sample->algo) == 0);
  *time_s = row->time_s;
  return true;
}

/* The rate at which the scenario's transport leaves @p goodput_Bps: the shapers count other
 * bytes of a frame than a cable carries. */
static Scenario *load(const char *path, const Sample *sample, double goodput_Bps,
                      GError **error)
{
  const bool is_star = strcmp(sample->algo, "push_pull") == 0 || *sample->algo == '\0';
  g_autofree char *nodes = g_strdup_printf("cluster.nodes=%u", sample->nodes);
  g_autofree char *rule =
    g_strdup_printf("library.rules[0].use=%s", is_star ? "ring" : sample->algo);
  const char *settings[] = { nodes, rule, NULL, NULL };
  g_autoptr(Scenario) plain = scenario_load_cluster(path, settings, error);
  if (plain == NULL)
    return NULL;

  const Setup *setup = scenario_setup(plain);
  g_autoptr(Topology) topology = topology_new(&setup->cluster, error);
  if (topology == NULL)
    return NULL;
  g_autofree char *text =
    units_format_rate(goodput_Bps / topology_transport(topology)->goodput);
  g_autofree char *rate = g_strdup_printf("cluster.nic.rate=%s", text);
  settings[2] = rate;
  return scenario_load_cluster(path, settings, error);
}

bool predict(const char *scenario, const Sample *sample, double goodput_Bps,
             double credit_s, double *time_s, GError **error)
{
  g_autoptr(Scenario) loaded = load(scenario, sample, goodput_Bps, error);
  if (loaded == NULL)
    return false;

  const Setup *setup = scenario_setup(loaded);
  const bool is_star = strcmp(sample->probe, "incast") == 0 || *sample->variant != '\0';
  return is_star ? predict_moves(setup, sample, credit_s, time_s, error)
                 : predict_collective(setup, sample, time_s, error);
}
