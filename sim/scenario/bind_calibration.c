/**
 * @file bind_calibration.c
 * @brief The profile that a scenario names, and the measured times in it.
 */
#include "calibrate/fit.h"
#include "calibrate/interval.h"
#include "models/topology.h"
#include "models/transfer.h"
#include "sim/base/rng.h"
#include "sim/base/units.h"
#include "sim/scenario/bind.h"
#include "sim/scenario/include.h"

#include <math.h>
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

  if (name != NULL && *name == '\0')
    bind_blame(binder, root, "calibration", item,
               "a profile's name or file is missing; \"preset\" takes none");
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

/* How much longer than the curve everything takes in this replica: log-normal, by the
 * scatter of single times. One machine and one day are slow or quick as a whole. */
static double draw(const Binder *binder, const CalibrationCurve *curve)
{
  if (binder->replica == 0 || !(curve->scatter > 0))
    return 1;
  g_autofree char *name =
    g_strdup_printf("calibration %s of %u ranks on %u nodes", coll_kind_name(curve->kind),
                    curve->n_ranks, curve->n_nodes);
  g_autoptr(Rng) rng = rng_stream(rng_hash(binder->seed, binder->replica, 0), name);
  return exp(rng_max_normal(rng, 1) * curve->scatter);
}

/* The times of a curve as they were measured, a knot for each size: libraries do take less
 * time for more where they change their way, though the laws are made monotone. Transfer:
 * caller unrefs. */
static GArray *measured_knots(const Profile *profile, const Sample *key)
{
  g_autoptr(GPtrArray) samples = g_ptr_array_new();
  GArray *knots = g_array_new(FALSE, FALSE, sizeof(CalibrationKnot));

  for (guint i = 0; i < profile->samples->len; i++)
    if (sample_same_curve(key, g_ptr_array_index(profile->samples, i)))
      g_ptr_array_add(samples, g_ptr_array_index(profile->samples, i));
  g_autoptr(GArray) points = fit_points(samples);
  const LawKnot *point = (const LawKnot *)(void *)points->data;
  for (guint first = 0, next = 0; first < points->len; first = next) {
    while (next < points->len && point[next].size == point[first].size)
      next++;
    const CalibrationKnot knot = { point[first].size,
                                   point[(first + next - 1) / 2].time_s };
    if (knot.size_B > 0)
      g_array_append_val(knots, knot);
  }
  return knots;
}

/* Of a profile without samples. */
static GArray *law_knots(const Law *law)
{
  GArray *knots = g_array_new(FALSE, FALSE, sizeof(CalibrationKnot));

  for (guint k = 0; k < law->knots->len; k++) {
    const LawKnot *knot = &g_array_index(law->knots, LawKnot, k);
    const CalibrationKnot copy = { knot->size, knot->time_s };
    g_array_append_val(knots, copy);
  }
  return knots;
}

/* In place and out of place take about as long: one that takes half as long again met
 * something else. */
static void drop_wild(GArray *knots, const GArray *others)
{
  static const double wild_ratio = 1.5;

  for (guint i = 0, j = 0; i < knots->len; i++) {
    CalibrationKnot *knot = &g_array_index(knots, CalibrationKnot, i);
    while (j < others->len &&
           g_array_index(others, CalibrationKnot, j).size_B < knot->size_B)
      j++;
    if (j == others->len)
      return;
    const CalibrationKnot *other = &g_array_index(others, CalibrationKnot, j);
    if (other->size_B == knot->size_B && knot->time_s > wild_ratio * other->time_s)
      knot->time_s = other->time_s;
  }
}

/* What tells in place from out of place in logs. */
static const char *const variants[] = { "in_place", "out_of_place" };

static GArray *knots_of(const Profile *profile, const Law *law)
{
  GArray *knots = measured_knots(profile, law->key);

  if (knots->len < 2) {
    g_array_unref(knots);
    return law_knots(law);
  }
  for (guint i = 0; i < G_N_ELEMENTS(variants); i++) {
    if (strcmp(law->key->variant, variants[i]) != 0)
      continue;
    g_autoptr(Sample) key = sample_copy(law->key);
    sample_set(&key->variant, variants[1 - i]);
    g_autoptr(GArray) others = measured_knots(profile, key);
    drop_wild(knots, others);
  }
  return knots;
}

static void add_curve(const Binder *binder, const Law *law, CollKind kind, Setup *setup)
{
  CalibrationCurve curve = {
    .kind = kind,
    .n_nodes = law->key->nodes,
    .n_ranks = law->key->ranks,
    .knots = knots_of(binder->profile, law),
    .scatter = interval_scatter(law),
    .by = source_names[law->source],
  };
  const double factor = draw(binder, &curve);

  for (guint k = 0; k < curve.knots->len; k++)
    g_array_index(curve.knots, CalibrationKnot, k).time_s *= factor;
  g_array_append_val(setup->curves, curve);
}

/* Of curves of one shape the first: in place, as gradients are. */
static void add_curves(const Binder *binder, Setup *setup)
{
  const GPtrArray *laws = binder->profile->laws;

  for (guint i = 0; i < laws->len; i++) {
    const Law *law = g_ptr_array_index(laws, i);
    CollKind kind;
    if (is_curve_of(law, setup->library->info.name, &kind) &&
        calibration_find(setup->curves, kind, law->key->nodes, law->key->ranks) == NULL)
      add_curve(binder, law, kind, setup);
  }
}

static void note_curve(const char *profile, const CalibrationCurve *curve, Setup *setup)
{
  const CalibrationKnot *knots = (const CalibrationKnot *)(void *)curve->knots->data;
  const double end = INTERVAL_SIGMAS * curve->scatter;
  g_autofree char *from = units_show_bytes(knots[0].size_B, 4);
  g_autofree char *to = units_show_bytes(knots[curve->knots->len - 1].size_B, 4);
  g_autofree char *name = g_strdup_printf("calibration.%s", coll_kind_name(curve->kind));
  g_autofree char *value =
    g_strdup_printf("times of %u sizes, %s to %s", curve->knots->len, from, to);
  g_autofree char *interval =
    curve->scatter > 0 ? g_strdup_printf(", 95 %%: -%.0f %% to +%.0f %%",
                                         100 * (1 - exp(-end)), 100 * (exp(end) - 1))
                       : g_strdup("");
  g_autofree char *source =
    g_strdup_printf("%s: profile %s, %u ranks on %u nodes%s", curve->by, profile,
                    curve->n_ranks, curve->n_nodes, interval);
  const Constant constant = { .name = name, .value = value, .source = source };

  constants_add(setup->constants, &constant);
}

/* May the network have as many nodes as were measured? */
static bool can_compare(const Setup *setup, const CalibrationCurve *curve)
{
  ClusterSpec cluster = setup_cluster(setup);

  cluster = transfer_cluster(&cluster, curve);
  g_autoptr(Topology) topology = topology_new(&cluster, NULL);
  return topology != NULL;
}

/* Say so where only other numbers of nodes were measured: once for each collective. */
static void note_transfers(const char *profile, CollKind kind, Setup *setup)
{
  const ClusterSpec *cluster = &setup->cluster;
  const guint n_nodes = cluster->n_nodes, n_gpus = cluster->node.n_gpus;
  g_autoptr(GString) nodes = g_string_new(NULL);

  if (cluster_n_kinds(cluster) > 1 ||
      calibration_find(setup->curves, kind, n_nodes, n_nodes * n_gpus) != NULL)
    return;
  for (guint i = 0; i < setup->curves->len; i++) {
    const CalibrationCurve *curve = &g_array_index(setup->curves, CalibrationCurve, i);
    if (transfer_tells(curve, kind, n_nodes, n_gpus) && can_compare(setup, curve))
      g_string_append_printf(nodes, "%s%u", nodes->len > 0 ? ", " : "", curve->n_nodes);
  }
  if (nodes->len == 0)
    return;
  g_autofree char *name = g_strdup_printf("calibration.%s", coll_kind_name(kind));
  g_autofree char *value = g_strdup_printf("times of %s nodes", nodes->str);
  g_autofree char *source = g_strdup_printf(
    "extrapolated: profile %s, so far as the model tells how %u nodes differ", profile,
    n_nodes);
  const Constant constant = { .name = name, .value = value, .source = source };
  constants_add(setup->constants, &constant);
}

/* Is anything taken from it? Constants say where they come from. */
static bool is_idle(const Profile *profile, const Setup *setup)
{
  g_autofree char *words = g_strdup_printf(": profile %s", profile->id);

  for (guint i = 0; i < setup->constants->len; i++) {
    const char *said = strstr(g_array_index(setup->constants, Constant, i).source, words);
    if (said != NULL && (said[strlen(words)] == ',' || said[strlen(words)] == '\0'))
      return false;
  }
  return true;
}

void bind_calibration_curves(const Binder *binder, Setup *setup)
{
  const guint n_nodes = setup->cluster.n_nodes;
  const guint n_ranks = n_nodes * setup->cluster.node.n_gpus;

  add_curves(binder, setup);
  /* Told where the cluster is one that was measured. */
  for (guint i = 0; i < setup->curves->len; i++) {
    const CalibrationCurve *curve = &g_array_index(setup->curves, CalibrationCurve, i);
    if (curve->n_nodes == n_nodes && curve->n_ranks == n_ranks)
      note_curve(binder->profile->id, curve, setup);
  }
  for (guint kind = COLL_ALL_REDUCE; kind <= COLL_SEND_RECV; kind <<= 1)
    note_transfers(binder->profile->id, (CollKind)kind, setup);
  if (is_idle(binder->profile, setup))
    setup->idle_profile = g_strdup(binder->profile->id);
}
