/**
 * @file fuzz_import_logs.c
 * @brief Any bytes as a log: every importer refuses them with a reason, or gives samples
 *        that are sound.
 *
 * FUZZ_IMPORTER names one of them; without it each input goes to all.
 */
#include "calibrate/import.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sample(const Sample *sample)
{
  const bool is_sound = isfinite(sample->size) && sample->size >= 0 &&
                        isfinite(sample->median_s) && sample->median_s > 0 &&
                        sample->ranks >= 1 && sample->nodes >= 1;

  if (!is_sound)
    __builtin_trap();
}

static void fuzz_importer(const char *kind, const uint8_t *data, size_t size)
{
  const ImportOptions options = { .kind = kind,
                                  .collective = "all_reduce",
                                  .ranks = size % 4 == 0 ? 0 : 8,
                                  .time_unit_s = size % 8 == 0 ? 0 : 1e-9,
                                  .only_gradients = size % 2 == 0 };
  g_autoptr(GError) error = NULL;
  g_autoptr(Imported) imported =
    import_text("fuzz", (const char *)data, size, &options, NULL, &error);

  if ((imported == NULL) != (error != NULL))
    __builtin_trap();
  for (guint k = 0; imported != NULL && k < imported->samples->len; k++)
    check_sample(imported->samples->pdata[k]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const char *only = g_getenv("FUZZ_IMPORTER");

  for (guint i = 0; importer_table[i] != NULL; i++)
    if (only == NULL || strcmp(only, importer_table[i]->name) == 0)
      fuzz_importer(importer_table[i]->name, data, size);
  return 0;
}
