#include "sim/command/nccl_flags.h"

#include "sim/base/registry.h"
#include "sim/training/collective_forecast.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *name;
  guint size_B;
} types[] = {
  { "float", 4 },  { "int8", 1 },     { "uint8", 1 },  { "int32", 4 },
  { "uint32", 4 }, { "int64", 8 },    { "uint64", 8 }, { "half", 2 },
  { "double", 8 }, { "bfloat16", 2 }, { "f8e4m3", 1 }, { "f8e5m2", 1 },
};
#define N_TYPES G_N_ELEMENTS(types)

static const char *const ops[] = { "sum", "prod", "min", "max", "avg", "mulsum", NULL };

/* Every rank's part begins at a multiple of this: getCollByteCount() of the tests. */
static const double aligned_B = 16;

void nccl_flags_clear(NcclFlags *flags)
{
  g_free(flags->type);
  g_free(flags->op);
}

void nccl_flags_add_entries(NcclFlags *flags, GArray *entries)
{
  const GOptionEntry rows[] = {
    { "ngpus", 'g', 0, G_OPTION_ARG_INT, &flags->n_gpus,
      "GPUs that one thread launches on, one after another (default 1)", "N" },
    { "nthreads", 't', 0, G_OPTION_ARG_INT, &flags->n_threads,
      "threads of a process, which launch at once (default 1)", "N" },
    { "datatype", 'd', 0, G_OPTION_ARG_STRING, &flags->type,
      "cut sizes into whole elements of this type (float, half, double, int8...)", "TYPE" },
    { "op", 0, 0, G_OPTION_ARG_STRING, &flags->op,
      "sum, prod, min, max, avg, mulsum: all take as long; -o OP is taken too", "OP" },
    { "root", 'r', 0, G_OPTION_ARG_INT, &flags->root,
      "of broadcast and reduce: any takes as long (default 0)", "RANK" },
    { "iters", 'n', 0, G_OPTION_ARG_INT, &flags->n_iters,
      "iterations: every one takes as long (default 20)", "N" },
    { "warmup_iters", 'w', 0, G_OPTION_ARG_INT, &flags->n_warmup,
      "iterations before them, at least 1 (default 1)", "N" },
    { "check", 'c', 0, G_OPTION_ARG_INT, &flags->check,
      "iterations that check the data, which are not timed (default 1)", "N" },
    { "average", 'a', 0, G_OPTION_ARG_INT, &flags->average,
      "of rank 0, mean, least, most: all ranks take as long (default 1)", "0..3" },
    { "parallel_init", 'p', 0, G_OPTION_ARG_INT, &flags->parallel,
      "threads initialise at once, which is not timed (default 0)", "0|1" },
    { "cudagraph", 'G', 0, G_OPTION_ARG_INT, &flags->graph,
      "launches from a graph cost the host nothing (default 0: no graph)", "N" },
    { "agg_iters", 'm', 0, G_OPTION_ARG_INT, &flags->n_agg, "only 1", "1" },
    { "blocking", 'z', 0, G_OPTION_ARG_INT, &flags->blocking, "only 0", "0" },
  };

  g_array_append_vals(entries, rows, G_N_ELEMENTS(rows));
}

bool nccl_flags_is_op(const char *text)
{
  return g_strv_contains(ops, text);
}

static guint type_of(const NcclFlags *flags)
{
  guint i = 0;

  if (flags->type != NULL)
    while (i < N_TYPES && strcmp(types[i].name, flags->type) != 0)
      i++;
  return i;
}

static bool refuse(GError **error, const char *option, const char *cause)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "collective: %s: %s", option, cause);
  return false;
}

/* What a whole number may be, in the order in which they are looked at. */
typedef struct {
  const char *option;
  size_t offset;
  int min, max;
  const char *cause; /* if it is not */
} Range;

// clang-format off
#define RANGE(option, field, min, max, cause) { option, offsetof(NcclFlags, field), min, max, cause }

static const Range ranges[] = {
  RANGE("-n", n_iters, 1, G_MAXINT, "wants at least one iteration"),
  RANGE("-w", n_warmup, 1, G_MAXINT,
        "without warm-up the first iteration connects, which is not predicted; give 1 or more"),
  RANGE("-m", n_agg, 1, 1,
        "operations of one group are not predicted; give 1, or a size that is the sum of theirs"),
  RANGE("-c", check, 0, G_MAXINT, "wants a number of iterations, or 0 for none"),
  RANGE("-p", parallel, 0, 1, "wants 0 or 1"),
  RANGE("-a", average, 0, 3, "wants 0 (rank 0), 1 (mean), 2 (least) or 3 (most)"),
  RANGE("-z", blocking, 0, 0,
        "waiting for the host after every collective is not predicted; give 0"),
  RANGE("-G", graph, 0, G_MAXINT, "wants a number of launches, or 0 for no graph"),
  RANGE("-g", n_gpus, 1, G_MAXINT, "wants 1 or more"),
  RANGE("-t", n_threads, 1, G_MAXINT, "wants 1 or more"),
};
// clang-format on

static bool check_ranges(const NcclFlags *flags, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS(ranges); i++) {
    const int value = *(const int *)(const void *)((const char *)flags + ranges[i].offset);
    if (value < ranges[i].min || value > ranges[i].max)
      return refuse(error, ranges[i].option, ranges[i].cause);
  }
  return true;
}

static bool check_gpus(const NcclFlags *flags, guint ranks_per_node, GError **error)
{
  if ((gint64)flags->n_gpus * flags->n_threads <= ranks_per_node &&
      ranks_per_node % (guint)(flags->n_gpus * flags->n_threads) == 0)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
              "collective: -t %d -g %d: processes of %" G_GINT64_FORMAT
              " GPUs do not fill nodes of %u; the cluster says how many there are, "
              "--set cluster.node.gpus=N changes that",
              flags->n_threads, flags->n_gpus, (gint64)flags->n_gpus * flags->n_threads,
              ranks_per_node);
  return false;
}

static bool check_data(const NcclFlags *flags, CollKind kind, guint n_ranks, GError **error)
{
  const bool reduces = kind & (COLL_ALL_REDUCE | COLL_REDUCE_SCATTER | COLL_REDUCE);

  if (type_of(flags) == N_TYPES) {
    g_autoptr(GString) known = g_string_new("wants one of");
    for (guint i = 0; i < N_TYPES; i++)
      g_string_append_printf(known, "%s %s", i == 0 ? "" : ",", types[i].name);
    return refuse(error, "-d", known->str);
  }
  if (flags->op != NULL && !nccl_flags_is_op(flags->op))
    return refuse(error, "--op", "wants sum, prod, min, max, avg or mulsum");
  if (flags->type != NULL && g_str_has_prefix(flags->type, "f8") && reduces && n_ranks > 8)
    return refuse(error, "-d",
                  "NCCL avoids rings for sums of 8-bit floats among more than 8 ranks, "
                  "which is not modelled; give int8 and --set library.algo=tree");
  if (flags->root < 0 || (guint)flags->root >= n_ranks)
    return refuse(error, "-r", "wants a rank of the cluster, from 0 on");
  return true;
}

bool nccl_flags_check(const NcclFlags *flags, CollKind kind, guint n_ranks,
                      guint ranks_per_node, GError **error)
{
  return check_ranges(flags, error) && check_gpus(flags, ranks_per_node, error) &&
         check_data(flags, kind, n_ranks, error);
}

bool nccl_flags_cut(const NcclFlags *flags, CollKind kind, guint n_ranks, GArray *sizes_B,
                    GError **error)
{
  const guint element_B = types[type_of(flags)].size_B;
  const bool shares = kind & (COLL_REDUCE_SCATTER | COLL_ALL_GATHER | COLL_ALL_TO_ALL);
  const double unit_B = shares ? n_ranks * aligned_B : element_B;

  if (flags->type == NULL)
    return true;
  for (guint i = 0; i < sizes_B->len; i++) {
    double *size_B = &g_array_index(sizes_B, double, i);
    *size_B = floor(*size_B / unit_B) * unit_B;
    if (*size_B > 0)
      continue;
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "collective: -b: nothing is left of sizes below %.0f bytes, cut into %s "
                "for %u rank%s; begin with -b %.0f",
                unit_B, types[type_of(flags)].name, shares ? n_ranks : 1,
                shares && n_ranks > 1 ? "s" : "", unit_B);
    return false;
  }
  return true;
}

double nccl_flags_launch_s(const NcclFlags *flags)
{
  return flags->n_gpus > 1 && flags->graph == 0 ? flags->n_gpus * COLL_LAUNCH_S : 0;
}

void nccl_flags_describe(const NcclFlags *flags, CollKind kind, Timings *timings)
{
  const bool reduces = kind & (COLL_ALL_REDUCE | COLL_REDUCE_SCATTER | COLL_REDUCE);
  const guint type = type_of(flags);

  timings->type = types[type].name;
  timings->element_B = types[type].size_B;
  if (reduces && flags->op != NULL)
    for (guint i = 0; ops[i] != NULL; i++)
      if (strcmp(ops[i], flags->op) == 0)
        timings->op = ops[i];
  if (kind & (COLL_BROADCAST | COLL_REDUCE))
    timings->root = flags->root;
}
