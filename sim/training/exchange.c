#include "sim/training/exchange_state.h"

#include "models/fabric.h"
#include "models/result.h"
#include "models/traffic.h"

#include <math.h>

static void laid_clear(gpointer pointer)
{
  Laid *laid = pointer;
  g_array_unref(laid->phases);
  g_free(laid->loads);
  g_free(laid->sets);
  g_free(laid->observed);
}

static void kind_free(void *data)
{
  Kind *kind = data;

  g_clear_pointer(&kind->transfers, g_array_unref);
  g_free(kind);
}

static const Laid *find_laid(const Exchange *exchange, CollKind kind,
                             const CollOps *collective)
{
  for (guint i = 0; i < exchange->laid->len; i++) {
    const Laid *laid = &g_array_index(exchange->laid, Laid, i);
    if (laid->collective == collective && laid->kind == kind)
      return laid;
  }
  g_return_val_if_reached(NULL);
}

/* Moves of one kind follow one another: of each server, of each node. */
static const Laid *find_move(const Exchange *exchange, Move move, guint node, guint server)
{
  const guint n_parts = exchange->by_node ? topology_n_nodes(exchange->topology) : 1;
  const guint index = server * n_parts + (node > 0 ? node - 1 : 0);
  return &g_array_index(exchange->laid, Laid, exchange->first_move[move] + index);
}

const Kind *exchange_find_kind(const Exchange *exchange, CollKind kind)
{
  for (guint i = 0; i < exchange->kinds->len; i++) {
    const Kind *one = g_ptr_array_index(exchange->kinds, i);
    if (one->call.kind == kind)
      return one;
  }
  return NULL;
}

static const GArray *phases_of(const CollOps *collective, void *data)
{
  const Kind *kind = data;
  return find_laid(kind->exchange, kind->call.kind, collective)->phases;
}

static double slowdown_of(const CollOps *collective, double size_B, void *data)
{
  const Kind *kind = data;
  const Laid *laid = find_laid(kind->exchange, kind->call.kind, collective);
  return observed_slowdown(laid->observed, size_B);
}

void exchange_keep(Exchange *exchange, Laid *laid)
{
  laid->loads = g_new0(PhaseLoad, laid->phases->len);
  for (guint p = 0; p < laid->phases->len; p++)
    laid->loads[p] =
      phase_load(exchange->topology, g_array_index(laid->phases, CollPhase, p).set);
  laid->observed = observed_new();
  g_array_append_vals(exchange->laid, laid, 1);
}

static void lay(Exchange *exchange, const Kind *kind, const CollOps *collective)
{
  Laid laid = { .kind = kind->call.kind,
                .collective = collective,
                .phases = coll_phases_new() };

  collective->phases(&kind->call, exchange->topology, laid.phases);
  exchange_keep(exchange, &laid);
}

static void lay_move(Exchange *exchange, const MoveSpec *spec)
{
  Laid laid = { .move = *spec, .phases = coll_phases_new() };
  const CollPhase phase = spec->machine == EXCHANGE_IDLE
                            ? (CollPhase){ .set = flow_set_new() }
                            : move_phase(exchange->topology, spec);

  g_array_append_val(laid.phases, phase);
  exchange_keep(exchange, &laid);
}

static void lay_moves(Exchange *exchange, const ExchangeNeeds *needs)
{
  const guint n_parts = needs->by_node ? topology_n_nodes(exchange->topology) : 1;
  MoveSpec spec = { .rack_nodes = needs->rack_nodes, .switch_gpus = needs->switch_gpus };

  exchange->by_node = needs->by_node;
  for (spec.move = 0; spec.move < MOVE_N; spec.move++) {
    const bool served = move_needs_server(spec.move);
    const guint n = needs->moves & 1u << spec.move ? (served ? needs->n_servers : 1) : 0;
    exchange->first_move[spec.move] = exchange->laid->len;
    for (guint i = 0; i < n * n_parts; i++) {
      spec.machine = served ? needs->machines[i / n_parts] : 0;
      spec.one_node = needs->by_node ? 1 + i % n_parts : 0;
      lay_move(exchange, &spec);
    }
  }
}

static void sum_tiers(Exchange *exchange)
{
  const Link *links = topology_links(exchange->topology);

  for (guint i = 0; i < topology_n_links(exchange->topology); i++) {
    exchange->tier_capacity_Bps[links[i].tier] += links[i].capacity_Bps;
    exchange->tier_n_links[links[i].tier]++;
  }
}

/* Do the GPUs of all kinds of nodes speak NVLink, or @p switches through switches? */
static bool all_speak(const ClusterSpec *cluster, bool switches)
{
  for (guint kind = 0; kind < cluster_n_kinds(cluster); kind++) {
    const FabricOps *fabric = cluster_kind(cluster, kind)->fabric;
    if (switches ? fabric != &fabric_nvswitch : fabric == &fabric_pcie)
      return false;
  }
  return true;
}

static GpuArchitecture oldest_architecture(const ClusterSpec *cluster)
{
  guint oldest = cluster->node.gpu.architecture;

  for (guint kind = 1; kind < cluster_n_kinds(cluster); kind++)
    oldest = MIN(oldest, cluster_kind(cluster, kind)->gpu.architecture);
  return oldest;
}

static Kind *describe_kind(const Exchange *exchange, const Setup *setup, CollKind kind)
{
  const ClusterSpec *cluster = &setup->cluster;
  const Topology *topology = exchange->topology;
  const Group *group = exchange->group;
  const GroupPorts *ports = &exchange->ports;
  const bool nvlink = ports->nvlink && all_speak(cluster, false);
  const guint n_nics =
    group->n_nodes > 1 ? ports->n_rails : topology_nics_per_node(topology);
  Kind *one = g_new(Kind, 1);

  *one = (Kind){ .exchange = exchange };
  one->call = (CollCall){
    .kind = kind,
    .group = group,
    .n_rails = ports->n_rails,
    .nics = ports->nics,
    .cross_nic = setup_cluster(setup).rules.cross_nic,
    .layout = topology,
  };
  one->library_call = (LibraryCall){
    .kind = kind,
    .n_nodes = group->n_nodes,
    .ranks_per_node = group_max_local(group),
    .nvlink = nvlink,
    .nvswitch = nvlink && all_speak(cluster, true),
    .through_host = topology_copies_through_host(topology),
    .gpu_direct = topology_gpu_direct(topology),
    .nic_path = topology_path_type(topology, ports->nics == NULL ? 0 : ports->nics[0]),
    .architecture = oldest_architecture(cluster),
    .n_nics = n_nics,
    .local_Bps = MIN(ports->gpu_Bps, topology_least_gpu_Bps(topology)),
    .node_Bps = n_nics * topology_least_nic_Bps(topology),
    .message_latency_s = topology_message_latency_s(topology),
    .messages = topology_transport(topology)->messages,
    .phases_of = phases_of,
    .slowdown_of = slowdown_of,
    .links = topology_links(topology),
    .n_links = topology_n_links(topology),
    .data = one,
  };
  return one;
}

static bool lay_kind(Exchange *exchange, const Setup *setup, CollKind kind, GError **error)
{
  g_autoptr(GPtrArray) candidates = g_ptr_array_new();
  Kind *one = describe_kind(exchange, setup, kind);

  g_ptr_array_add(exchange->kinds, one);
  exchange->library->candidates(exchange->library_params, &one->library_call, candidates);
  for (guint i = 0; i < candidates->len; i++)
    lay(exchange, one, g_ptr_array_index(candidates, i));
  one->transfers = exchange_transfers(exchange, setup, one);
  if (candidates->len > 0)
    return true;
  g_autofree char *able = coll_names_of(kind);
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "library %s has no algorithm for %s of every size; those that can: %s",
              setup->library->info.name, coll_kind_name(kind), able);
  return false;
}

static Exchange *on_topology(const Setup *setup, const ExchangeNeeds *needs, GError **error)
{
  ClusterSpec cluster = setup_cluster(setup);
  cluster.n_servers = needs->n_extra_servers + traffic_n_own_machines(&cluster);
  cluster.server_sum_Bps = needs->server_sum_Bps;
  Topology *own = needs->topology == NULL ? topology_new(&cluster, error) : NULL;
  if (needs->topology == NULL && own == NULL)
    return NULL;

  Exchange *exchange = g_new0(Exchange, 1);
  exchange->own_topology = own;
  exchange->topology = own == NULL ? needs->topology : own;
  exchange->own_group = needs->group == NULL ? group_new_all(exchange->topology) : NULL;
  exchange->group = needs->group == NULL ? exchange->own_group : needs->group;
  exchange->ports = group_ports_of(exchange->group, exchange->topology);
  exchange->library = setup->library;
  exchange->library_params = setup->library_params;
  exchange->curves = setup->curves;
  exchange->kinds = g_ptr_array_new_with_free_func(kind_free);
  exchange->laid = g_array_new(FALSE, FALSE, sizeof(Laid));
  g_array_set_clear_func(exchange->laid, laid_clear);
  sum_tiers(exchange);
  return exchange;
}

Exchange *exchange_new(const Setup *setup, const ExchangeNeeds *needs, GError **error)
{
  g_autoptr(Exchange) exchange = on_topology(setup, needs, error);
  if (exchange == NULL)
    return NULL;
  for (guint kind = 1; kind <= needs->kinds; kind <<= 1)
    if ((needs->kinds & kind) && !lay_kind(exchange, setup, (CollKind)kind, error))
      return NULL;
  lay_moves(exchange, needs);
  if (needs->traffic)
    exchange_lay_traffic(exchange, &setup->cluster);
  return g_steal_pointer(&exchange);
}

void exchange_free(Exchange *exchange)
{
  if (!exchange->shares_messages)
    messages_free(exchange->messages);
  group_ports_clear(&exchange->ports);
  topology_free(exchange->own_topology);
  group_free(exchange->own_group);
  g_ptr_array_unref(exchange->kinds);
  g_array_unref(exchange->laid);
  g_free(exchange);
}

const Topology *exchange_topology(const Exchange *exchange)
{
  return exchange->topology;
}

bool exchange_run_messages(Exchange *exchange, CollKind kind, const LibraryChoice *choice,
                           double size_B)
{
  if (exchange->messages != NULL)
    messages_run(exchange->messages, &exchange_find_kind(exchange, kind)->call, choice,
                 size_B);
  return exchange->messages != NULL;
}

static double idle_s(const Laid *laid, const LibraryChoice *choice, double size_B)
{
  double time_s = choice->launch_s;
  for (guint p = 0; p < laid->phases->len; p++)
    time_s +=
      coll_phase_idle_s(&g_array_index(laid->phases, CollPhase, p), &choice->terms, size_B);
  return time_s;
}

/* What the links themselves add to a hop does not scale, hence the rounds. */
static void calibrate(const Exchange *exchange, const Kind *kind, double size_B,
                      LibraryChoice *choice)
{
  enum { N_ROUNDS = 40 };
  static const double near = 1e-9;
  const LibraryCall *call = &kind->library_call;
  const Laid *laid = find_laid(exchange, call->kind, choice->collective);
  const LibraryChoice plain = *choice;
  double factor = 1;

  if (exchange->curves == NULL || exchange->curves->len == 0)
    return;
  const double wanted_s =
    exchange_wanted_s(exchange, kind, choice, size_B, idle_s(laid, choice, size_B));
  for (guint round = 0; round < N_ROUNDS && wanted_s > 0; round++) {
    const double time_s = idle_s(laid, choice, size_B);
    if (!(time_s > 0) || fabs(wanted_s / time_s - 1) < near)
      return;
    factor *= wanted_s / time_s;
    *choice = plain;
    calibration_scale(choice, factor);
  }
}

LibraryChoice exchange_choose(const Exchange *exchange, CollKind kind, double size_B)
{
  const Kind *one = exchange_find_kind(exchange, kind);
  LibraryChoice choice =
    exchange->library->choose(exchange->library_params, &one->library_call, size_B);

  calibrate(exchange, one, size_B, &choice);
  return choice;
}

double exchange_idle_s(const Exchange *exchange, CollKind kind, double size_B)
{
  const LibraryChoice choice = exchange_choose(exchange, kind, size_B);
  return idle_s(find_laid(exchange, kind, choice.collective), &choice, size_B);
}

void exchange_observe(const Exchange *exchange, CollKind kind, const LibraryChoice *choice,
                      double size_B, double took_s)
{
  const Laid *laid = find_laid(exchange, kind, choice->collective);
  observed_add(laid->observed, size_B, took_s / idle_s(laid, choice, size_B));
}

guint exchange_n_phases(const Exchange *exchange, CollKind kind,
                        const LibraryChoice *choice)
{
  return find_laid(exchange, kind, choice->collective)->phases->len;
}

ExchangePhase exchange_phase_of(const Laid *laid, guint index, const CollTerms *terms,
                                double size_B)
{
  const CollPhase *phase = &g_array_index(laid->phases, CollPhase, index);

  return (ExchangePhase){
    .name = phase->name,
    .set = laid->sets != NULL ? laid->sets[index] : EXCHANGE_NO_SET,
    .wait_s = coll_phase_wait_s(phase, terms, size_B),
    .least_s = coll_phase_least_s(phase, terms, size_B),
    .wire_B = size_B * terms->wire_factor,
    .rank_B = size_B * terms->wire_factor * phase->rank_share,
    .load = &laid->loads[index],
    .flows = phase->set,
  };
}

ExchangePhase exchange_phase(const Exchange *exchange, CollKind kind,
                             const LibraryChoice *choice, guint index, double size_B)
{
  return exchange_phase_of(find_laid(exchange, kind, choice->collective), index,
                           &choice->terms, size_B);
}

ExchangePhase exchange_move(const Exchange *exchange, Move move, guint node, guint server,
                            double alpha_s, double size_B)
{
  const CollTerms terms = {
    .alpha_local_s = alpha_s,
    .alpha_net_s = alpha_s + topology_message_latency_s(exchange->topology),
    .wire_factor = 1,
  };
  return exchange_phase_of(
    find_move(exchange, move, node, move_needs_server(move) ? server : 0), 0, &terms,
    size_B);
}

ContentionLoad exchange_kernels(const Exchange *exchange, CollKind kind,
                                const LibraryChoice *choice, double size_B)
{
  const Laid *laid = find_laid(exchange, kind, choice->collective);
  const double took_s = idle_s(laid, choice, size_B);
  double sent_B = 0;

  for (guint p = 0; p < laid->phases->len; p++)
    sent_B += exchange_phase_of(laid, p, &choice->terms, size_B).rank_B;
  return (ContentionLoad){ .n_channels = choice->n_channels,
                           .sent_Bps =
                             choice->n_channels > 0 && took_s > 0 ? sent_B / took_s : 0 };
}

ExchangePhase exchange_move_by(const Exchange *exchange, Move move, const CollTerms *terms,
                               double size_B)
{
  return exchange_phase_of(find_move(exchange, move, 0, 0), 0, terms, size_B);
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

static CollTerms terms_of(const Exchange *exchange, CollKind kind, double size_B)
{
  if (exchange_find_kind(exchange, kind) ==
      NULL) /* nobody runs it: messages as quick as light */
    return (CollTerms){ .wire_factor = 1 };
  return exchange_choose(exchange, kind, size_B).terms;
}

double exchange_floor_s(const Exchange *exchange, CollKind kind, double size_B)
{
  const CollTerms terms = terms_of(exchange, kind, size_B);
  const CollCall call = {
    .kind = kind,
    .group = exchange->group,
    .n_rails = MAX(exchange->ports.n_rails, 1),
  };
  const CollCost cost = {
    .local = { .alpha_s = terms.alpha_local_s, .bandwidth_Bps = exchange->ports.gpu_Bps },
    .net = { .alpha_s = terms.alpha_net_s,
             .bandwidth_Bps = topology_nic_Bps(exchange->topology) },
  };

  if (exchange_find_kind(exchange, kind) == NULL)
    return coll_floor_s(&call, size_B, &cost);
  return coll_floor_of_s(exchange_choose(exchange, kind, size_B).collective, &call, size_B,
                         &cost);
}

const char *exchange_bottleneck(const Exchange *exchange, CollKind kind, double size_B)
{
  const LibraryChoice choice = exchange_choose(exchange, kind, size_B);
  Demand demand = { .wait_s = choice.launch_s };

  for (guint p = 0; p < exchange_n_phases(exchange, kind, &choice); p++) {
    const ExchangePhase phase = exchange_phase(exchange, kind, &choice, p, size_B);
    demand_add(&demand, phase.load, phase.wait_s, phase.wire_B);
  }
  return demand_largest(&demand);
}
