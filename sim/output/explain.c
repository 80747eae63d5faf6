/**
 * @file explain.c
 * @brief What bounds a job and why, in words, from the numbers of its result alone.
 */
#include "models/topology.h"
#include "sim/output/output.h"
#include "sim/output/show.h"

#include <string.h>

/* Less than this of an iteration is not worth a sentence. */
#define NOTICEABLE_SHARE 0.005
/* Waiting for less than this does not bound a job. */
#define SMALL_SHARE 0.02
/* A link this full bounds what crosses it. */
#define FULL_LINK_SHARE 0.9
/* Links with less traffic than this, while gradients are in flight, are not what takes the
 * time. */
#define HALF_EMPTY_SHARE 0.5

static double busy_s(const Result *result)
{
  return result->comm_busy_share * result->iteration_time_s;
}

static bool communicates(const Result *result)
{
  return result->comm_busy_share > 0;
}

/* "; its longest stage, copy_in, takes 2 ms", where stages are known. */
static void append_longest_stage(GString *out, const Result *result)
{
  const StageUse *longest = NULL;

  for (guint i = 0; i < result->stages->len; i++) {
    const StageUse *stage = &g_array_index(result->stages, StageUse, i);
    if (longest == NULL || stage->busy_s > longest->busy_s)
      longest = stage;
  }
  if (longest == NULL || longest->busy_s == 0)
    return;
  g_autofree char *name = show_plain(longest->name);
  g_autofree char *time = show_time(longest->busy_s);
  g_string_append_printf(out, "; the longest stage of the exchange, %s, is busy for %s",
                         name, time);
}

static void explain_silence(GString *out, const Result *result)
{
  g_autofree char *compute = show_time(result->compute_time_s);

  g_string_append(out, result->n_gpus <= 1 ? "One GPU has nobody to exchange gradients with"
                                           : "No gradient is in flight for any time");
  if (result->comm_exposed_share < NOTICEABLE_SHARE) {
    g_string_append_printf(out, ": its %s of compute are the whole iteration.", compute);
    return;
  }
  g_autofree char *idle = show_share(result->comm_exposed_share);
  g_string_append_printf(out, ", yet %s of the iteration passes without compute", idle);
  append_longest_stage(out, result);
  g_string_append_c(out, '.');
}

/* How much of the communication the GPUs feel. */
static void explain_overlap(GString *out, const Result *result)
{
  const TimeSplit split = show_time_split(result);
  g_autofree char *busy = show_share(result->comm_busy_share);
  g_autofree char *hidden = show_share(split.hidden);
  g_autofree char *exposed = show_share(result->comm_exposed_share);

  if (result->compute_time_s == 0) {
    g_string_append_printf(out,
                           "Nothing is computed: the iteration is the exchange alone, with "
                           "gradients in flight %s of it",
                           busy);
    return;
  }
  if (split.exposed < NOTICEABLE_SHARE) {
    g_string_append_printf(out,
                           "Compute bounds it: communication is busy %s of the iteration "
                           "and hides behind compute",
                           busy);
    return;
  }
  if (split.exposed < SMALL_SHARE) {
    g_string_append_printf(out,
                           "Compute bounds it: communication is busy %s of the iteration "
                           "and the GPUs wait only %s",
                           busy, exposed);
    return;
  }
  if (result->comm_busy_share < split.exposed - NOTICEABLE_SHARE) {
    g_string_append_printf(out,
                           "The GPUs wait %s of the iteration, although communication is "
                           "busy only %s of it: the rest is waiting for a turn, for "
                           "copies or for slower workers",
                           exposed, busy);
    append_longest_stage(out, result);
    return;
  }
  g_string_append_printf(out, "Communication is busy %s of the iteration", busy);
  if (split.hidden < NOTICEABLE_SHARE)
    g_string_append_printf(out, ", and the GPUs wait for about as long (%s)", exposed);
  else
    g_string_append_printf(out, ": compute hides at least %s, the GPUs wait %s", hidden,
                           exposed);
}

static const LinkUse *bottleneck_use(const Result *result)
{
  for (guint i = 0; i < result->links->len; i++) {
    const LinkUse *use = &g_array_index(result->links, LinkUse, i);
    if (strcmp(topology_tier_names[use->tier], result->bottleneck) == 0)
      return use;
  }
  return NULL;
}

/* " at 25 Gbit/s", where the scenario tells the rate of the links in question. */
static void append_rate(GString *out, const Result *result)
{
  if (strcmp(result->bottleneck, topology_tier_names[TIER_NIC]) != 0)
    return;
  for (guint i = 0; i < result->constants->len; i++) {
    const Constant *constant = &g_array_index(result->constants, Constant, i);
    if (constant->value == NULL || g_strcmp0(constant->name, "cluster.nic.rate") != 0)
      continue;
    g_autofree char *rate = show_plain(constant->value);
    g_string_append_printf(out, " at %s", rate);
  }
}

/* " bound it, ..." or what else does, after the name of the links. */
static void append_fill(GString *out, const Result *result, const LinkUse *use)
{
  const double fill = use->mean / result->comm_busy_share;
  g_autofree char *peak = show_share(use->peak);
  g_autofree char *share = show_share(MIN(fill, 1));

  if (use->peak < FULL_LINK_SHARE)
    g_string_append_printf(
      out,
      " are its tightest links, yet the busiest is only %s full: "
      "latency, the protocol or the limit of a connection holds it back",
      peak);
  else if (fill < HALF_EMPTY_SHARE)
    g_string_append_printf(out,
                           " bound its largest message, but only %s of their capacity is "
                           "in use while it is busy: the fixed cost of each message, or "
                           "uneven load, takes the rest",
                           share);
  else
    g_string_append_printf(out, " bound it, the busiest %s full", peak);
}

static void explain_bottleneck(GString *out, const Result *result)
{
  if (result->bottleneck == NULL || *result->bottleneck == '\0')
    return;
  if (!show_is_tier(result->bottleneck)) {
    const bool connection = strcmp(result->bottleneck, RESULT_BOUND_CONNECTION) == 0;
    g_autofree char *cause =
      show_plain(connection ? "what a connection carries" : result->bottleneck);
    g_string_append_printf(out, "; %s, not the links, holds even its largest message back",
                           cause);
    return;
  }
  const LinkUse *use = bottleneck_use(result);

  g_string_append_printf(out, "; the %s", show_tier(result->bottleneck));
  append_rate(out, result);
  if (use == NULL)
    g_string_append(out, " bound it");
  else
    append_fill(out, result, use);
}

/* What travels, how long it takes, and how long it would have to take. */
static void explain_exchange(GString *out, const Result *result)
{
  const bool named = result->algorithm != NULL && *result->algorithm != '\0';
  const double ratio = result->floor_s > 0 ? busy_s(result) / result->floor_s : 0;
  g_autofree char *size =
    show_bytes(result_is_coded(result) ? result->message_B : result->gradient_B);
  g_autofree char *floor = show_time(result->floor_s);
  g_autofree char *busy = show_time(busy_s(result));
  g_autofree char *algorithm = show_plain(named ? result->algorithm : "The exchange");
  g_autofree char *times = show_number(ratio, 3);
  g_autofree char *units = show_number(result->units_per_iteration, 3);

  g_string_append_printf(out, " %s moves %s%s in %s message%s and %s", algorithm, size,
                         result_is_coded(result) ? " of encoded gradients per GPU" : "",
                         units, result->units_per_iteration == 1 ? "" : "s", busy);
  if (ratio >= 1.01)
    g_string_append_printf(out, ", %s times the %s that any %s needs here", times, floor,
                           result_is_coded(result) ? "exchange of them" : "all-reduce");
  else if (ratio > 0)
    g_string_append_printf(out, ", as fast as any %s can be here",
                           result_is_coded(result) ? "exchange of them" : "all-reduce");
  explain_bottleneck(out, result);
  g_string_append_c(out, '.');
}

/* Why @p best is faster. */
static void explain_distance(GString *out, const Result *result, const Result *best)
{
  const double ratio = result->throughput_samples_per_s / best->throughput_samples_per_s;
  g_autofree char *times = show_number(ratio, 3);
  g_autofree char *name = show_plain(best->name);

  if (ratio > 0.9995) {
    g_string_append_printf(out, " It is as fast as %s.", name);
    return;
  }
  g_string_append_printf(out, " It reaches %s of the throughput of %s", times, name);
  if (result->n_gpus != best->n_gpus) {
    g_autofree char *own = show_number(result->n_gpus, 6);
    g_autofree char *others = show_number(best->n_gpus, 6);
    g_string_append_printf(out, ", on %s GPU%s instead of %s", own,
                           result->n_gpus == 1 ? "" : "s", others);
  }
  if (result->comm_exposed_share - best->comm_exposed_share >= NOTICEABLE_SHARE) {
    g_autofree char *exposed = show_share(best->comm_exposed_share);
    g_string_append_printf(out, ", whose GPUs wait %s of an iteration", exposed);
  }
  g_string_append_c(out, '.');
}

char *result_explain(const Result *result, const Result *best)
{
  GString *out = g_string_new(NULL);

  if (!communicates(result)) {
    explain_silence(out, result);
  } else {
    explain_overlap(out, result);
    g_string_append_c(out, '.');
    explain_exchange(out, result);
  }
  if (best != NULL && best != result && best->throughput_samples_per_s > 0)
    explain_distance(out, result, best);
  return g_string_free(out, FALSE);
}
