#include "sim/training/exchange.h"

#include "models/transport.h"

#include <math.h>

/* A collective, laid down on the cluster. */
typedef struct {
  const CollOps *collective;
  GArray *phases;   /* of CollPhase */
  PhaseLoad *loads; /* of each phase */
  guint first_set;  /* the engine's number of the first phase's set */
} Laid;

struct Exchange {
  const LibraryOps *library;
  const void *library_params;
  Topology *topology;
  Group *group; /* of all GPUs */
  CollCall call;
  LibraryCall library_call;
  GArray *laid; /* of Laid */
  double tier_capacity_Bps[TIER_N];
  guint tier_n_links[TIER_N];
};

static void laid_clear(gpointer pointer)
{
  Laid *laid = pointer;
  g_array_unref(laid->phases);
  g_free(laid->loads);
}

static const Laid *find_laid(const Exchange *exchange, const CollOps *collective)
{
  for (guint i = 0; i < exchange->laid->len; i++) {
    const Laid *laid = &g_array_index(exchange->laid, Laid, i);
    if (laid->collective == collective)
      return laid;
  }
  g_return_val_if_reached(NULL);
}

static const GArray *phases_of(const CollOps *collective, void *data)
{
  return find_laid(data, collective)->phases;
}

static void measure_load(const Exchange *exchange, const FlowSet *set, double *per_link,
                         PhaseLoad *load)
{
  const Link *links = topology_links(exchange->topology);

  for (guint f = 0; f < flow_set_n_flows(set); f++) {
    const Flow *flow = flow_set_flow(set, f);
    const guint32 *route = flow_set_links(set, flow);
    for (guint i = 0; i < flow->n_links; i++) {
      const Link *link = &links[route[i]];
      per_link[route[i]] += flow->share;
      load->moved[link->tier] += flow->share;
      load->busiest[link->tier] =
        MAX(load->busiest[link->tier], per_link[route[i]] / link->capacity_Bps);
    }
  }
}

static void lay(Exchange *exchange, const CollOps *collective)
{
  Laid laid = { .collective = collective, .phases = coll_phases_new() };

  collective->phases(&exchange->call, exchange->topology, laid.phases);
  laid.loads = g_new0(PhaseLoad, laid.phases->len);
  for (guint p = 0; p < laid.phases->len; p++) {
    g_autofree double *per_link = g_new0(double, topology_n_links(exchange->topology));
    measure_load(exchange, g_array_index(laid.phases, CollPhase, p).set, per_link,
                 &laid.loads[p]);
  }
  g_array_append_val(exchange->laid, laid);
}

static void sum_tiers(Exchange *exchange)
{
  const Link *links = topology_links(exchange->topology);

  for (guint i = 0; i < topology_n_links(exchange->topology); i++) {
    exchange->tier_capacity_Bps[links[i].tier] += links[i].capacity_Bps;
    exchange->tier_n_links[links[i].tier]++;
  }
}

/* The first link from the first GPU to its neighbour; NULL on nodes of one GPU. */
static const Link *local_port(const Topology *topology)
{
  g_autoptr(GArray) route = g_array_new(FALSE, FALSE, sizeof(guint32));

  if (topology_gpus_per_node(topology) > 1)
    topology_route(topology, 0, 1, 0, 0, route);
  return route->len == 0 ? NULL
                         : &topology_links(topology)[g_array_index(route, guint32, 0)];
}

static void describe_calls(Exchange *exchange, const Setup *setup, CollKind kind)
{
  const Topology *topology = exchange->topology;
  const Link *port = local_port(topology);
  const ClusterSpec *cluster = &setup->cluster;
  const TransportEffect effect =
    cluster->transport->apply(cluster->transport_params, cluster->node.nic_rate_Bps);

  exchange->group = group_new_all(topology);
  exchange->call = (CollCall){
    .kind = kind,
    .group = exchange->group,
    .n_rails = topology_n_nodes(topology) > 1 ? topology_nics_per_node(topology) : 1,
  };
  exchange->library_call = (LibraryCall){
    .kind = kind,
    .n_nodes = topology_n_nodes(topology),
    .ranks_per_node = topology_gpus_per_node(topology),
    .nvlink = port != NULL && port->tier == TIER_NVLINK,
    .gpu_direct = effect.gpu_direct,
    .message_latency_s = effect.message_latency_s,
    .phases_of = phases_of,
    .links = topology_links(topology),
    .n_links = topology_n_links(topology),
    .data = exchange,
  };
}

Exchange *exchange_new(const Setup *setup, CollKind kind, GError **error)
{
  g_autoptr(Topology) topology = topology_new(&setup->cluster, error);
  if (topology == NULL)
    return NULL;

  Exchange *exchange = g_new0(Exchange, 1);
  g_autoptr(GPtrArray) candidates = g_ptr_array_new();

  exchange->topology = g_steal_pointer(&topology);
  exchange->library = setup->library;
  exchange->library_params = setup->library_params;
  exchange->laid = g_array_new(FALSE, FALSE, sizeof(Laid));
  g_array_set_clear_func(exchange->laid, laid_clear);
  sum_tiers(exchange);
  describe_calls(exchange, setup, kind);
  exchange->library->candidates(exchange->library_params, &exchange->library_call,
                                candidates);
  for (guint i = 0; i < candidates->len; i++)
    lay(exchange, g_ptr_array_index(candidates, i));
  if (candidates->len == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "library %s has no algorithm for %s yet",
                setup->library->info.name, coll_kind_name(kind));
    g_clear_pointer(&exchange, exchange_free);
  }
  return exchange;
}

void exchange_free(Exchange *exchange)
{
  topology_free(exchange->topology);
  group_free(exchange->group);
  g_array_unref(exchange->laid);
  g_free(exchange);
}

const Topology *exchange_topology(const Exchange *exchange)
{
  return exchange->topology;
}

void exchange_announce(Exchange *exchange, Engine *engine, bool overlap)
{
  g_autoptr(GPtrArray) sets = g_ptr_array_new();

  for (guint i = 0; i < exchange->laid->len; i++) {
    Laid *laid = &g_array_index(exchange->laid, Laid, i);
    laid->first_set = sets->len;
    for (guint p = 0; p < laid->phases->len; p++)
      g_ptr_array_add(sets, g_array_index(laid->phases, CollPhase, p).set);
  }
  const guint first =
    engine_add_sets(engine, (const FlowSet *const *)sets->pdata, sets->len, overlap);
  for (guint i = 0; i < exchange->laid->len; i++)
    g_array_index(exchange->laid, Laid, i).first_set += first;
}

LibraryChoice exchange_choose(const Exchange *exchange, double size_B)
{
  return exchange->library->choose(exchange->library_params, &exchange->library_call,
                                   size_B);
}

guint exchange_n_phases(const Exchange *exchange, const LibraryChoice *choice)
{
  return find_laid(exchange, choice->collective)->phases->len;
}

ExchangePhase exchange_phase(const Exchange *exchange, const LibraryChoice *choice,
                             guint index, double size_B)
{
  const Laid *laid = find_laid(exchange, choice->collective);
  const CollPhase *phase = &g_array_index(laid->phases, CollPhase, index);

  return (ExchangePhase){
    .name = phase->name,
    .set = laid->first_set + index,
    .wait_s = coll_phase_wait_s(phase, &choice->terms, size_B),
    .least_s = coll_phase_least_s(phase, &choice->terms, size_B),
    .wire_B = size_B * choice->terms.wire_factor,
    .load = &laid->loads[index],
  };
}

void exchange_transfer(Engine *engine, const ExchangePhase *phase)
{
  const double end_s = engine_now_s(engine) + phase->least_s;

  engine_transfer(engine, phase->set, phase->wire_B);
  if (engine_now_s(engine) < end_s)
    engine_sleep(engine, end_s - engine_now_s(engine));
}

double exchange_tier_capacity_Bps(const Exchange *exchange, guint tier)
{
  return exchange->tier_capacity_Bps[tier];
}

guint exchange_tier_n_links(const Exchange *exchange, guint tier)
{
  return exchange->tier_n_links[tier];
}

double exchange_floor_s(const Exchange *exchange, double size_B)
{
  const LibraryChoice choice = exchange_choose(exchange, size_B);
  const CollCost cost = {
    .local = { .alpha_s = choice.terms.alpha_local_s,
               .bandwidth_Bps = topology_gpu_Bps(exchange->topology) },
    .net = { .alpha_s = choice.terms.alpha_net_s,
             .bandwidth_Bps = topology_nic_Bps(exchange->topology) },
  };

  return coll_floor_s(&exchange->call, size_B, &cost);
}

const char *exchange_bottleneck(const Exchange *exchange, double size_B)
{
  const LibraryChoice choice = exchange_choose(exchange, size_B);
  double wait_s = choice.launch_s, tier_s[TIER_N] = { 0 };
  guint slowest = 0;

  for (guint p = 0; p < exchange_n_phases(exchange, &choice); p++) {
    const ExchangePhase phase = exchange_phase(exchange, &choice, p, size_B);
    wait_s += phase.wait_s;
    for (guint tier = 0; tier < TIER_N; tier++)
      tier_s[tier] += phase.load->busiest[tier] * phase.wire_B;
  }
  for (guint tier = 1; tier < TIER_N; tier++)
    if (tier_s[tier] > tier_s[slowest])
      slowest = tier;
  return wait_s > tier_s[slowest] ? "latency" : topology_tier_names[slowest];
}
