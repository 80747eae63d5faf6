/**
 * @file fuzz_profile.c
 * @brief Any bytes as a calibration profile: refused with a reason, or read, written, fitted.
 */
#include "sim/scenario/profile_file.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    law_time_s(g_ptr_array_index(again->laws, i), 1000, 4, 2);
  const FitOptions fit = { .n_bootstrap = 2, .max_segments = 3, .monotone = true };
  profile_fit(again, &fit);
  return 0;
}
