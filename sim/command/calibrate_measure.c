/* What every subcommand that measures does: sweep, report, write. */
#include "calibrate/report.h"

#include "sim/base/units.h"
#include "sim/command/calibrate.h"

#include <string.h>

void calibrate_options_clear(CalibrateOptions *options)
{
  g_free(options->only);
  g_strfreev(options->outputs);
}

typedef struct {
  bool is_quiet;
  gint64 end_us; /* of the monotonic clock; 0: none */
} Watch;

/* A line for each tenth is enough, and one for each cell that fails. */
static void tell(guint n_done, guint n_visits, const Sample *cell, const GError *error)
{
  if (error != NULL) {
    g_autofree char *line = g_strdup_printf("%s at %g %s: %s\n", cell->probe, cell->size,
                                            sample_axis_name(cell->axis), error->message);
    command_say(line);
  }
  if (n_done * 10 / n_visits != (n_done - 1) * 10 / n_visits) {
    g_autofree char *line = g_strdup_printf("measured %u of %u cells\n", n_done, n_visits);
    command_say(line);
  }
}

static bool report(guint n_done, guint n_visits, const Sample *cell, const GError *error,
                   void *data)
{
  const Watch *watch = data;
  const bool is_late = watch->end_us != 0 && g_get_monotonic_time() > watch->end_us;

  if (!watch->is_quiet)
    tell(n_done, n_visits, cell, error);
  if (is_late && n_done < n_visits && !watch->is_quiet)
    command_say("the time limit was reached: the rest is left out\n");
  return !is_late;
}

static void append_title(const Sample *sample, GString *out)
{
  const char *const texts[] = { sample->probe,  sample->library, sample->algo,
                                sample->proto,  sample->dtype,   sample->place,
                                sample->regime, sample->variant };

  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    if (*texts[i] != '\0')
      g_string_append_printf(out, "%s%s", i == 0 ? "" : ", ", texts[i]);
  if (sample->ranks > 1)
    g_string_append_printf(out, ", %u ranks on %u node%s", sample->ranks, sample->nodes,
                           sample->nodes == 1 ? "" : "s");
  g_string_append_c(out, '\n');
}

static void append_row(const Sample *sample, GString *out)
{
  g_autofree char *flags = sample_flag_names(sample->flags, ", ");
  g_autofree char *size = sample->axis == SAMPLE_BYTES
                            ? units_show_bytes(sample->size, 4)
                            : g_strdup_printf("%.4g", sample->size);
  g_autofree char *time =
    sample->flags & SAMPLE_FAILED ? g_strdup("-") : units_show_seconds(sample->median_s, 4);
  const double mad = sample->median_s > 0 ? 100 * sample->mad_s / sample->median_s : 0;

  g_string_append_printf(out, "  %12s  %10s  MAD %4.1f %%  passes %4.1f %%  n %4u%s%s\n",
                         size, time, mad, 100 * sample->run_spread, sample->n,
                         *flags == '\0' ? "" : "  ", flags);
}

void calibrate_append_samples(const GPtrArray *samples, GString *out)
{
  const Sample *before = NULL;

  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    if (before == NULL || !sample_same_curve(before, sample))
      append_title(sample, out);
    append_row(sample, out);
    before = sample;
  }
}

/* The samples of a sweep, and who gave them. */
static Profile *measure(const BackendOps *ops, const void *params,
                        const CalibrateOptions *options, const SweepOptions *sweep,
                        GError **error)
{
  const FitOptions fit = FIT_DEFAULTS;
  g_autoptr(Profile) profile = calibrate_new_profile(options->outputs, ops->info.name);
  Backend *backend = ops->open(params, error);
  if (backend == NULL)
    return NULL;
  g_autoptr(GPtrArray) samples = sweep_run(ops, backend, sweep, error);
  g_autoptr(GPtrArray) facts = ops->facts == NULL ? NULL : ops->facts(backend);

  ops->close(backend);
  if (samples == NULL ||
      (options->more != NULL && !options->more(samples, sweep, options->more_data, error)))
    return NULL;
  g_free(profile->command);
  profile->command = g_strdup_printf("calibrate %s", ops->info.name);
  for (guint i = 0; facts != NULL && i < facts->len; i++) {
    const BackendFact *fact = g_ptr_array_index(facts, i);
    backend_facts_add(profile->facts, fact->name, fact->value);
  }
  profile_add_samples(profile, samples);
  profile_fit(profile, &fit);
  return g_steal_pointer(&profile);
}

bool calibrate_measure(const BackendOps *ops, const void *params,
                       const CalibrateOptions *options, GString *out, GError **error)
{
  g_auto(GStrv) only = options->only == NULL ? NULL : g_strsplit(options->only, ",", -1);
  const gint64 limit_us = (gint64)(options->time_limit_s * 1e6);
  Watch watch = { .is_quiet = options->quiet,
                  .end_us = limit_us > 0 ? g_get_monotonic_time() + limit_us : 0 };
  const SweepOptions whole = SWEEP_DEFAULTS, quick = SWEEP_QUICK;
  SweepOptions sweep = options->quick ? quick : whole;

  if (!calibrate_check_outputs(options->outputs, error))
    return false;
  sweep.only = (const char *const *)only;
  sweep.progress = report;
  sweep.data = &watch;
  g_autoptr(Profile) profile = measure(ops, params, options, &sweep, error);
  if (profile == NULL || !calibrate_write(options->outputs, profile, error))
    return false;
  if (!options->quiet) {
    calibrate_append_samples(profile->samples, out);
    report_laws(profile, out);
  }
  return true;
}
