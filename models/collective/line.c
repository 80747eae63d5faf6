#include "models/collective/line.h"

#include "models/collective/tree.h"

static guint n_rails_of(const CollCall *call)
{
  return call->group->n_nodes > 1 ? call->n_rails : 1;
}

/* The ring of @p channel as a tree: one child each. */
static void line_init(Tree *tree, const CollCall *call, const Rings *rings, guint channel)
{
  const guint n = call->group->n_ranks;
  g_autofree guint *ranks = g_new(guint, n);
  guint *parent = g_new(guint, n);

  rings_visit_all(rings, channel, ranks);
  for (guint i = 0; i < n; i++) {
    const guint rank = ranks[i];
    const guint before = ranks[(i + n - 1) % n], after = ranks[(i + 1) % n];
    parent[rank] = call->kind == COLL_REDUCE ? after : before;
  }
  parent[0] = TREE_ROOT;
  tree_init(tree, n, parent);
}

static Tree *lines_new(const CollCall *call, const Rings *rings)
{
  Tree *lines = g_new(Tree, rings_n_channels(rings));
  for (guint c = 0; c < rings_n_channels(rings); c++)
    line_init(&lines[c], call, rings, c);
  return lines;
}

static void lines_free(Tree *lines, guint n)
{
  for (guint c = 0; c < n; c++)
    tree_clear(&lines[c]);
  g_free(lines);
}

guint line_n_chunks(const CollCall *call, double size_B)
{
  g_autoptr(Rings) rings = rings_new(call, n_rails_of(call), call->layout);
  return rings_n_channels(rings) * coll_n_chunks(size_B, call->chunk_B);
}

void line_plan(const CollCall *call, double size_B, Plan *plan)
{
  g_autoptr(Rings) rings = rings_new(call, n_rails_of(call), call->layout);
  const guint n = rings_n_channels(rings), n_ranks = call->group->n_ranks;
  const guint n_chunks = coll_n_chunks(size_B, call->chunk_B);
  const bool up = call->kind == COLL_REDUCE;
  g_autofree PlanTree *pipes = g_new(PlanTree, n);
  g_autofree guint *rails = g_new(guint, (gsize)n * n_ranks);
  Tree *lines = lines_new(call, rings);

  for (guint c = 0; c < n; c++) {
    rings_plan_rails(rings, c, &rails[(gsize)c * n_ranks]);
    pipes[c] = (PlanTree){ .tree = &lines[c],
                           .first_chunk = c * n_chunks,
                           .width = 1,
                           .chunk_B = coll_chunk_B(size_B, call->chunk_B) / n,
                           .channel = c,
                           .rails = &rails[(gsize)c * n_ranks] };
  }
  for (guint chunk = 0; chunk < n_chunks; chunk++)
    tree_plan_chunk(pipes, n, chunk, up, !up, NULL, plan);
  lines_free(lines, n);
}

/* A message leaves by the NIC that the ring leaves its node by. */
static void add_flows(const Tree *line, const CollCall *call, const Rings *rings,
                      guint channel, Draft *draft, Chain *hops)
{
  const double share = 1.0 / rings_n_channels(rings);

  for (guint i = line->n_roots; i < line->n; i++) {
    const guint rank = line->order[i], parent = line->parent[rank];
    const guint src = call->kind == COLL_REDUCE ? rank : parent;
    const guint rail = rings_rail_out(rings, channel, call->group->node[src]);
    hops[i] = draft_add_flow(draft, src, src == rank ? parent : rank, rail, share);
  }
}

void line_phases(const CollCall *call, const Topology *topology, GArray *phases)
{
  const guint n = call->group->n_ranks;
  if (n == 1)
    return;

  g_autoptr(Rings) rings = rings_new(call, n_rails_of(call), topology);
  const guint n_channels = rings_n_channels(rings);
  g_autofree Chain *hops = g_new(Chain, (gsize)n * n_channels);
  Tree *lines = lines_new(call, rings);
  Draft *draft = draft_new(call, topology);
  TreePath longest = { 0 };

  for (guint c = 0; c < n_channels; c++)
    add_flows(&lines[c], call, rings, c, draft, &hops[(gsize)c * n]);
  g_autofree double *loads = draft_loads(draft, 0);
  for (guint c = 0; c < n_channels; c++) {
    const TreePath path =
      tree_longest_path(&lines[c], draft, c * (n - 1), &hops[(gsize)c * n], loads);
    if (chain_is_longer(path.chain, longest.chain))
      longest.chain = path.chain;
    longest.fill_s_per_B = MAX(longest.fill_s_per_B, path.fill_s_per_B);
  }
  draft_finish(draft, coll_kind_name(call->kind), longest.chain, longest.fill_s_per_B,
               phases);
  lines_free(lines, n_channels);
}

/* Is the hop that the ring lacks, to or from the root, one between nodes, in all channels?
 * Rings by rank enter node 0 at its first rank, where there is one channel. */
static bool lacks_net_hop(const CollCall *call)
{
  const guint n_local = group_n_local(call->group, 0);
  return n_local == 1 || (n_rails_of(call) == 1 && call->kind == COLL_BROADCAST);
}

double line_ideal_s(const CollCall *call, double size_B, const CollCost *cost)
{
  const guint n = call->group->n_ranks, n_nodes = call->group->n_nodes;
  if (n == 1)
    return 0;

  const guint n_net = n_nodes > 1 ? n_nodes - lacks_net_hop(call) : 0;
  const guint n_local = n - 1 - n_net;
  const double local_s_per_B =
    group_max_local(call->group) > 1 ? 1 / cost->local.bandwidth_Bps : 0;
  const double net_s_per_B =
    n_nodes > 1 ? 1 / (call->n_rails * cost->net.bandwidth_Bps) : 0;
  const double bound_s_per_B = MAX(local_s_per_B, net_s_per_B);
  const double way_s_per_B = n_local * local_s_per_B + n_net * net_s_per_B;

  return n_local * cost->local.alpha_s + n_net * cost->net.alpha_s +
         bound_s_per_B * size_B +
         (way_s_per_B - bound_s_per_B) * coll_chunk_B(size_B, call->chunk_B);
}
