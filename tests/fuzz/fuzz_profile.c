/**
 * @file fuzz_profile.c
 * @brief Any bytes as a calibration profile: refused with a reason, or read, written,
 * asked, shown and fitted.
 */
#include "calibrate/interval.h"
#include "calibrate/report.h"

#include "sim/scenario/profile_file.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No size is one that a law has no answer to. */
static void ask(const Law *law)
{
  static const double sizes[] = { 1, 1000, 1e12 };

  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    const Estimate at = interval_of(law, sizes[i], 4, 2);
    g_assert(!(at.low > at.value) && !(at.value > at.high));
  }
  interval_is_outside(law, 1000, 2);
}

static void show(const Profile *profile)
{
  g_autoptr(GString) out = g_string_new(NULL);

  report_provenance(profile, out);
  report_laws(profile, out);
  report_shapes(profile, out);
  report_constants(profile, out);
  report_residuals(profile, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(Profile) profile =
    profile_file_parse("fuzz.json", (const char *)data, size, &error);

  g_assert((profile == NULL) == (error != NULL));
  if (profile == NULL)
    return 0;

  /* What is written is a profile again. */
  g_autoptr(GString) text = g_string_new(NULL);
  profile_write(profile, text);
  g_autoptr(Profile) again = profile_file_parse("again.json", text->str, text->len, &error);
  g_assert_no_error(error);
  for (guint i = 0; i < again->laws->len; i++)
    ask(g_ptr_array_index(again->laws, i));
  show(again);
  const FitOptions fit = { .n_bootstrap = 2, .max_segments = 3, .monotone = true };
  profile_fit(again, &fit);
  return 0;
}
