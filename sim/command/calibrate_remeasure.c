#include "sim/command/calibrate_remeasure.h"

#include "calibrate/backend/gpu.h"
#include "calibrate/backend/host.h"
#include "calibrate/interval.h"
#include "calibrate/report.h"
#include "calibrate/sweep.h"

#include "sim/base/param.h"
#include "sim/base/stats.h"

#include <math.h>
#include <string.h>

#define MAD_TO_SIGMA 1.4826

void findings_add(Findings *findings, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  g_string_append_vprintf(findings->out, format, args);
  va_end(args);
  g_string_append_c(findings->out, '\n');
  findings->n++;
}

/* Samples that were timed here, not read from logs. Borrowed ones. */
static GPtrArray *measured_samples(const Profile *profile)
{
  GPtrArray *samples = g_ptr_array_new();

  for (guint i = 0; i < profile->samples->len; i++) {
    Sample *sample = g_ptr_array_index(profile->samples, i);
    if (sample->source == SOURCE_MEASURED && !(sample->flags & SAMPLE_FAILED))
      g_ptr_array_add(samples, sample);
  }
  return samples;
}

/* Who made it; NULL with an error if that cannot be repeated. */
static const BackendOps *backend_of(const Profile *profile, GError **error)
{
  const BackendOps *const known[] = { &backend_host, &backend_gpu };

  for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
    g_autofree char *command = g_strdup_printf("calibrate %s", known[i]->info.name);
    if (strcmp(profile->command, command) == 0)
      return known[i];
  }
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "--remeasure: profile %s comes from %s%s%s, not from calibrate host or gpu: "
              "this machine has nothing to time again; --against compares it with another",
              profile->id, *profile->command == '\0' ? "" : "`",
              *profile->command == '\0' ? "elsewhere" : profile->command,
              *profile->command == '\0' ? "" : "`");
  return NULL;
}

/* The largest buffer that the samples need: a power of two, as the host's backend wants. */
static guint64 largest_B(const GPtrArray *samples, guint64 least_B, guint64 most_B)
{
  guint64 largest = least_B;

  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    while (sample->axis == SAMPLE_BYTES && (double)largest < sample->size &&
           largest < most_B)
      largest *= 2;
  }
  return largest;
}

/* Facts that say which machine it is, and those of its software; "" ends a list. A GPU's
 * begin with its number. */
static const char *const machine_facts[] = { "cpu_model", "name", "sms", "" };
static const char *const software_facts[] = { "kernel",       "cpu_kernels",
                                              "cuda_driver",  "nccl",
                                              "cublas",       "nvidia_driver",
                                              "cuda_runtime", "" };

static bool is_among(const char *const *names, const char *fact)
{
  while (**names != '\0' && !g_str_has_suffix(fact, *names))
    names++;
  return **names != '\0';
}

/* Another machine is a finding; other software is told, and the times must say. */
static void compare_facts(const Profile *profile, const GPtrArray *facts,
                          Findings *findings, GString *out)
{
  for (guint i = 0; i < facts->len; i++) {
    const BackendFact *now = g_ptr_array_index(facts, i);
    const char *before = report_fact(profile, now->name);
    if (before == NULL || strcmp(before, now->value) == 0)
      continue;
    if (is_among(software_facts, now->name))
      g_string_append_printf(out, "%s: was %s, is %s\n", now->name, before, now->value);
    else if (is_among(machine_facts, now->name))
      findings_add(findings, "another machine: %s was %s, is %s", now->name, before,
                   now->value);
  }
}

/* Timed again; NULL with an error if this machine has no such device.
 * @param facts  set to those of this machine; transfer: caller unrefs */
static GPtrArray *time_again(const BackendOps *ops, const GPtrArray *samples,
                             GPtrArray **facts, GError **error)
{
  SweepOptions sweep = SWEEP_QUICK;
  HostParams host = { 0 };
  GpuParams gpu = { 0 };

  sweep.like = samples;
  param_set_defaults(backend_host.info.params, &host);
  param_set_defaults(backend_gpu.info.params, &gpu);
  host.largest_B = largest_B(samples, 4096, (guint64)1 << 34);
  Backend *backend = ops->open(ops == &backend_host ? (const void *)&host : &gpu, error);
  GPtrArray *again = backend == NULL ? NULL : sweep_run(ops, backend, &sweep, error);

  if (again != NULL)
    *facts = ops->facts(backend);
  if (backend != NULL)
    ops->close(backend);
  param_clear(backend_gpu.info.params, &gpu);
  return again;
}

static const Sample *counterpart(const GPtrArray *samples, const Sample *again)
{
  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = g_ptr_array_index(samples, i);
    if (sample->size == again->size && sample_same_curve(sample, again))
      return sample;
  }
  return NULL;
}

/* How far apart two measurements of it may lie, as a share: passes, and repetitions. */
static double spread_of(const Sample *sample)
{
  return MAX(sample->run_spread,
             INTERVAL_SIGMAS * MAD_TO_SIGMA * sample->mad_s / sample->median_s);
}

/* A curve's sizes so far. */
typedef struct {
  GArray *ratios; /* new time to old */
  guint n_outside;
} Again;

static void add_size(Again *curve, const Sample *before, const Sample *now,
                     double tolerance)
{
  const double ratio = now->median_s / before->median_s;
  const double spread = MAX(spread_of(before), spread_of(now));

  g_array_append_val(curve->ratios, ratio);
  curve->n_outside += fabs(log(ratio)) > log1p(tolerance) + log1p(spread);
}

static void tell_curve(const Profile *profile, const Again *curve, const Sample *key,
                       Findings *findings, GString *out)
{
  const Law *law = report_law_of(profile, key);
  const char *name = law == NULL ? key->probe : law->id;
  const guint n = curve->ratios->len;
  double *ratios = (double *)(void *)curve->ratios->data;
  stats_sort(ratios, n);
  const double middle = stats_quantile(ratios, n, 0.5);

  g_string_append_printf(out, "%s: %.2f times as long (median of %u sizes), %u within\n",
                         name, middle, n, n - curve->n_outside);
  if (2 * curve->n_outside > n)
    findings_add(findings,
                 "%s: takes %.2f times as long now (median), %u of %u sizes beyond their "
                 "spread",
                 name, middle, curve->n_outside, n);
}

static guint compare(const Profile *profile, const GPtrArray *before,
                     const GPtrArray *again, double tolerance, Findings *findings,
                     GString *out)
{
  g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(double));
  Again curve = { .ratios = ratios };
  guint n = 0;

  for (guint i = 0; i < again->len; i++) {
    const Sample *now = g_ptr_array_index(again, i);
    const Sample *next = i + 1 < again->len ? g_ptr_array_index(again, i + 1) : NULL;
    const Sample *sample = counterpart(before, now);
    if (sample != NULL && !(now->flags & SAMPLE_FAILED)) {
      add_size(&curve, sample, now, tolerance);
      n++;
    }
    if ((next != NULL && sample_same_curve(now, next)) || ratios->len == 0)
      continue;
    tell_curve(profile, &curve, now, findings, out);
    g_array_set_size(ratios, 0);
    curve.n_outside = 0;
  }
  return n;
}

bool calibrate_remeasure(const Profile *profile, double tolerance, Findings *findings,
                         GString *out, GError **error)
{
  const BackendOps *ops = backend_of(profile, error);
  g_autoptr(GPtrArray) before = measured_samples(profile);
  g_autoptr(GPtrArray) facts = NULL;
  g_autoptr(GPtrArray) again = ops == NULL ? NULL : time_again(ops, before, &facts, error);

  if (again == NULL)
    return false;
  compare_facts(profile, facts, findings, out);
  const guint n = compare(profile, before, again, tolerance, findings, out);
  g_string_append_printf(out, "%u of %u times measured again\n", n, before->len);
  if (n == 0)
    findings_add(findings, "none of its times can be measured on this machine");
  return true;
}
