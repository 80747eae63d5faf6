/** @file fuzz_scenario.c  @brief Any bytes as a scenario: no crash, no leak, no hang. */
#include "sim/scenario/scenario.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first line, if it begins with '=', is a setting. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  g_autofree char *bytes = g_strndup((const char *)data, size);
  g_autofree char *line = g_strndup(bytes, strcspn(bytes, "\n"));
  const char *const settings[] = { *line == '=' ? line + 1 : NULL, NULL };
  const gsize skip = *line == '=' ? MIN(strlen(line) + 1, size) : 0;
  g_autoptr(GError) error = NULL;
  g_autoptr(Scenario) scenario = scenario_parse(
    "/nowhere/fuzz.json", (const char *)data + skip, size - skip, settings, &error);

  g_assert((scenario == NULL) == (error != NULL));
  if (scenario == NULL)
    return 0;

  /* What show prints loads again and shows the same values. */
  g_autofree char *shown = scenario_show(scenario);
  g_autoptr(Scenario) again =
    scenario_parse("/nowhere/again.json", shown, strlen(shown), NULL, &error);
  g_assert_no_error(error);
  g_assert(again != NULL);
  return 0;
}
