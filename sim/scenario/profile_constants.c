#include "sim/scenario/profile_constants.h"

#include "models/fabric.h"
#include "models/network.h"
#include "models/setup.h"
#include "models/transport.h"

#include <string.h>

/* "kind:name" */
static const struct {
  const char *kind;
  const ModuleInfo *const *table;
} kinds[] = {
  { "strategy", strategy_table }, { "library", library_table },
  { "codec", codec_table },       { "transport", transport_table },
  { "fabric", fabric_table },     { "network topology", network_table },
};

/* The sections whose figures are of hardware and software, by their paths. */
static const struct {
  const char *path;
  const ParamSpec *params[3];
} sections[] = {
  { "cluster", { cluster_params } },
  { "cluster.nic", { nic_params } },
  { "cluster.node", { node_params } },
  { "cluster.node.gpu", { gpu_params } },
  { "workload.compute", { compute_params } },
  { "compression", { compression_params, compression_gpu_params, compression_cpu_params } },
};

typedef struct {
  const Documents *documents;
  Problems *problems;
  const cJSON *item; /* the constant */
  guint index;
} Place;

static void blame(const Place *place, const char *key, const char *cause)
{
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(place->item, key);
  g_autofree char *path = g_strdup_printf("constants[%u].%s", place->index, key);

  documents_blame(place->documents, place->problems, value == NULL ? place->item : value,
                  path, cause);
}

/* The rows of a constant's owner, of GPtrArray of ParamSpec; NULL after a problem. */
static GPtrArray *rows_new(const ParamSpec *params)
{
  GPtrArray *rows = g_ptr_array_new();

  for (; params != NULL && params->key != NULL; params++)
    g_ptr_array_add(rows, (void *)params);
  return rows;
}

static void blame_owner(const Place *place, const char *owner)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

  for (guint i = 0; i < G_N_ELEMENTS(sections); i++)
    g_ptr_array_add(names, g_strdup(sections[i].path));
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++)
    for (const ModuleInfo *const *info = kinds[k].table; *info != NULL; info++)
      g_ptr_array_add(names, g_strdup_printf("%s:%s", kinds[k].kind, (*info)->name));
  g_ptr_array_add(names, NULL);
  const char *nearest = registry_nearest((const char *const *)names->pdata, owner);
  g_autofree char *cause =
    nearest != NULL
      ? g_strdup_printf("unknown owner '%s'; did you mean '%s'?", owner, nearest)
      : g_strdup_printf("unknown owner '%s'; write a module, such as \"library:nccl\", or "
                        "a section, such as \"cluster.node.gpu\"",
                        owner);
  blame(place, "for", cause);
}

static GPtrArray *rows_of(const Place *place, const char *owner)
{
  for (guint i = 0; i < G_N_ELEMENTS(sections); i++) {
    if (strcmp(sections[i].path, owner) != 0)
      continue;
    GPtrArray *rows = rows_new(NULL);
    for (guint p = 0; p < G_N_ELEMENTS(sections[i].params); p++) {
      g_autoptr(GPtrArray) more = rows_new(sections[i].params[p]);
      g_ptr_array_extend(rows, more, NULL, NULL);
    }
    return rows;
  }
  const char *colon = strchr(owner, ':');
  for (guint k = 0; colon != NULL && k < G_N_ELEMENTS(kinds); k++)
    for (const ModuleInfo *const *info = kinds[k].table; *info != NULL; info++)
      if (strncmp(kinds[k].kind, owner, (gsize)(colon - owner)) == 0 &&
          kinds[k].kind[colon - owner] == '\0' && strcmp((*info)->name, colon + 1) == 0)
        return rows_new((*info)->params);
  blame_owner(place, owner);
  return NULL;
}

/* The row of @p key; NULL after a problem. */
static const ParamSpec *row_of(const Place *place, const GPtrArray *rows,
                               const ProfileConstant *constant)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new();

  for (guint i = 0; i < rows->len; i++) {
    const ParamSpec *spec = g_ptr_array_index(rows, i);
    if (strcmp(spec->key, constant->key) == 0)
      return spec;
    g_ptr_array_add(names, (void *)spec->key);
  }
  g_ptr_array_add(names, NULL);
  g_autofree char *suggestion =
    names->len == 1 ? g_strdup("; it has none")
                    : registry_suggestion((const char *const *)names->pdata, constant->key);
  g_autofree char *cause =
    g_strdup_printf("unknown key '%s' of %s%s", constant->key, constant->owner, suggestion);
  blame(place, "key", cause);
  return NULL;
}

/* A field of any type but a list. */
typedef union {
  double number;
  guint64 size_B;
  guint count;
  bool truth;
  char *text;
} Field;

/* As far as @p spec takes it. */
static bool check_text(const Place *place, const ParamSpec *spec, const char *key,
                       const char *text, Field *field)
{
  g_autoptr(GError) error = NULL;

  if (param_set(spec, field, text, &error))
    return true;
  blame(place, key, error->message);
  return false;
}

static bool is_real(const ParamSpec *spec)
{
  return spec->type == PARAM_NUMBER || spec->type == PARAM_SECONDS ||
         spec->type == PARAM_RATE || spec->type == PARAM_FLOPS ||
         spec->type == PARAM_FRACTION;
}

static void check_values(const Place *place, const ParamSpec *spec,
                         const ProfileConstant *constant)
{
  ParamSpec rows[] = { *spec, PARAM_END };
  Field value = { 0 }, low = { 0 }, high = { 0 };
  const bool has_interval = *constant->low != '\0' || *constant->high != '\0';

  if (spec->type == PARAM_LIST) {
    blame(place, "key", "a list is no constant");
    return;
  }
  rows[0].offset = 0;
  bool is_good = check_text(place, rows, "value", constant->value, &value);
  if (has_interval && is_real(spec)) {
    is_good = check_text(place, rows, "low", constant->low, &low) && is_good;
    is_good = check_text(place, rows, "high", constant->high, &high) && is_good;
    if (is_good && !(low.number <= value.number && value.number <= high.number))
      blame(place, "value", "expected low <= value <= high");
  } else if (has_interval) {
    blame(place, *constant->low != '\0' ? "low" : "high",
          "only a number that is measured has an interval");
  }
  param_clear(rows, &value);
}

/* "1.7": of our major version, or it would not have been read. */
static bool is_later(const cJSON *root)
{
  const char *text =
    cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "format_version"));
  const char *dot = text == NULL ? NULL : strchr(text, '.');

  return dot != NULL && g_ascii_strtoull(dot + 1, NULL, 10) > PROFILE_MINOR;
}

static void check_constant(const Place *place, const ProfileConstant *constant)
{
  g_autoptr(GPtrArray) rows = rows_of(place, constant->owner);
  const ParamSpec *spec = rows == NULL ? NULL : row_of(place, rows, constant);

  if (spec != NULL)
    check_values(place, spec, constant);
}

void profile_constants_check(Profile *profile, const cJSON *root,
                             const Documents *documents, Problems *problems)
{
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "constants");
  const bool is_tolerant = is_later(root);

  /* From the last, so that one that is passed over moves none that is to come. */
  for (guint i = profile->constants->len; i-- > 0;) {
    g_autoptr(Problems) unseen = problems_new();
    const Place place = { documents, is_tolerant ? unseen : problems,
                          cJSON_GetArrayItem(list, (int)i), i };
    check_constant(&place, g_ptr_array_index(profile->constants, i));
    if (problems_count(unseen) > 0)
      g_ptr_array_remove_index(profile->constants, i);
  }
}
