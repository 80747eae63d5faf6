/**
 * @file bind_calibration.c
 * @brief The profile that a scenario names, and the measured times in it.
 */
#include "sim/scenario/bind.h"
#include "sim/scenario/include.h"

#include <string.h>

/* What the scenario names, by what messages call it. Transfer: caller frees both. */
static char *read_text(const Binder *binder, const cJSON *item, char **path, gsize *length,
                       GError **error)
{
  const char *name = item->valuestring, *from = documents_file(binder->documents, item);

  if (!profile_file_is_name(name)) {
    *path = include_resolve(from == NULL ? binder->file : from, name);
    return include_read_part(*path, length, error);
  }
  const char *shipped = profile_file_shipped_text(name, "preset", length, error);
  *path = profile_file_shipped_path(name);
  return shipped == NULL ? NULL : g_strndup(shipped, *length);
}

Profile *bind_calibration_open(const Binder *binder, const Section *root)
{
  const cJSON *item = bind_member(root, "calibration");
  const char *name = cJSON_GetStringValue(item);
  g_autofree char *path = NULL;
  g_autoptr(GError) error = NULL;
  gsize length = 0;

  if (name == NULL || *name == '\0' || strcmp(name, "preset") == 0)
    return NULL;
  g_autofree char *text = read_text(binder, item, &path, &length, &error);
  if (text != NULL)
    return profile_file_bind(path, text, length, binder->documents, binder->problems);
  bind_blame(binder, root, "calibration", item, error->message);
  return NULL;
}

/* Is it a collective of that library, algorithm of its own choice? */
static bool is_curve_of(const Law *law, const char *library, CollKind *kind)
{
  const gsize length = strlen(library);

  return law->form == LAW_PIECEWISE && law->knots->len > 1 && law->key->ranks > 1 &&
         *law->key->algo == '\0' && strncmp(law->key->library, library, length) == 0 &&
         (law->key->library[length] == '\0' || law->key->library[length] == ' ') &&
         coll_kind_find(law->key->probe, kind, NULL);
}

/* Of curves of one shape the first: in place, as gradients are. */
static void add_curves(const Profile *profile, Setup *setup)
{
  for (guint i = 0; i < profile->laws->len; i++) {
    const Law *law = g_ptr_array_index(profile->laws, i);
    CollKind kind;
    if (!is_curve_of(law, setup->library->info.name, &kind) ||
        calibration_find(setup->curves, kind, law->key->nodes, law->key->ranks) != NULL)
      continue;
    CalibrationCurve curve = {
      .kind = kind,
      .n_nodes = law->key->nodes,
      .n_ranks = law->key->ranks,
      .knots = g_array_new(FALSE, FALSE, sizeof(CalibrationKnot)),
    };
    for (guint k = 0; k < law->knots->len; k++) {
      const LawKnot *knot = &g_array_index(law->knots, LawKnot, k);
      const CalibrationKnot copy = { knot->size, knot->time_s };
      g_array_append_val(curve.knots, copy);
    }
    g_array_append_val(setup->curves, curve);
  }
}

/* Say so where the cluster is one that was measured. */
static void note_curves(const Profile *profile, const Setup *setup)
{
  const guint n_nodes = setup->cluster.n_nodes;
  const guint n_ranks = n_nodes * setup->cluster.node.n_gpus;

  for (guint i = 0; i < setup->curves->len; i++) {
    const CalibrationCurve *curve = &g_array_index(setup->curves, CalibrationCurve, i);
    if (curve->n_nodes != n_nodes || curve->n_ranks != n_ranks)
      continue;
    g_autofree char *name = g_strdup_printf("calibration.%s", coll_kind_name(curve->kind));
    g_autofree char *value = g_strdup_printf("times of %u sizes", curve->knots->len);
    g_autofree char *source = g_strdup_printf("measured: profile %s, %u ranks on %u nodes",
                                              profile->id, n_ranks, n_nodes);
    const Constant constant = { .name = name, .value = value, .source = source };
    constants_add(setup->constants, &constant);
  }
}

void bind_calibration_curves(const Binder *binder, Setup *setup)
{
  add_curves(binder->profile, setup);
  note_curves(binder->profile, setup);
}
