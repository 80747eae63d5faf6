/**
 * @file nccl_flags.h
 * @brief The flags of nccl-tests that say how it measures: taken with their meaning, or
 * refused with what to do instead.
 *
 * Sizes (-b -e -f -i) are the collective command's own. Source: NVIDIA/nccl-tests 2.17,
 * src/common.cu.
 */
#pragma once

#include "models/collective.h"
#include "models/timings.h"

typedef struct {
  int n_threads, n_gpus;        /* -t -g */
  int n_iters, n_warmup, n_agg; /* -n -w -m */
  int check, blocking, graph;   /* -c -z -G */
  int parallel, average, root;  /* -p -a -r */
  char *type, *op;              /* -d --op; NULL: not given */
} NcclFlags;

/** nccl-tests' defaults. Clear with nccl_flags_clear(). */
#define NCCL_FLAGS_INIT                                                                    \
  (NcclFlags)                                                                              \
  {                                                                                        \
    .n_threads = 1, .n_gpus = 1, .n_iters = 20, .n_warmup = 1, .n_agg = 1, .check = 1,     \
    .average = 1                                                                           \
  }

void nccl_flags_clear(NcclFlags *flags);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(NcclFlags, nccl_flags_clear)

/** Append the rows that fill @p flags (GOptionEntry). */
void nccl_flags_add_entries(NcclFlags *flags, GArray *entries);

/** Is @p text what nccl-tests' -o takes, an operation? Ours writes files. */
bool nccl_flags_is_op(const char *text);

/** False with SIM_ERROR_USAGE if they make no sense, or no prediction, for @p kind on a
 *  cluster of @p n_ranks, @p ranks_per_node in a node. */
bool nccl_flags_check(const NcclFlags *flags, CollKind kind, guint n_ranks,
                      guint ranks_per_node, GError **error);

/** With -d: make @p sizes_B (double) whole elements, as many for every rank, as nccl-tests
 *  cuts them. False with SIM_ERROR_USAGE if nothing is left. */
bool nccl_flags_cut(const NcclFlags *flags, CollKind kind, guint n_ranks, GArray *sizes_B,
                    GError **error);

/** What one thread of the host takes to launch a collective on its GPUs: no iteration is
 *  shorter. 0 where each thread has one, whose launch the tables of NCCL contain [s]. */
double nccl_flags_launch_s(const NcclFlags *flags);

/** Say in @p timings what the table's columns type, redop and root hold. */
void nccl_flags_describe(const NcclFlags *flags, CollKind kind, Timings *timings);
