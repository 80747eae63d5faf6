#include "models/grouping.h"

#include "models/rank_list.h"
#include "sim/base/registry.h"

#include <stdlib.h>
#include <string.h>

static const char *const order_names[] = { "tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", NULL };

// clang-format off
const ParamSpec named_groups_params[] = {
  { .key = "name", .type = PARAM_TEXT, .offset = offsetof(NamedGroups, name),
    .help = "what --group calls them; several elements may share it" },
  { .key = "ranks", .type = PARAM_TEXT, .offset = offsetof(NamedGroups, ranks),
    .fallback = "", .help = "one group: \"0-7, 12, 16-30:2\"" },
  { .key = "size", .type = PARAM_COUNT, .offset = offsetof(NamedGroups, size),
    .fallback = "0", .max = G_MAXUINT,
    .help = "instead of ranks: everyone, in groups of so many", .origin = "ranks" },
  { .key = "stride", .type = PARAM_COUNT, .offset = offsetof(NamedGroups, stride),
    .fallback = "1", .min = 1, .max = G_MAXUINT,
    .help = "with size: each so many after the one before", .origin = "neighbours" },
  PARAM_END,
};

const ParamSpec grouping_params[] = {
  { .key = "tensor", .type = PARAM_COUNT, .offset = offsetof(Grouping, tensor),
    .fallback = "1", .min = 1, .max = G_MAXUINT,
    .help = "ranks of a tensor-parallel group", .origin = "data-parallel alone" },
  { .key = "context", .type = PARAM_COUNT, .offset = offsetof(Grouping, context),
    .fallback = "1", .min = 1, .max = G_MAXUINT,
    .help = "ranks that share a sequence", .origin = "data-parallel alone" },
  { .key = "expert", .type = PARAM_COUNT, .offset = offsetof(Grouping, expert),
    .fallback = "1", .min = 1, .max = G_MAXUINT,
    .help = "ranks that share experts", .origin = "data-parallel alone" },
  { .key = "pipeline", .type = PARAM_COUNT, .offset = offsetof(Grouping, pipeline),
    .fallback = "1", .min = 1, .max = G_MAXUINT,
    .help = "stages of a pipeline; data takes the ranks that are left",
    .origin = "data-parallel alone" },
  { .key = "order", .type = PARAM_NAME, .offset = offsetof(Grouping, order),
    .names = order_names, .fallback = "tp-cp-ep-dp-pp",
    .help = "what counts fastest among the ranks", .origin = "Megatron-LM parallel_state.py" },
  { .key = "named", .type = PARAM_LIST, .offset = offsetof(Grouping, named), .fallback = "",
    .item = named_groups_params, .item_size = sizeof(NamedGroups),
    .help = "groups of your own, unequal ones too", .origin = "none unless given" },
  PARAM_END,
};
// clang-format on

/* ---- the layout -------------------------------------------------------------------- */

static const char *const layout_names[] = { "tensor",       "context", "data",
                                            "data_context", "expert",  "expert_data",
                                            "pipeline",     NULL };

/* Of a rank's numbers, one that the group's ranks differ in. */
typedef struct {
  guint size, stride;
} Axis;

/* The ranks of a group differ in up to two. */
typedef struct {
  Axis inner, outer;
} Axes;

/* How many ranks share what is neither tensor, @p size nor pipeline. */
static guint data_size(const Grouping *grouping, guint size, guint n_gpus)
{
  return n_gpus / (grouping->tensor * size * grouping->pipeline);
}

static Axes axes_of(const Grouping *grouping, const char *name, guint n_gpus)
{
  const guint t = grouping->tensor, p = grouping->pipeline;
  const bool of_experts = g_str_has_prefix(name, "expert");
  const guint c = of_experts ? grouping->expert : grouping->context;
  const bool data_last = grouping->order == GROUPING_DATA_LAST;
  const Axis none = { 1, 1 }, tensor = { t, 1 }, cut = { c, t };
  const Axis data = { data_size(grouping, c, n_gpus), t * c * (data_last ? p : 1) };
  const Axis stages = { p, data_last ? t * c : n_gpus / p };

  if (strcmp(name, "tensor") == 0)
    return (Axes){ tensor, none };
  if (strcmp(name, "context") == 0 || strcmp(name, "expert") == 0)
    return (Axes){ cut, none };
  if (strcmp(name, "data_context") == 0)
    return (Axes){ cut, data };
  return (Axes){ strcmp(name, "pipeline") == 0 ? stages : data, none };
}

static bool check_sizes(const Grouping *grouping, const char *what, guint size,
                        guint n_gpus, GError **error)
{
  const guint64 product = (guint64)grouping->tensor * size;

  if (product <= n_gpus && product * grouping->pipeline <= n_gpus &&
      n_gpus % (product * grouping->pipeline) == 0)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "tensor %u x %s %u x pipeline %u does not divide %u GPUs: change a size, or "
              "the number of nodes",
              grouping->tensor, what, size, grouping->pipeline, n_gpus);
  return false;
}

bool grouping_splits(const Grouping *grouping)
{
  return grouping->tensor > 1 || grouping->context > 1 || grouping->expert > 1 ||
         grouping->pipeline > 1 || (grouping->named != NULL && grouping->named->len > 0);
}

bool grouping_check_layout(const Grouping *grouping, guint n_gpus, GError **error)
{
  if (!check_sizes(grouping, "context", grouping->context, n_gpus, error) ||
      !check_sizes(grouping, "expert", grouping->expert, n_gpus, error))
    return false;
  if (grouping->order == GROUPING_PIPELINE_LAST || grouping->pipeline == 1 ||
      grouping->context == grouping->expert)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "with pipelines and \"order\": \"%s\" context and expert must be equal, as "
              "in Megatron; or leave order out",
              order_names[grouping->order]);
  return false;
}

/* ---- groups of its own ------------------------------------------------------------- */

static bool refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static bool refuse(GError **error, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *cause = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_set_error_literal(error, SIM_ERROR, SIM_ERROR_VALUE, cause);
  return false;
}

static const NamedGroups *named_at(const Grouping *grouping, guint index)
{
  return &g_array_index(grouping->named, NamedGroups, index);
}

static bool check_way(const NamedGroups *named, guint n_gpus, GError **error)
{
  if ((named->ranks != NULL) == (named->size > 0))
    return refuse(error, named->size > 0 ? "ranks and size exclude each other"
                                         : "needs \"ranks\": \"0-7\" or \"size\": 8");
  if (named->ranks != NULL && named->stride > 1)
    return refuse(error, "stride: only with size; in ranks it is written \"0-30:%u\"",
                  named->stride);
  if (named->ranks == NULL && ((guint64)named->size * named->stride > n_gpus ||
                               n_gpus % ((guint64)named->size * named->stride) != 0))
    return refuse(error,
                  "size %u x stride %u does not divide %u GPUs: change one, or list ranks",
                  named->size, named->stride, n_gpus);
  return true;
}

bool grouping_check_named(const Grouping *grouping, guint index, guint n_gpus,
                          GError **error)
{
  const NamedGroups *named = named_at(grouping, index);

  if (named->name == NULL)
    return true; /* a required key: already said */
  if (strpbrk(named->name, "[]") != NULL)
    return refuse(error, "name: [ and ] number groups: --group %s", "NAME[0]");
  if (g_strv_contains(layout_names, named->name))
    return refuse(error, "name: '%s' is what the sizes make: take another", named->name);
  if (!check_way(named, n_gpus, error))
    return false;
  g_autoptr(GArray) ranks =
    named->ranks == NULL ? NULL : rank_list_parse(named->ranks, n_gpus, error);
  return named->ranks == NULL || ranks != NULL;
}

/* Mark the ranks of one element; false at one that was marked before. */
static bool mark(const NamedGroups *named, guint n_gpus, bool *taken, GError **error)
{
  g_autoptr(GArray) ranks =
    named->ranks == NULL ? NULL : rank_list_parse(named->ranks, n_gpus, error);
  const guint n = named->ranks == NULL ? n_gpus : ranks->len;

  for (guint i = 0; i < n; i++) {
    const guint rank = named->ranks == NULL ? i : g_array_index(ranks, guint, i);
    if (taken[rank])
      return refuse(error,
                    "rank %u is in two groups called '%s': give one of them another name",
                    rank, named->name);
    taken[rank] = true;
  }
  return true;
}

/* The elements of each name: name -> GArray of guint; only looked up. */
static GHashTable *index_names(const Grouping *grouping)
{
  GHashTable *elements =
    g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);

  for (guint i = 0; i < grouping->named->len; i++) {
    char *name = named_at(grouping, i)->name;
    GArray *same = g_hash_table_lookup(elements, name);
    if (same == NULL) {
      same = g_array_new(FALSE, FALSE, sizeof(guint));
      g_hash_table_insert(elements, name, same);
    }
    g_array_append_val(same, i);
  }
  return elements;
}

bool grouping_check_disjoint(const Grouping *grouping, guint n_gpus, guint *index,
                             GError **error)
{
  g_autoptr(GHashTable) elements = index_names(grouping);

  for (guint i = 0; i < grouping->named->len; i++) {
    const GArray *same = g_hash_table_lookup(elements, named_at(grouping, i)->name);
    if (same->len == 1 || g_array_index(same, guint, 0) != i)
      continue;
    g_autofree bool *taken = g_new0(bool, n_gpus);
    for (guint k = 0; k < same->len; k++) {
      *index = g_array_index(same, guint, k);
      if (!mark(named_at(grouping, *index), n_gpus, taken, error))
        return false;
    }
  }
  return true;
}

/* ---- what --group means ------------------------------------------------------------ */

/* What --group takes apart: "tensor[3]". */
typedef struct {
  char *name;
  bool one;
  guint index;
} Selector;

static bool selector_parse(const char *text, Selector *selector)
{
  const char *open = strchr(text, '[');
  const char *at = open == NULL ? "" : open + 1;

  *selector = (Selector){ .name = open == NULL ? g_strdup(text)
                                               : g_strndup(text, (gsize)(open - text)),
                          .one = open != NULL };
  return open == NULL || (rank_list_number(&at, &selector->index) && strcmp(at, "]") == 0);
}

static int compare(const void *a, const void *b)
{
  const guint x = *(const guint *)a, y = *(const guint *)b;
  return (x > y) - (x < y);
}

/* Everyone whose numbers but these are those of rank @p first. */
static Group *group_along(const Axes *axes, guint first, guint gpus_per_node)
{
  const guint n = axes->inner.size * axes->outer.size;
  g_autofree guint *gpus = g_new(guint, n);

  for (guint i = 0; i < n; i++)
    gpus[i] = first + i % axes->inner.size * axes->inner.stride +
              i / axes->inner.size * axes->outer.stride;
  qsort(gpus, n, sizeof *gpus, compare);
  return group_new(gpus, n, gpus_per_node);
}

static bool is_first(Axis axis, guint rank)
{
  return rank / axis.stride % axis.size == 0;
}

/* A group begins at every rank whose numbers in it are 0. */
static void add_along(const Axes *axes, const Topology *topology, GPtrArray *groups)
{
  for (guint rank = 0; rank < topology_n_gpus(topology); rank++)
    if (is_first(axes->inner, rank) && is_first(axes->outer, rank))
      g_ptr_array_add(groups, group_along(axes, rank, topology_gpus_per_node(topology)));
}

static bool add_named(const NamedGroups *named, const Topology *topology, GPtrArray *groups,
                      GError **error)
{
  if (named->ranks == NULL) {
    const Axes axes = { { named->size, named->stride }, { 1, 1 } };
    add_along(&axes, topology, groups);
    return true;
  }
  g_autoptr(GArray) ranks = rank_list_parse(named->ranks, topology_n_gpus(topology), error);
  if (ranks == NULL)
    return false;
  g_ptr_array_add(groups, group_new((const guint *)(gpointer)ranks->data, ranks->len,
                                    topology_gpus_per_node(topology)));
  return true;
}

static void refuse_name(const Grouping *grouping, const char *name, GError **error)
{
  g_autoptr(GPtrArray) known = g_ptr_array_new();

  for (guint i = 0; i < grouping->named->len; i++)
    g_ptr_array_add(known, named_at(grouping, i)->name);
  for (guint i = 0; layout_names[i] != NULL; i++)
    g_ptr_array_add(known, (gpointer)layout_names[i]);
  g_ptr_array_add(known, NULL);
  g_autofree char *suggestion =
    registry_suggestion((const char *const *)known->pdata, name);
  g_autofree char *all = g_strjoinv(", ", (char **)known->pdata);
  refuse(error, "unknown group '%s'%s (there are %s)", name, suggestion, all);
}

static bool add_all(const Grouping *grouping, const char *name, const Topology *topology,
                    GPtrArray *groups, GError **error)
{
  if (g_strv_contains(layout_names, name)) {
    const Axes axes = axes_of(grouping, name, topology_n_gpus(topology));
    add_along(&axes, topology, groups);
  }
  for (guint i = 0; i < grouping->named->len; i++)
    if (strcmp(named_at(grouping, i)->name, name) == 0 &&
        !add_named(named_at(grouping, i), topology, groups, error))
      return false;
  if (groups->len == 0)
    refuse_name(grouping, name, error);
  return groups->len > 0;
}

GPtrArray *grouping_find(const Grouping *grouping, const char *text,
                         const Topology *topology, GError **error)
{
  g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func((GDestroyNotify)group_free);
  Selector selector;
  const bool good = selector_parse(text, &selector);
  g_autofree char *name = selector.name;

  if (!good) {
    refuse(error, "'%s': write NAME, or NAME[0] for the first of that name", text);
    return NULL;
  }
  if (!add_all(grouping, name, topology, groups, error))
    return NULL;
  if (!selector.one)
    return g_steal_pointer(&groups);
  if (selector.index >= groups->len) {
    refuse(error, "'%s': the groups called %s end at [%u]", text, name, groups->len - 1);
    return NULL;
  }
  GPtrArray *one = g_ptr_array_new_with_free_func((GDestroyNotify)group_free);
  g_ptr_array_add(one, g_ptr_array_steal_index(groups, selector.index));
  return one;
}
