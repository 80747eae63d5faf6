/**
 * @file constants.c
 * @brief The constants of forecasts that laws support.
 *
 * A row names a probe and the key of a scenario whose default it measures. A rate is that
 * of the largest sizes, a time that of the smallest; the interval is the law's own.
 */
#include "calibrate/profile.h"

#include "sim/base/units.h"

#include <math.h>
#include <string.h>

/* An interval whose ends differ by more says nothing: no constant comes from it. */
#define WIDEST 10.0
#define DIGITS 6

typedef enum { RATE_OF_LARGE, TIME_OF_SMALL } Reading;

typedef struct {
  const char *probe, *library, *place, *regime; /* "": whichever */
  Reading reading;
  double factor; /* from the law's rate to the key's */
  const char *owner, *key;
} Use;

static const Use uses[] = {
  { "memcpy", "", "cpu", "cold", RATE_OF_LARGE, 1, "transport:tcp", "copy_rate" },
  { "memcpy", "", "cpu", "cold", RATE_OF_LARGE, 1, "transport:rdma", "copy_rate" },
  { "reduce", "", "cpu", "cold", RATE_OF_LARGE, 1, "strategy:byteps", "server_sum_rate" },
  /* Signs take two passes to encode, and the key is the rate of one. */
  { "onebit_encode", "", "cpu", "cold", RATE_OF_LARGE, 2, "compression", "cpu_rate" },
  { "p2p_latency", "perftest", "net", "", TIME_OF_SMALL, 1, "transport:rdma", "latency" },
};

static bool matches(const Use *use, const Sample *key)
{
  return strcmp(use->probe, key->probe) == 0 && strcmp(use->place, key->place) == 0 &&
         (*use->library == '\0' || strcmp(use->library, key->library) == 0) &&
         (*use->regime == '\0' || strcmp(use->regime, key->regime) == 0);
}

/* Seconds per unit of the largest sizes; NULL if the form has none. */
static const Estimate *slope_of(const Law *law)
{
  if (law->form == LAW_PIECEWISE && law->segments->len > 0)
    return &g_array_index(law->segments, LawSegment, law->segments->len - 1).s_per_unit;
  return law_parameter(law, "s_per_unit");
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

static bool read_estimate(const Use *use, const Law *law, Estimate *estimate)
{
  if (use->reading == TIME_OF_SMALL)
    return time_of(law, estimate);
  const Estimate *slope = slope_of(law);
  if (slope == NULL || !(slope->value > 0) || !(slope->low > 0))
    return false;
  *estimate = (Estimate){ use->factor / slope->value, use->factor / slope->high,
                          use->factor / slope->low };
  return true;
}

static bool is_usable(const Estimate *estimate)
{
  return isfinite(estimate->high) && estimate->low > 0 && estimate->value > 0 &&
         estimate->high <= WIDEST * estimate->low;
}

static char *show(const Use *use, double value)
{
  return use->reading == TIME_OF_SMALL ? units_show_seconds(value, DIGITS)
                                       : units_show_rate(value, DIGITS);
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

static void add(Profile *profile, const Use *use, const Law *law, const Estimate *estimate)
{
  g_autofree char *value = show(use, estimate->value);
  g_autofree char *low = show(use, estimate->low);
  g_autofree char *high = show(use, estimate->high);
  const ProfileConstant constant = { .owner = (char *)use->owner,
                                     .key = (char *)use->key,
                                     .value = value,
                                     .low = low,
                                     .high = high,
                                     .source = law->source,
                                     .from = law->id };

  profile_add_constant(profile, &constant);
}

/* The first law of a use that tells it well enough. */
void profile_derive_constants(Profile *profile)
{
  for (guint u = 0; u < G_N_ELEMENTS(uses); u++)
    for (guint i = 0; i < profile->laws->len && !is_told(profile, &uses[u]); i++) {
      const Law *law = g_ptr_array_index(profile->laws, i);
      Estimate estimate;
      if (matches(&uses[u], law->key) && read_estimate(&uses[u], law, &estimate) &&
          is_usable(&estimate))
        add(profile, &uses[u], law, &estimate);
    }
}
