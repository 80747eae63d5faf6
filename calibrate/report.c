#include "calibrate/report.h"

#include "sim/base/units.h"

#include <math.h>
#include <string.h>

enum { DIGITS = 4 };

static char *show_size(SampleAxis axis, double size)
{
  return axis == SAMPLE_BYTES ? units_show_bytes(size, DIGITS)
                              : g_strdup_printf("%.4g %s", size, sample_axis_name(axis));
}

static char *show_value(const char *name, double value)
{
  return g_str_has_suffix(name, "_s") && !g_str_has_suffix(name, "_per_s")
           ? units_show_seconds(value, DIGITS)
           : g_strdup_printf("%.4g", value);
}

static void append_estimate(GString *out, const char *name, const Estimate *estimate)
{
  g_autofree char *value = show_value(name, estimate->value);
  g_autofree char *low = show_value(name, estimate->low);
  g_autofree char *high = show_value(name, estimate->high);

  g_string_append_printf(out, "    %-16s %12s   95 %%: %s to %s\n", name, value, low, high);
}

/* The other way round: what a byte takes, as what passes in a second. */
static void append_rate(GString *out, const char *name, SampleAxis axis,
                        const Estimate *s_per_unit)
{
  const double rate[] = { 1 / s_per_unit->value, 1 / s_per_unit->high,
                          1 / s_per_unit->low };
  char *shown[3];

  if (!(s_per_unit->value > 0))
    return;
  for (guint i = 0; i < 3; i++)
    shown[i] = !isfinite(rate[i])     ? g_strdup("any")
               : axis == SAMPLE_BYTES ? units_show_rate(rate[i], DIGITS)
                                      : g_strdup_printf("%.4g/s", rate[i]);
  g_string_append_printf(out, "    %-16s %12s   95 %%: %s to %s\n", name, shown[0],
                         shown[1], shown[2]);
  for (guint i = 0; i < 3; i++)
    g_free(shown[i]);
}

static void append_segments(GString *out, const Law *law)
{
  for (guint i = 0; i < law->segments->len; i++) {
    const LawSegment *segment = &g_array_index(law->segments, LawSegment, i);
    g_autofree char *from = show_size(law->key->axis, segment->from);
    g_autofree char *to = show_size(law->key->axis, segment->to);
    g_string_append_printf(out, "  from %s to %s, %u points\n", from, to,
                           segment->n_points);
    append_estimate(out, "alpha_s", &segment->alpha_s);
    append_rate(out, "1 / beta", law->key->axis, &segment->s_per_unit);
  }
}

static void append_parameters(GString *out, const Law *law)
{
  for (guint i = 0; i < law->parameters->len; i++) {
    const LawParameter *parameter = &g_array_index(law->parameters, LawParameter, i);
    g_autofree char *rate = g_strconcat("1 / ", parameter->name, NULL);
    if (g_str_has_suffix(parameter->name, "_s_per_B") ||
        strcmp(parameter->name, "s_per_unit") == 0)
      append_rate(out, rate, law->key->axis, &parameter->estimate);
    else
      append_estimate(out, parameter->name, &parameter->estimate);
  }
}

static void append_percent(GString *out, const char *what, double share)
{
  if (isfinite(share))
    g_string_append_printf(out, ", %s %.1f %%", what, 100 * share);
}

static void append_quality(GString *out, const Law *law)
{
  g_string_append_printf(out, "  residuals: median %.1f %%", 100 * law->fit.median);
  append_percent(out, "rms", law->fit.rms);
  append_percent(out, "worst", law->fit.max);
  if (law->fit.n_outliers > 0)
    g_string_append_printf(out, ", %u outliers", law->fit.n_outliers);
  append_percent(out, "held-out sizes between knots", law->fit.cv_median);
  append_percent(out, "by the lines", law->fit.cv_rms);
  append_percent(out, "last four sizes", law->fit.cv_last_rms);
  g_string_append_c(out, '\n');
}

void report_laws(const Profile *profile, GString *out)
{
  for (guint i = 0; i < profile->laws->len; i++) {
    const Law *law = g_ptr_array_index(profile->laws, i);
    g_autofree char *from = show_size(law->key->axis, law->valid_from);
    g_autofree char *to = show_size(law->key->axis, law->valid_to);
    g_string_append_printf(out, "%s: %s, %s, %u points, %s to %s", law->id,
                           law_form_names[law->form], source_names[law->source],
                           law->fit.n_points, from, to);
    if (law->nodes_to > law->nodes_from)
      g_string_append_printf(out, ", %u to %u nodes", law->nodes_from, law->nodes_to);
    g_string_append_c(out, '\n');
    append_segments(out, law);
    append_parameters(out, law);
    append_quality(out, law);
  }
}

static bool same_shape(const Law *a, const Law *b)
{
  return a->form == b->form && a->key->ranks == b->key->ranks &&
         a->key->nodes == b->key->nodes && strcmp(a->key->probe, b->key->probe) == 0;
}

static bool is_first_of_shape(const Profile *profile, guint index)
{
  for (guint i = 0; i < index; i++)
    if (same_shape(g_ptr_array_index(profile->laws, i),
                   g_ptr_array_index(profile->laws, index)))
      return false;
  return true;
}

static void append_shape(const Law *law, GString *out)
{
  g_autofree char *from = show_size(law->key->axis, law->valid_from);
  g_autofree char *to = show_size(law->key->axis, law->valid_to);
  const guint ranks = law->key->ranks, nodes = MAX(law->key->nodes, 1);

  g_string_append_printf(out, "  %s", law->key->probe);
  if (law->form == LAW_HOPS)
    g_string_append_printf(out, " on %u to %u nodes", law->nodes_from, law->nodes_to);
  else if (ranks > 1 && ranks % nodes == 0)
    g_string_append_printf(out, " on %u node%s of %u", nodes, nodes == 1 ? "" : "s",
                           ranks / nodes);
  else if (ranks > 1)
    g_string_append_printf(out, " on %u ranks, %u node%s", ranks, nodes,
                           nodes == 1 ? "" : "s");
  g_string_append_printf(out, ": %s to %s\n", from, to);
}

void report_shapes(const Profile *profile, GString *out)
{
  for (guint i = 0; i < profile->laws->len; i++)
    if (is_first_of_shape(profile, i))
      append_shape(g_ptr_array_index(profile->laws, i), out);
}

const char *report_fact(const Profile *profile, const char *name)
{
  for (guint i = 0; i < profile->facts->len; i++) {
    const BackendFact *fact = g_ptr_array_index(profile->facts, i);
    if (strcmp(fact->name, name) == 0)
      return fact->value;
  }
  return NULL;
}

void report_constants(const Profile *profile, GString *out)
{
  for (guint i = 0; i < profile->constants->len; i++) {
    const ProfileConstant *constant = g_ptr_array_index(profile->constants, i);
    g_string_append_printf(out, "%s %s = %s", constant->owner, constant->key,
                           constant->value);
    if (*constant->low != '\0')
      g_string_append_printf(out, " (%s to %s)", constant->low, constant->high);
    g_string_append_printf(out, ", %s%s%s\n", source_names[constant->source],
                           *constant->from == '\0' ? "" : ": ", constant->from);
  }
}

void report_provenance(const Profile *profile, GString *out)
{
  g_string_append_printf(out, "profile %s: stepcast %s, %s, %u samples, %u models\n",
                         profile->id, profile->tool_version,
                         *profile->created_utc == '\0' ? "no date" : profile->created_utc,
                         profile->samples->len, profile->laws->len);
  for (guint i = 0; i < profile->facts->len; i++) {
    const BackendFact *fact = g_ptr_array_index(profile->facts, i);
    g_string_append_printf(out, "  %s: %s\n", fact->name, fact->value);
  }
  for (guint i = 0; i < profile->inputs->len; i++) {
    const ProfileInput *input = g_ptr_array_index(profile->inputs, i);
    g_string_append_printf(out, "  from %s (%s): %u samples\n", input->path, input->kind,
                           input->n_samples);
  }
  for (guint i = 0; i < profile->warnings->len; i++)
    g_string_append_printf(out, "  warning: %s\n",
                           (const char *)g_ptr_array_index(profile->warnings, i));
}

const Law *report_law_of(const Profile *profile, const Sample *sample)
{
  for (guint i = 0; i < profile->laws->len; i++) {
    const Law *law = g_ptr_array_index(profile->laws, i);
    if (law->form != LAW_HOPS && sample_same_curve(law->key, sample))
      return law;
  }
  return NULL;
}

static void append_number(GString *out, double number)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_c(out, ',');
  g_string_append(out, g_ascii_formatd(text, sizeof text, "%.9g", number));
}

void report_residuals(const Profile *profile, GString *out)
{
  g_string_append(out, "model,ranks,nodes,size,measured_s,law_s,residual\n");
  for (guint i = 0; i < profile->samples->len; i++) {
    const Sample *sample = g_ptr_array_index(profile->samples, i);
    const Law *law = report_law_of(profile, sample);
    if (law == NULL || (sample->flags & SAMPLE_FAILED))
      continue;
    const double law_s = law_formula_s(law, sample->size, sample->ranks, sample->nodes);
    g_string_append_printf(out, "\"%s\",%u,%u", law->id, sample->ranks, sample->nodes);
    append_number(out, sample->size);
    append_number(out, sample->median_s);
    append_number(out, law_s);
    append_number(out, law_s / sample->median_s - 1);
    g_string_append_c(out, '\n');
  }
}
