/**
 * @file grouping.h
 * @brief Which ranks communicate together, by name: "groups" of a scenario.
 *
 * Training in several ways at once splits the N ranks of a cluster into tensor-, context-,
 * data- and pipeline-parallel groups, T x C x D x P = N, those of experts into
 * T x E x D' x P = N. With Megatron's default order, "tp-cp-ep-dp-pp", rank
 *     t + T (c + C (d + D p))
 * is number t of its tensor group, c of its context group and so on; DeepSpeed's topology
 * of pipe, data and model counts the same way. In "tp-cp-ep-pp-dp" p and d change places.
 * A data_context group is what shares gradients where sequences are cut: C x D ranks.
 *
 * Source: NVIDIA/Megatron-LM, megatron/core/parallel_state.py, RankGenerator;
 * deepspeedai/DeepSpeed, deepspeed/runtime/pipe/topology.py.
 */
#pragma once

#include "models/group.h"
#include "sim/base/param.h"

/** Groups that the scenario names itself: a list of ranks, or all that a stride makes. */
typedef struct {
  char *name;
  char *ranks; /**< "0-7, 12, 16-30:2"; NULL: size and stride */
  guint size;  /**< 0: ranks */
  guint stride;
} NamedGroups;

typedef struct {
  guint tensor, context, expert, pipeline; /**< sizes, >= 1; data takes what is left */
  guint order;                             /**< GroupingOrder */
  GArray *named;                           /**< of NamedGroups */
} Grouping;

typedef enum { GROUPING_PIPELINE_LAST, GROUPING_DATA_LAST } GroupingOrder;

extern const ParamSpec grouping_params[];
/** The rows of one element of "named". */
extern const ParamSpec named_groups_params[];

/** Does it make any groups beside "all" and groups of one? */
bool grouping_splits(const Grouping *grouping);

/** Do the sizes divide @p n_gpus? @return false with SIM_ERROR_VALUE */
bool grouping_check_layout(const Grouping *grouping, guint n_gpus, GError **error);

/** Element @p index of "named": are its ranks there, and once?
 *  @return false with SIM_ERROR_VALUE */
bool grouping_check_named(const Grouping *grouping, guint index, guint n_gpus,
                          GError **error);

/** All elements, which are good each: is no rank in two groups of one name?
 *  @param index  of the element whose rank is
 *  @return false with SIM_ERROR_VALUE */
bool grouping_check_disjoint(const Grouping *grouping, guint n_gpus, guint *index,
                             GError **error);

/**
 * The groups called "NAME", or number I of them, "NAME[I]"; they have no rank in common.
 * @return GPtrArray of Group, which it owns; NULL with SIM_ERROR_VALUE and a suggestion.
 *         Transfer: caller unrefs.
 */
GPtrArray *grouping_find(const Grouping *grouping, const char *selector,
                         const Topology *topology, GError **error);
