/* The phases of algorithms that come in rounds: one for each, or one for all. */
#include "models/collective/walk.h"

/* Sums of some tens of terms. */
static const double rounding = 1e-12;

/* Add the flows of one message. */
static Chain add_message(const Rounds *rounds, const CollCall *call,
                         const RoundMessage *message, Draft *draft)
{
  const double share = message->n_chunks * rounds->chunk_share(call);

  if (rounds->direct)
    return draft_add_flow(draft, message->src, message->dst,
                          rounds_rail(call, message->dst), share);
  return draft_add_message(draft, message->src, message->dst, share);
}

/* @return the longest hop */
static Chain add_round(const Rounds *rounds, const CollCall *call, guint round,
                       Draft *draft)
{
  g_autoptr(GArray) messages = rounds_messages(rounds, call, round);
  Chain longest = { 0 };

  for (guint i = 0; i < messages->len; i++) {
    const Chain hop =
      add_message(rounds, call, &g_array_index(messages, RoundMessage, i), draft);
    if (chain_is_longer(hop, longest))
      longest = hop;
  }
  return longest;
}

/* Add a round to a draft of its own. @return its longest hop, with what its busiest link
 * needs */
static Chain walk_flows(const Rounds *rounds, const CollCall *call, guint round,
                        Draft *draft, Walk *walk)
{
  g_autoptr(GArray) messages = rounds_messages(rounds, call, round);
  g_autofree Chain *hops = g_new(Chain, messages->len);
  g_autofree guint *first = g_new(guint, messages->len + 1);
  Chain longest = { 0 };

  for (guint i = 0; i < messages->len; i++) {
    first[i] = draft_n_flows(draft);
    hops[i] = add_message(rounds, call, &g_array_index(messages, RoundMessage, i), draft);
    if (chain_is_longer(hops[i], longest))
      longest = hops[i];
  }
  first[messages->len] = draft_n_flows(draft);
  draft_limit(draft);
  g_autofree double *loads = draft_loads(draft, 0);
  for (guint i = 0; i < messages->len; i++)
    hops[i].s_per_B =
      draft_slowest_s_per_B(draft, loads, first[i], first[i + 1] - first[i]);
  walk_round(walk, messages, hops);
  longest.s_per_B = draft_bound_s_per_B(draft);
  return longest;
}

/* All rounds run into one another. @p longest: NULL: each waits for its longest hop */
static void add_merged(const Rounds *rounds, const CollCall *call, const Topology *topology,
                       const Front *longest, GArray *phases)
{
  Draft *draft = draft_new(call, topology);
  Chain chain = { 0 };

  for (guint round = 0; round < rounds->n_rounds(call); round++)
    chain = chain_join(chain, add_round(rounds, call, round, draft));
  draft_finish(draft, rounds->phase, chain, 0, phases);
  if (longest == NULL || phases->len == 0)
    return;
  CollPhase *phase = &g_array_index(phases, CollPhase, phases->len - 1);
  phase->chains = front_chains_new(longest);
  phase->chains_bound_s_per_B = phase->bound_s_per_B;
}

/* One phase after the other. @p longest: NULL: each waits for its longest hop */
static void add_apart(const Rounds *rounds, GPtrArray *drafts, const Chain *hops,
                      const Front *longest, double sum_s_per_B, GArray *phases)
{
  const guint first = phases->len;

  for (guint round = 0; round < drafts->len; round++) {
    Chain hop = longest == NULL ? hops[round] : (Chain){ 0 };
    hop.s_per_B = 0;
    draft_finish(g_ptr_array_index(drafts, round), rounds->phase, hop, 0, phases);
  }
  if (longest == NULL || phases->len == first)
    return;
  CollPhase *phase = &g_array_index(phases, CollPhase, first);
  phase->chains = front_chains_new(longest);
  phase->chains_bound_s_per_B = sum_s_per_B;
}

/* Does some chain of messages meet the longest hop of every round? */
static bool meets_all(const Front *longest, Chain sum)
{
  for (guint i = 0; i < longest->n; i++) {
    const Chain *chain = &longest->chains[i];
    if (chain->n_local_hops == sum.n_local_hops && chain->n_net_hops == sum.n_net_hops &&
        chain->latency_s >= sum.latency_s * (1 - rounding) &&
        chain->s_per_B >= sum.s_per_B * (1 - rounding))
      return true;
  }
  return false;
}

/* Where some chain meets the busiest link of every round, rounds are phases, whose waits
 * are those of the longest chain. Where none does, ranks that are early run ahead, and all
 * rounds are one phase. */
void rounds_phases(const Rounds *rounds, const CollCall *call, const Topology *topology,
                   GArray *phases)
{
  const guint n_rounds = rounds->n_rounds(call);
  if (rounds->merged || rounds->answers) {
    if (n_rounds > 0)
      add_merged(rounds, call, topology, NULL, phases);
    return;
  }
  g_autoptr(GPtrArray) drafts = g_ptr_array_new();
  g_autofree Chain *hops = g_new0(Chain, n_rounds);
  g_autoptr(Walk) walk = walk_new(call->group->n_ranks);
  Chain sum = { 0 };

  for (guint round = 0; round < n_rounds; round++) {
    Draft *draft = draft_new(call, topology);
    g_ptr_array_add(drafts, draft);
    hops[round] = walk_flows(rounds, call, round, draft, walk);
    sum = chain_join(sum, hops[round]);
  }
  const Front longest = walk_longest(walk);
  if (front_s_per_B(&longest) < sum.s_per_B * (1 - rounding)) {
    for (guint round = 0; round < n_rounds; round++)
      draft_free(g_ptr_array_index(drafts, round));
    add_merged(rounds, call, topology, &longest, phases);
    return;
  }
  add_apart(rounds, drafts, hops, meets_all(&longest, sum) ? NULL : &longest, sum.s_per_B,
            phases);
}
