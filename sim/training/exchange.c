#include "sim/training/exchange.h"

#include "models/fabric.h"
#include "models/result.h"
#include "sim/training/observed.h"

/* Where collectives run message by message, no flow set is announced. */
#define NO_SET G_MAXUINT

/* Phases laid down on the cluster: of a collective, or of a move. */
typedef struct {
  CollKind kind;
  const CollOps *collective; /* NULL: a move */
  Move move;
  guint server;     /* pushes and pulls only */
  GArray *phases;   /* of CollPhase */
  PhaseLoad *loads; /* of each phase */
  guint *sets;      /* the engine's number of each phase's set */
  Observed *observed;
} Laid;

/* What a library decides from, for one kind of collective. */
typedef struct {
  const Exchange *exchange;
  CollCall call;
  LibraryCall library_call;
} Kind;

struct Exchange {
  const LibraryOps *library;
  const void *library_params;
  Topology *topology;
  Group *group;       /* of all GPUs */
  GPtrArray *kinds;   /* of Kind */
  GArray *laid;       /* of Laid */
  Messages *messages; /* NULL: phases run, not messages */
  double tier_capacity_Bps[TIER_N];
  guint tier_n_links[TIER_N];
};

static void laid_clear(gpointer pointer)
{
  Laid *laid = pointer;
  g_array_unref(laid->phases);
  g_free(laid->loads);
  g_free(laid->sets);
  g_free(laid->observed);
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

static const Laid *find_move(const Exchange *exchange, Move move, guint server)
{
  for (guint i = 0; i < exchange->laid->len; i++) {
    const Laid *laid = &g_array_index(exchange->laid, Laid, i);
    if (laid->collective == NULL && laid->move == move && laid->server == server)
      return laid;
  }
  g_return_val_if_reached(NULL);
}

static const Kind *find_kind(const Exchange *exchange, CollKind kind)
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

static void keep(Exchange *exchange, Laid *laid)
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
  keep(exchange, &laid);
}

static void lay_move(Exchange *exchange, const MoveSpec *spec, guint server)
{
  Laid laid = { .move = spec->move, .server = server, .phases = coll_phases_new() };
  const CollPhase phase = move_phase(exchange->topology, spec);

  g_array_append_val(laid.phases, phase);
  keep(exchange, &laid);
}

static void lay_moves(Exchange *exchange, const ExchangeNeeds *needs)
{
  MoveSpec spec = { .rack_nodes = needs->rack_nodes, .switch_gpus = needs->switch_gpus };

  for (spec.move = 0; spec.move < MOVE_N; spec.move++) {
    const bool served = move_needs_server(spec.move);
    const guint n = needs->moves & 1u << spec.move ? (served ? needs->n_servers : 1) : 0;
    for (guint server = 0; server < n; server++) {
      spec.machine = served ? needs->machines[server] : 0;
      lay_move(exchange, &spec, server);
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

/* Is NVLink what the first GPU reaches its neighbour by? */
static bool has_nvlink(const Topology *topology)
{
  g_autoptr(GArray) route = g_array_new(FALSE, FALSE, sizeof(guint32));

  if (topology_gpus_per_node(topology) > 1)
    topology_route(topology, 0, 1, 0, 0, route);
  return route->len > 0 &&
         topology_links(topology)[g_array_index(route, guint32, 0)].tier == TIER_NVLINK;
}

static Kind *describe_kind(const Exchange *exchange, const NodeSpec *node, CollKind kind)
{
  const Topology *topology = exchange->topology;
  const bool nvlink = has_nvlink(topology);
  Kind *one = g_new(Kind, 1);

  *one = (Kind){ .exchange = exchange };
  one->call = (CollCall){
    .kind = kind,
    .group = exchange->group,
    .n_rails = topology_n_nodes(topology) > 1 ? topology_nics_per_node(topology) : 1,
  };
  one->library_call = (LibraryCall){
    .kind = kind,
    .n_nodes = topology_n_nodes(topology),
    .ranks_per_node = topology_gpus_per_node(topology),
    .nvlink = nvlink,
    .nvswitch = nvlink && node->fabric == &fabric_nvswitch,
    .gpu_direct = topology_gpu_direct(topology),
    .nic_path = topology_path_type(topology, 0),
    .architecture = node->gpu.architecture,
    .n_nics = topology_nics_per_node(topology),
    .local_Bps = topology_gpu_Bps(topology),
    .node_Bps = topology_nics_per_node(topology) * topology_nic_Bps(topology),
    .message_latency_s = topology_message_latency_s(topology),
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
  Kind *one = describe_kind(exchange, &setup->cluster.node, kind);

  g_ptr_array_add(exchange->kinds, one);
  exchange->library->candidates(exchange->library_params, &one->library_call, candidates);
  for (guint i = 0; i < candidates->len; i++)
    lay(exchange, one, g_ptr_array_index(candidates, i));
  if (candidates->len > 0)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "library %s has no algorithm for %s yet",
              setup->library->info.name, coll_kind_name(kind));
  return false;
}

Exchange *exchange_new(const Setup *setup, const ExchangeNeeds *needs, GError **error)
{
  ClusterSpec cluster = setup_cluster(setup);
  cluster.n_servers = needs->n_extra_servers;
  cluster.server_sum_Bps = needs->server_sum_Bps;
  g_autoptr(Topology) topology = topology_new(&cluster, error);
  if (topology == NULL)
    return NULL;

  g_autoptr(Exchange) exchange = g_new0(Exchange, 1);
  exchange->topology = g_steal_pointer(&topology);
  exchange->group = group_new_all(exchange->topology);
  exchange->library = setup->library;
  exchange->library_params = setup->library_params;
  exchange->kinds = g_ptr_array_new_with_free_func(g_free);
  exchange->laid = g_array_new(FALSE, FALSE, sizeof(Laid));
  g_array_set_clear_func(exchange->laid, laid_clear);
  sum_tiers(exchange);
  for (guint kind = 1; kind <= needs->kinds; kind <<= 1)
    if ((needs->kinds & kind) && !lay_kind(exchange, setup, (CollKind)kind, error))
      return NULL;
  lay_moves(exchange, needs);
  return g_steal_pointer(&exchange);
}

void exchange_free(Exchange *exchange)
{
  messages_free(exchange->messages);
  topology_free(exchange->topology);
  group_free(exchange->group);
  g_ptr_array_unref(exchange->kinds);
  g_array_unref(exchange->laid);
  g_free(exchange);
}

const Topology *exchange_topology(const Exchange *exchange)
{
  return exchange->topology;
}

/* A set of one phase, and the group of sets that it shares links with. */
typedef struct {
  Laid *laid;
  guint phase;
  guint group; /* a smaller number of the group, or its own: a forest */
} Member;

static guint group_of(const GArray *members, guint index)
{
  while (g_array_index(members, Member, index).group != index)
    index = g_array_index(members, Member, index).group;
  return index;
}

static const FlowSet *set_of(const Member *member)
{
  return g_array_index(member->laid->phases, CollPhase, member->phase).set;
}

/* Join the groups of sets that cross the same link. */
static void join_groups(GArray *members, guint n_links)
{
  g_autofree guint *user = g_new0(guint, n_links); /* member + 1 */

  for (guint m = 0; m < members->len; m++) {
    const FlowSet *set = set_of(&g_array_index(members, Member, m));
    for (guint i = 0; i < set->links->len; i++) {
      guint *last = &user[g_array_index(set->links, guint32, i)];
      const guint one = group_of(members, m);
      const guint other = *last == 0 ? one : group_of(members, *last - 1);
      g_array_index(members, Member, MAX(one, other)).group = MIN(one, other);
      *last = m + 1;
    }
  }
}

static GArray *list_members(Exchange *exchange)
{
  GArray *members = g_array_new(FALSE, FALSE, sizeof(Member));

  for (guint i = 0; i < exchange->laid->len; i++) {
    Laid *laid = &g_array_index(exchange->laid, Laid, i);
    laid->sets = g_new0(guint, laid->phases->len);
    for (guint p = 0; p < laid->phases->len; p++) {
      const Member member = { .laid = laid, .phase = p, .group = members->len };
      g_array_append_val(members, member);
    }
  }
  return members;
}

static bool is_serial(const Member *member, guint serial_moves)
{
  return member->laid->collective == NULL && (serial_moves & 1u << member->laid->move);
}

void exchange_announce(Exchange *exchange, Engine *engine, bool overlap, guint serial_moves)
{
  g_autoptr(GArray) members = list_members(exchange);
  g_autoptr(GPtrArray) sets = g_ptr_array_new();

  if (overlap)
    join_groups(members, topology_n_links(exchange->topology));
  for (guint group = 0; group < members->len; group++) {
    if (group_of(members, group) != group)
      continue;
    g_ptr_array_set_size(sets, 0);
    for (guint m = group; m < members->len; m++)
      if (group_of(members, m) == group)
        g_ptr_array_add(sets, (gpointer)set_of(&g_array_index(members, Member, m)));
    const bool serial =
      sets->len == 1 && is_serial(&g_array_index(members, Member, group), serial_moves);
    guint number = engine_add_sets(engine, (const FlowSet *const *)sets->pdata, sets->len,
                                   overlap && !serial);
    for (guint m = group; m < members->len; m++) {
      const Member *member = &g_array_index(members, Member, m);
      if (group_of(members, m) == group)
        member->laid->sets[member->phase] = number++;
    }
  }
}

bool exchange_announce_messages(Exchange *exchange, Engine *engine, bool overlap,
                                GError **error)
{
  exchange->messages = messages_new(exchange->topology, exchange->group, error);
  if (exchange->messages == NULL)
    return false;
  for (guint i = 0; i < exchange->laid->len; i++) {
    const Laid *laid = &g_array_index(exchange->laid, Laid, i);
    if (laid->collective == NULL) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                  "this strategy moves data between GPUs, hosts and servers; only "
                  "collectives can be simulated message by message");
      return false;
    }
    if (!messages_lay(exchange->messages, &find_kind(exchange, laid->kind)->call,
                      laid->collective, error))
      return false;
  }
  messages_announce(exchange->messages, engine, !overlap);
  return true;
}

bool exchange_run_messages(Exchange *exchange, CollKind kind, const LibraryChoice *choice,
                           double size_B)
{
  if (exchange->messages != NULL)
    messages_run(exchange->messages, &find_kind(exchange, kind)->call, choice, size_B);
  return exchange->messages != NULL;
}

LibraryChoice exchange_choose(const Exchange *exchange, CollKind kind, double size_B)
{
  return exchange->library->choose(exchange->library_params,
                                   &find_kind(exchange, kind)->library_call, size_B);
}

static double idle_s(const Laid *laid, const LibraryChoice *choice, double size_B)
{
  double time_s = choice->launch_s;
  for (guint p = 0; p < laid->phases->len; p++)
    time_s +=
      coll_phase_idle_s(&g_array_index(laid->phases, CollPhase, p), &choice->terms, size_B);
  return time_s;
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

static ExchangePhase phase_of(const Laid *laid, guint index, const CollTerms *terms,
                              double size_B)
{
  const CollPhase *phase = &g_array_index(laid->phases, CollPhase, index);

  return (ExchangePhase){
    .name = phase->name,
    .set = laid->sets != NULL ? laid->sets[index] : NO_SET,
    .wait_s = coll_phase_wait_s(phase, terms, size_B),
    .least_s = coll_phase_least_s(phase, terms, size_B),
    .wire_B = size_B * terms->wire_factor,
    .load = &laid->loads[index],
  };
}

ExchangePhase exchange_phase(const Exchange *exchange, CollKind kind,
                             const LibraryChoice *choice, guint index, double size_B)
{
  return phase_of(find_laid(exchange, kind, choice->collective), index, &choice->terms,
                  size_B);
}

ExchangePhase exchange_move(const Exchange *exchange, Move move, guint server,
                            double alpha_s, double size_B)
{
  const CollTerms terms = {
    .alpha_local_s = alpha_s,
    .alpha_net_s = alpha_s + topology_message_latency_s(exchange->topology),
    .wire_factor = 1,
  };
  return phase_of(find_move(exchange, move, move_needs_server(move) ? server : 0), 0,
                  &terms, size_B);
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
  if (find_kind(exchange, kind) == NULL) /* nobody runs it: messages as quick as light */
    return (CollTerms){ .wire_factor = 1 };
  return exchange_choose(exchange, kind, size_B).terms;
}

double exchange_floor_s(const Exchange *exchange, CollKind kind, double size_B)
{
  const CollTerms terms = terms_of(exchange, kind, size_B);
  const CollCall call = {
    .kind = kind,
    .group = exchange->group,
    .n_rails = MAX(topology_nics_per_node(exchange->topology), 1),
  };
  const CollCost cost = {
    .local = { .alpha_s = terms.alpha_local_s,
               .bandwidth_Bps = topology_gpu_Bps(exchange->topology) },
    .net = { .alpha_s = terms.alpha_net_s,
             .bandwidth_Bps = topology_nic_Bps(exchange->topology) },
  };

  if (find_kind(exchange, kind) == NULL)
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

const char *exchange_moves_bottleneck(const Exchange *exchange, double size_B)
{
  Demand demand = { 0 };

  /* All moves of a message may overlap those of others: each link adds up its own. */
  for (guint i = 0; i < exchange->laid->len; i++) {
    const Laid *laid = &g_array_index(exchange->laid, Laid, i);
    if (laid->collective != NULL)
      continue;
    demand.limit_s = MAX(demand.limit_s, laid->loads[0].tightest * size_B);
    for (guint tier = 0; tier < TIER_N; tier++)
      demand.tier_s[tier] = MAX(demand.tier_s[tier], laid->loads[0].busiest[tier] * size_B);
  }
  return demand_largest(&demand);
}
