/**
 * @file fuzz_result.c
 * @brief Any bytes are read as results or refused; what is read is written and read again.
 */
#include "sim/output/output.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  g_autoptr(GPtrArray) read = result_read_json((const char *)data, size, NULL);
  g_autoptr(GString) once = g_string_new(NULL);
  g_autoptr(GString) twice = g_string_new(NULL);

  if (read == NULL)
    return 0;
  result_write_json_private((const Result *const *)read->pdata, read->len, once);
  g_autoptr(GPtrArray) again = result_read_json(once->str, once->len, NULL);
  g_assert_nonnull(again);
  result_write_json_private((const Result *const *)again->pdata, again->len, twice);
  g_assert_cmpstr(once->str, ==, twice->str);
  for (guint i = 0; output_table[i] != NULL && read->len > 0; i++)
    g_assert_true(output_render((const OutputOps *)output_table[i],
                                (const Result *const *)read->pdata, read->len, twice,
                                NULL));
  return 0;
}
