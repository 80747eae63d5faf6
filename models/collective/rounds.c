#include "models/collective/rounds.h"

#include "models/collective/walk.h"

GArray *rounds_messages(const Rounds *rounds, const CollCall *call, guint round)
{
  GArray *messages = g_array_new(FALSE, FALSE, sizeof(RoundMessage));
  rounds->messages(call, round, messages);
  return messages;
}

/* The messages of the last round that each rank took part in. */
typedef struct {
  GPtrArray *ids; /* of each rank: GArray of guint */
  guint *round;   /* of each rank: that round + 1; 0: none yet */
} Last;

static Last last_new(guint n)
{
  Last last = { g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref),
                g_new0(guint, n) };
  for (guint i = 0; i < n; i++)
    g_ptr_array_add(last.ids, g_array_new(FALSE, FALSE, sizeof(guint)));
  return last;
}

static void last_clear(Last *last)
{
  g_ptr_array_unref(last->ids);
  g_free(last->round);
}

static GArray *last_ids(const Last *last, guint rank)
{
  return g_ptr_array_index(last->ids, rank);
}

static void last_add(const Last *last, guint rank, guint round, guint id)
{
  GArray *ids = last_ids(last, rank);

  if (last->round[rank] != round + 1)
    g_array_set_size(ids, 0);
  last->round[rank] = round + 1;
  g_array_append_val(ids, id);
}

/* Ids that both lists may hold are named once. */
static void wait_for(Plan *plan, const GArray *ids, const GArray *named)
{
  for (guint i = 0; i < ids->len; i++) {
    const guint id = g_array_index(ids, guint, i);
    bool is_new = true;
    for (guint k = 0; is_new && named != NULL && k < named->len; k++)
      is_new = g_array_index(named, guint, k) != id;
    if (is_new)
      plan_also_after(plan, id);
  }
}

guint rounds_rail(const CollCall *call, guint rank)
{
  const Group *group = call->group;
  const guint node = group->node[rank];
  return (guint)((guint64)(rank - group->first_rank[node]) * call->n_rails /
                 group_n_local(group, node));
}

/* @p answered: per rank, its first message of this round; PLAN_START if none. */
static guint add_step(const Rounds *rounds, const CollCall *call,
                      const RoundMessage *message, double chunk_B, const Last *last,
                      guint *answered, Plan *plan)
{
  const bool is_net = !group_is_local(call->group, message->src, message->dst);
  const guint id = plan_add(
    plan,
    (PlanStep){ .src = message->src,
                .dst = message->dst,
                .first_chunk = message->first_chunk,
                .n_chunks = message->n_chunks,
                .after = PLAN_START,
                .reduce = message->reduce,
                .rail = rounds->direct && is_net ? 1 + rounds_rail(call, message->dst) : 0,
                .size_B = message->n_chunks * chunk_B });

  if (!rounds->answers) {
    wait_for(plan, last_ids(last, message->src), NULL);
    wait_for(plan, last_ids(last, message->dst), last_ids(last, message->src));
  } else if (answered[message->src] == PLAN_START) {
    wait_for(plan, last_ids(last, message->src), NULL);
    answered[message->src] = id;
  } else {
    plan_also_after_same(plan, answered[message->src]);
  }
  return id;
}

void rounds_plan(const Rounds *rounds, const CollCall *call, double size_B, Plan *plan)
{
  const guint n = call->group->n_ranks;
  const double chunk_B = size_B * rounds->chunk_share(call);
  g_autofree guint *answered = g_new(guint, n);
  Last last = last_new(n);

  for (guint round = 0; round < rounds->n_rounds(call); round++) {
    g_autoptr(GArray) messages = rounds_messages(rounds, call, round);
    const guint first = plan_n_steps(plan);

    for (guint rank = 0; rank < n; rank++)
      answered[rank] = PLAN_START;
    for (guint i = 0; i < messages->len; i++)
      add_step(rounds, call, &g_array_index(messages, RoundMessage, i), chunk_B, &last,
               answered, plan);
    for (guint i = 0; i < messages->len; i++) {
      const RoundMessage *message = &g_array_index(messages, RoundMessage, i);
      last_add(&last, message->dst, round, first + i);
      if (!rounds->answers)
        last_add(&last, message->src, round, first + i);
    }
  }
  last_clear(&last);
}

/* Bytes through the ports of ranks and NICs, per byte of message. */
typedef struct {
  guint n_ranks, n_ports; /* ports: NICs of all nodes */
  double *local;          /* of each rank: sent, then received */
  double *net;            /* of each NIC: sent, then received */
} Loads;

static void loads_init(Loads *loads, const CollCall *call)
{
  loads->n_ranks = call->group->n_ranks;
  loads->n_ports = call->group->n_nodes * call->n_rails;
  loads->local = g_new0(double, 2 * (gsize)loads->n_ranks);
  loads->net = g_new0(double, 2 * (gsize)loads->n_ports);
}

static void loads_clear(Loads *loads)
{
  g_free(loads->local);
  g_free(loads->net);
}

/* Call @p use for each port of the message with its share and the port's bandwidth. */
typedef void (*UsePort)(double *load, double share, double bandwidth_Bps, double *s_per_B);

static void add_load(double *load, double share, double bandwidth_Bps G_GNUC_UNUSED,
                     double *s_per_B G_GNUC_UNUSED)
{
  *load += share;
}

static void take_longest(double *load, double share G_GNUC_UNUSED, double bandwidth_Bps,
                         double *s_per_B)
{
  *s_per_B = MAX(*s_per_B, *load / bandwidth_Bps);
}

/* @return what @p use made of it */
static double use_ports(const Loads *loads, const Rounds *rounds, const CollCall *call,
                        const RoundMessage *message, const CollCost *cost, UsePort use)
{
  const Group *group = call->group;
  const double share = message->n_chunks * rounds->chunk_share(call);
  const double part = rounds->direct ? share : share / call->n_rails;
  double s_per_B = 0;

  if (group_is_local(group, message->src, message->dst)) {
    use(&loads->local[message->src], share, cost->local.bandwidth_Bps, &s_per_B);
    use(&loads->local[loads->n_ranks + message->dst], share, cost->local.bandwidth_Bps,
        &s_per_B);
    return s_per_B;
  }
  for (guint rail = 0; rail < call->n_rails; rail++) {
    if (rounds->direct && rail != rounds_rail(call, message->dst))
      continue;
    const guint from = group->node[message->src] * call->n_rails + rail;
    const guint to = group->node[message->dst] * call->n_rails + rail;
    use(&loads->net[from], part, cost->net.bandwidth_Bps, &s_per_B);
    use(&loads->net[loads->n_ports + to], part, cost->net.bandwidth_Bps, &s_per_B);
  }
  return s_per_B;
}

/* Time of the busiest port per byte of message. */
static double loads_s_per_B(const Loads *loads, const CollCost *cost)
{
  double s_per_B = 0;

  for (guint i = 0; i < 2 * loads->n_ranks; i++)
    s_per_B = MAX(s_per_B, loads->local[i] / cost->local.bandwidth_Bps);
  for (guint i = 0; i < 2 * loads->n_ports; i++)
    s_per_B = MAX(s_per_B, loads->net[i] / cost->net.bandwidth_Bps);
  return s_per_B;
}

/* Walk one round; @p all adds up the loads of all rounds. */
static void walk_ports(const Rounds *rounds, const CollCall *call, guint round,
                       const CollCost *cost, Loads *all, Walk *walk)
{
  g_autoptr(GArray) messages = rounds_messages(rounds, call, round);
  g_autofree Chain *hops = g_new0(Chain, messages->len);
  Loads loads;

  loads_init(&loads, call);
  for (guint i = 0; i < messages->len; i++) {
    const RoundMessage *message = &g_array_index(messages, RoundMessage, i);
    use_ports(&loads, rounds, call, message, cost, add_load);
    use_ports(all, rounds, call, message, cost, add_load);
  }
  for (guint i = 0; i < messages->len; i++) {
    const RoundMessage *message = &g_array_index(messages, RoundMessage, i);
    const bool is_local = group_is_local(call->group, message->src, message->dst);
    hops[i].n_local_hops = is_local;
    hops[i].n_net_hops = !is_local;
    hops[i].s_per_B = use_ports(&loads, rounds, call, message, cost, take_longest);
  }
  walk_round(walk, messages, hops);
  loads_clear(&loads);
}

/* Merged rounds: every one a hop, and the bytes of the port that is busiest in all. */
static double merged_s(const Rounds *rounds, const CollCall *call, double size_B,
                       const CollCost *cost)
{
  double time_s = 0;
  Loads loads;

  loads_init(&loads, call);
  for (guint round = 0; round < rounds->n_rounds(call); round++) {
    g_autoptr(GArray) messages = rounds_messages(rounds, call, round);
    bool is_net = false;
    for (guint i = 0; i < messages->len; i++) {
      const RoundMessage *message = &g_array_index(messages, RoundMessage, i);
      is_net = is_net || !group_is_local(call->group, message->src, message->dst);
      use_ports(&loads, rounds, call, message, cost, add_load);
    }
    if (messages->len > 0)
      time_s += is_net ? cost->net.alpha_s : cost->local.alpha_s;
  }
  time_s += loads_s_per_B(&loads, cost) * size_B;
  loads_clear(&loads);
  return time_s;
}

double rounds_ideal_s(const Rounds *rounds, const CollCall *call, double size_B,
                      const CollCost *cost)
{
  if (rounds->merged || rounds->answers)
    return merged_s(rounds, call, size_B, cost);

  Loads all;
  g_autoptr(Walk) walk = walk_new(call->group->n_ranks);
  double time_s = 0;

  loads_init(&all, call);
  for (guint round = 0; round < rounds->n_rounds(call); round++)
    walk_ports(rounds, call, round, cost, &all, walk);
  const Front longest = walk_longest(walk);
  for (guint i = 0; i < longest.n; i++) {
    const Chain *chain = &longest.chains[i];
    time_s = MAX(time_s, chain->n_local_hops * cost->local.alpha_s +
                           chain->n_net_hops * cost->net.alpha_s + chain->s_per_B * size_B);
  }
  time_s = MAX(time_s, loads_s_per_B(&all, cost) * size_B);
  loads_clear(&all);
  return time_s;
}
