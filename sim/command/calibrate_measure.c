/* What every subcommand that measures does: sweep, report, write. */
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

bool calibrate_check_outputs(char *const *outputs, GError **error)
{
  for (char *const *path = outputs; path != NULL && *path != NULL; path++)
    if (!g_str_has_suffix(*path, ".csv")) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "calibrate: -o %s: wants .csv", *path);
      return false;
    }
  return true;
}

bool calibrate_write_samples(char *const *outputs, const GPtrArray *samples, GError **error)
{
  g_autoptr(GString) csv = g_string_new(NULL);

  sample_write_csv(samples, csv);
  for (char *const *path = outputs; path != NULL && *path != NULL; path++)
    if (!g_file_set_contents(*path, csv->str, (gssize)csv->len, error))
      return false;
  return true;
}

bool calibrate_measure(const BackendOps *ops, const void *params,
                       const CalibrateOptions *options, GString *out, GError **error)
{
  g_auto(GStrv) only = options->only == NULL ? NULL : g_strsplit(options->only, ",", -1);
  const gint64 limit_us = (gint64)(options->time_limit_s * 1e6);
  Watch watch = { .is_quiet = options->quiet,
                  .end_us = limit_us > 0 ? g_get_monotonic_time() + limit_us : 0 };
  SweepOptions sweep = SWEEP_DEFAULTS;

  if (!calibrate_check_outputs(options->outputs, error))
    return false;
  sweep.only = (const char *const *)only;
  sweep.progress = report;
  sweep.data = &watch;
  if (options->quick) {
    sweep.n_passes = 1;
    sweep.n_min = 5;
    sweep.n_max = 50;
    sweep.cell_s = 0.1;
  }
  Backend *backend = ops->open(params, error);
  if (backend == NULL)
    return false;
  g_autoptr(GPtrArray) samples = sweep_run(ops, backend, &sweep, error);
  ops->close(backend);
  if (samples != NULL && options->more != NULL &&
      !options->more(samples, &sweep, options->more_data, error))
    return false;
  if (samples == NULL || !calibrate_write_samples(options->outputs, samples, error))
    return false;
  if (!options->quiet)
    calibrate_append_samples(samples, out);
  return true;
}
