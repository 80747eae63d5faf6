/* calibrate check: may a forecast stand on this profile? */
#include "sim/base/units.h"
#include "sim/command/calibrate.h"
#include "sim/command/calibrate_remeasure.h"
#include "sim/scenario/profile_file.h"

#include <math.h>
#include <string.h>

/* A law that misses half of its own points by more is none. */
static const double most_residual = 0.2;
/* An interval whose ends differ by more says nothing. */
static const double most_interval = 4;

typedef struct {
  char *against, *peak;
  double tolerance; /* percent */
  int max_age;      /* days */
  int remeasure;    /* GLib's truth */
} CheckCommand;

static void check_command_clear(CheckCommand *command)
{
  g_free(command->against);
  g_free(command->peak);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CheckCommand, check_command_clear)

static void check_estimate(Findings *findings, const Law *law, const char *name,
                           const Estimate *estimate)
{
  if (estimate->low > 0 && estimate->high > most_interval * estimate->low)
    findings_add(findings, "%s: %s lies anywhere from %.3g to %.3g", law->id, name,
                 estimate->low, estimate->high);
}

static void check_knots(Findings *findings, const Law *law)
{
  for (guint i = 1; i < law->knots->len; i++) {
    const LawKnot *knot = &g_array_index(law->knots, LawKnot, i);
    if (knot->time_s < g_array_index(law->knots, LawKnot, i - 1).time_s) {
      findings_add(findings, "%s: %.6g %s take less time than fewer", law->id, knot->size,
                   sample_axis_name(law->key->axis));
      return;
    }
  }
}

/* Nothing carries more than its link. */
static void check_peak(Findings *findings, const Law *law, double peak_Bps)
{
  for (guint i = 0; i < law->segments->len; i++) {
    const LawSegment *segment = &g_array_index(law->segments, LawSegment, i);
    if (law->key->axis == SAMPLE_BYTES && segment->s_per_unit.value > 0 &&
        1 / segment->s_per_unit.high > peak_Bps) {
      g_autofree char *rate = units_show_rate(1 / segment->s_per_unit.value, 4);
      findings_add(findings, "%s: %s is beyond the peak of the link", law->id, rate);
    }
  }
}

static void check_law(Findings *findings, const Law *law, double peak_Bps)
{
  if (law->fit.median > most_residual)
    findings_add(findings, "%s: half of its points are off by more than %.0f %%", law->id,
                 100 * law->fit.median);
  for (guint i = 0; i < law->parameters->len; i++) {
    const LawParameter *parameter = &g_array_index(law->parameters, LawParameter, i);
    check_estimate(findings, law, parameter->name, &parameter->estimate);
  }
  check_knots(findings, law);
  check_peak(findings, law, peak_Bps);
}

/* What was never timed is no sample. */
static void check_samples(Findings *findings, const Profile *profile)
{
  for (guint i = 0; i < profile->samples->len; i++) {
    const Sample *sample = g_ptr_array_index(profile->samples, i);
    if (sample->n == 0 && !(sample->flags & SAMPLE_FAILED))
      findings_add(findings, "samples[%u]: %s at %.6g %s: of no repetition", i,
                   sample->probe, sample->size, sample_axis_name(sample->axis));
  }
}

static void check_age(Findings *findings, const Profile *profile, int max_days)
{
  if (*profile->created_utc == '\0')
    return;
  g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
  g_autoptr(GDateTime) created = g_date_time_new_from_iso8601(profile->created_utc, utc);
  g_autoptr(GDateTime) now = g_date_time_new_now_utc();
  if (created == NULL) {
    findings_add(findings, "created_utc: %s is no date", profile->created_utc);
    return;
  }
  const double days = (double)g_date_time_difference(now, created) / G_TIME_SPAN_DAY;
  if (days > max_days)
    findings_add(findings,
                 "it is %.0f days old: drivers and libraries change; measure again", days);
  if (days < -1)
    findings_add(findings, "created_utc: %s is yet to come", profile->created_utc);
}

static const Law *same_law(const Profile *profile, const Law *law)
{
  for (guint i = 0; i < profile->laws->len; i++) {
    const Law *other = g_ptr_array_index(profile->laws, i);
    if (strcmp(other->id, law->id) == 0 && other->form == law->form)
      return other;
  }
  return NULL;
}

static int compare_numbers(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Median relative difference at the knots of @p law that both have measured. */
static double difference(const Law *law, const Law *other)
{
  g_autoptr(GArray) off = g_array_new(FALSE, FALSE, sizeof(double));

  for (guint i = 0; i < law->knots->len; i++) {
    const LawKnot *knot = &g_array_index(law->knots, LawKnot, i);
    if (knot->size < other->valid_from || knot->size > other->valid_to)
      continue;
    const double share = fabs(law_time_s(other, knot->size, 0, 0) / knot->time_s - 1);
    g_array_append_val(off, share);
  }
  g_array_sort(off, compare_numbers);
  return off->len == 0 ? NAN : g_array_index(off, double, off->len / 2);
}

static void compare(Findings *findings, const Profile *profile, const Profile *other,
                    double tolerance, GString *out)
{
  guint n_common = 0;

  for (guint i = 0; i < profile->laws->len; i++) {
    const Law *law = g_ptr_array_index(profile->laws, i);
    const Law *that = same_law(other, law);
    const double off = that == NULL ? NAN : difference(law, that);
    if (!isfinite(off))
      continue;
    n_common++;
    if (off > tolerance)
      findings_add(findings, "%s: differs by %.1f %% (median over sizes) from %s", law->id,
                   100 * off, other->id);
  }
  if (n_common == 0)
    findings_add(findings, "nothing that %s has measured too", other->id);
  else
    g_string_append_printf(out, "%u models in common with %s\n", n_common, other->id);
}

static bool parse_peak(const CheckCommand *command, double *peak_Bps, GError **error)
{
  g_autoptr(GError) cause = NULL;

  *peak_Bps = INFINITY;
  if (command->peak == NULL)
    return true;
  if (units_parse_rate(command->peak, peak_Bps, &cause) && *peak_Bps > 0)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "calibrate check: --peak: %s",
              cause == NULL ? "a link carries more than 0" : cause->message);
  return false;
}

static bool judge(const CheckCommand *command, const char *path, const Profile *profile,
                  GString *out, GError **error)
{
  g_autoptr(GString) text = g_string_new(NULL);
  Findings findings = { .out = text };
  double peak_Bps;

  if (!parse_peak(command, &peak_Bps, error))
    return false;
  for (guint i = 0; i < profile->laws->len; i++)
    check_law(&findings, g_ptr_array_index(profile->laws, i), peak_Bps);
  check_samples(&findings, profile);
  check_age(&findings, profile, command->max_age);
  if (command->against != NULL) {
    g_autoptr(Profile) other = profile_file_load(command->against, error);
    if (other == NULL)
      return false;
    compare(&findings, profile, other, command->tolerance / 100, out);
  }
  if (command->remeasure &&
      !calibrate_remeasure(profile, command->tolerance / 100, &findings, out, error))
    return false;
  if (findings.n == 0) {
    g_string_append_printf(out, "%s: good, %u samples, %u models, %u constants\n", path,
                           profile->samples->len, profile->laws->len,
                           profile->constants->len);
    return true;
  }
  g_string_truncate(text, text->len - 1);
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "%s: %u findings\n%s", path, findings.n,
              text->str);
  return false;
}

static bool check_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(CheckCommand) command = { .tolerance = 10, .max_age = 365 };
  bool is_done = false;
  const GOptionEntry entries[] = {
    { "against", 0, 0, G_OPTION_ARG_FILENAME, &command.against,
      "laws that both have must agree", "PROFILE" },
    { "tolerance", 0, 0, G_OPTION_ARG_DOUBLE, &command.tolerance,
      "within so many percent (10)", "PERCENT" },
    { "remeasure", 0, 0, G_OPTION_ARG_NONE, &command.remeasure,
      "time again what this machine can, and compare", NULL },
    { "peak", 0, 0, G_OPTION_ARG_STRING, &command.peak,
      "of the link: no law may carry more", "RATE" },
    { "max-age", 0, 0, G_OPTION_ARG_INT, &command.max_age, "no older than this (365)",
      "DAYS" },
    G_OPTION_ENTRY_NULL,
  };

  if (!options_parse(&calibrate_check, entries, &argc, &argv, out, &is_done, error) ||
      is_done)
    return is_done;
  if (!options_check_count(&calibrate_check, argc, 1, 1, "one PROFILE", error))
    return false;
  if (!(command.tolerance >= 0) || command.max_age < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "calibrate check: --tolerance and --max-age want 0 or more");
    return false;
  }
  g_autoptr(Profile) profile = profile_file_load(argv[1], error);
  return profile != NULL && judge(&command, argv[1], profile, out, error);
}

const Command calibrate_check = {
  .name = "calibrate check",
  .summary = "may a forecast stand on this profile? schema, physics, age",
  .usage = "PROFILE [--against PROFILE] [--remeasure]",
  .run = check_run,
};
