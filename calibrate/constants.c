/**
 * @file constants.c
 * @brief The constants of forecasts that laws and single times support.
 *
 * A row names a probe and the key of a scenario whose default it measures. A rate is that
 * of the largest sizes, a time that of the smallest; the interval is the law's own, or the
 * spread of the repetitions.
 */
#include "calibrate/profile.h"

#include "sim/base/units.h"

#include <math.h>
#include <string.h>

/* An interval whose ends differ by more says nothing: no constant comes from it. */
#define WIDEST 10.0
#define DIGITS 6

/* Median absolute deviation to standard deviation, and that to 95 %, both of a normal. */
#define MAD_TO_SIGMA 1.4826
#define SIGMAS 1.96

typedef enum {
  RATE_OF_LARGE, /* of the last segment or line [B/s] */
  TIME_OF_SMALL, /* at the smallest size [s] */
  TIME_OF_ONE,   /* of the only sample [s] */
  PEAK_REACHED,  /* at the largest size of a saturation [FLOP/s] */
  SMS_TAKEN,     /* by each block of another kernel, of a contention */
} Reading;

typedef struct {
  const char *probe, *library, *algo, *place, *dtype, *regime, *variant; /* "": whichever */
  Reading reading;
  double factor; /* from the law's rate to the key's */
  const char *owner, *key;
} Use;

#define GEMM(type)                                                                         \
  {                                                                                        \
    "gemm", "", "", "gpu", type, "", "square", PEAK_REACHED, 1, "cluster.node.gpu",        \
      "gemm_" type                                                                         \
  }

// clang-format off
static const Use uses[] = {
  { "memcpy", "", "", "cpu", "", "cold", "", RATE_OF_LARGE, 1, "transport:tcp", "copy_rate" },
  { "memcpy", "", "", "cpu", "", "cold", "", RATE_OF_LARGE, 1, "transport:rdma", "copy_rate" },
  { "reduce", "", "", "cpu", "", "cold", "", RATE_OF_LARGE, 1, "strategy:byteps",
    "server_sum_rate" },
  /* Signs take two passes to encode, and the key is the rate of one. */
  { "onebit_encode", "", "", "cpu", "", "cold", "", RATE_OF_LARGE, 2, "compression",
    "cpu_rate" },
  { "p2p_latency", "perftest", "", "net", "", "", "", TIME_OF_SMALL, 1, "transport:rdma",
    "latency" },
  { "launch", "", "", "gpu", "", "", "stream", TIME_OF_ONE, 1, "compression",
    "kernel_launch" },
  /* What is copied is read and written. */
  { "d2d", "", "", "gpu", "", "cold", "kernel", RATE_OF_LARGE, 2, "cluster.node.gpu",
    "kernel_bandwidth" },
  GEMM("fp32"), GEMM("tf32"), GEMM("fp16"), GEMM("bf16"),
  { "contention", "", "gemm", "gpu", "", "", "with=paced pace=2GBps_each", SMS_TAKEN, 1,
    "workload.compute", "sms_per_channel" },
};
// clang-format on

static bool is_like(const char *wanted, const char *found)
{
  return *wanted == '\0' || strcmp(wanted, found) == 0;
}

static bool matches(const Use *use, const Sample *key)
{
  return strcmp(use->probe, key->probe) == 0 && strcmp(use->place, key->place) == 0 &&
         is_like(use->library, key->library) && is_like(use->algo, key->algo) &&
         is_like(use->dtype, key->dtype) && is_like(use->regime, key->regime) &&
         is_like(use->variant, key->variant);
}

/* Seconds per unit of the largest sizes; NULL if the form has none. */
static const Estimate *slope_of(const Law *law)
{
  if (law->form == LAW_PIECEWISE && law->segments->len > 0)
    return &g_array_index(law->segments, LawSegment, law->segments->len - 1).s_per_unit;
  return law_parameter(law, "s_per_unit");
}

static bool rate_of(const Law *law, double factor, Estimate *rate)
{
  const Estimate *slope = slope_of(law);

  if (slope == NULL || !(slope->value > 0) || !(slope->low > 0))
    return false;
  *rate = (Estimate){ factor / slope->value, factor / slope->high, factor / slope->low };
  return true;
}

/* Time of the smallest sizes; the interval of the first segment's start. */
static bool time_of(const Law *law, Estimate *time)
{
  if (law->form != LAW_PIECEWISE || law->segments->len == 0)
    return false;
  const LawSegment *first = &g_array_index(law->segments, LawSegment, 0);
  const double middle_s = law_time_s(law, law->valid_from, 0, 0);
  *time = (Estimate){ middle_s, middle_s + first->alpha_s.low - first->alpha_s.value,
                      middle_s + first->alpha_s.high - first->alpha_s.value };
  return true;
}

/* At the largest size, as far below the asymptote as the law says; the interval is the
 * asymptote's. */
static bool peak_of(const Law *law, Estimate *peak)
{
  const Estimate *most = law_parameter(law, "peak_per_s");

  if (most == NULL || !(most->value > 0))
    return false;
  const double reached = law->valid_to / law_formula_s(law, law->valid_to, 0, 0);
  *peak = (Estimate){ reached, reached * most->low / most->value,
                      reached * most->high / most->value };
  return true;
}

/* 0 if the profile does not say. */
static double sms_of(const Profile *profile)
{
  for (guint i = 0; i < profile->facts->len; i++) {
    const BackendFact *fact = g_ptr_array_index(profile->facts, i);
    if (strcmp(fact->name, "gpu0_sms") == 0)
      return g_ascii_strtod(fact->value, NULL);
  }
  return 0;
}

static bool sms_taken(const Profile *profile, const Law *law, Estimate *sms)
{
  const Estimate *share = law_parameter(law, "share_per_unit");
  const double n_sms = sms_of(profile);

  if (share == NULL || !(n_sms > 0))
    return false;
  *sms = (Estimate){ n_sms * share->value, n_sms * share->low, n_sms * share->high };
  return true;
}

static bool read_law(const Profile *profile, const Use *use, const Law *law,
                     Estimate *estimate)
{
  switch (use->reading) {
  case RATE_OF_LARGE:
    return rate_of(law, use->factor, estimate);
  case TIME_OF_SMALL:
    return time_of(law, estimate);
  case PEAK_REACHED:
    return peak_of(law, estimate);
  case SMS_TAKEN:
    return sms_taken(profile, law, estimate);
  case TIME_OF_ONE:
    return false;
  }
  g_return_val_if_reached(false);
}

static bool is_usable(const Estimate *estimate)
{
  return isfinite(estimate->high) && estimate->low > 0 && estimate->value > 0 &&
         estimate->high <= WIDEST * estimate->low;
}

static char *show(const Use *use, double value)
{
  switch (use->reading) {
  case RATE_OF_LARGE:
    return units_show_rate(value, DIGITS);
  case TIME_OF_SMALL:
  case TIME_OF_ONE:
    return units_show_seconds(value, DIGITS);
  case PEAK_REACHED:
    return units_show_flops(value, DIGITS);
  case SMS_TAKEN:
    return units_format_number(value);
  }
  g_return_val_if_reached(NULL);
}

static bool is_told(const Profile *profile, const Use *use)
{
  for (guint i = 0; i < profile->constants->len; i++) {
    const ProfileConstant *constant = g_ptr_array_index(profile->constants, i);
    if (strcmp(constant->owner, use->owner) == 0 && strcmp(constant->key, use->key) == 0)
      return true;
  }
  return false;
}

static void add(Profile *profile, const Use *use, const Estimate *estimate, Source source,
                const char *from)
{
  g_autofree char *value = show(use, estimate->value);
  g_autofree char *low = show(use, estimate->low);
  g_autofree char *high = show(use, estimate->high);
  const ProfileConstant constant = { .owner = (char *)use->owner,
                                     .key = (char *)use->key,
                                     .value = value,
                                     .low = low,
                                     .high = high,
                                     .source = source,
                                     .from = (char *)from };

  profile_add_constant(profile, &constant);
}

/* The first law of a use that tells it well enough. */
static void derive_from_laws(Profile *profile, const Use *use)
{
  for (guint i = 0; i < profile->laws->len && !is_told(profile, use); i++) {
    const Law *law = g_ptr_array_index(profile->laws, i);
    Estimate estimate;
    if (matches(use, law->key) && read_law(profile, use, law, &estimate) &&
        is_usable(&estimate))
      add(profile, use, &estimate, law->source, law->id);
  }
}

/* The interval is of the repetitions: how long one launch takes, not how long the mean of
 * many does. */
static void derive_from_samples(Profile *profile, const Use *use)
{
  for (guint i = 0; i < profile->samples->len && !is_told(profile, use); i++) {
    const Sample *sample = g_ptr_array_index(profile->samples, i);
    const double half_s = SIGMAS * MAD_TO_SIGMA * sample->mad_s;
    const Estimate estimate = { sample->median_s, sample->median_s - half_s,
                                sample->median_s + half_s };
    if (matches(use, sample) && !(sample->flags & SAMPLE_FAILED) && is_usable(&estimate))
      add(profile, use, &estimate, sample->source, "");
  }
}

void profile_derive_constants(Profile *profile)
{
  for (guint u = 0; u < G_N_ELEMENTS(uses); u++)
    if (uses[u].reading == TIME_OF_ONE)
      derive_from_samples(profile, &uses[u]);
    else
      derive_from_laws(profile, &uses[u]);
}
