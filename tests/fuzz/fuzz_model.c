/**
 * @file fuzz_model.c
 * @brief Any bytes as a model file: refused with a report, or a model that frees cleanly.
 */
#include "sim/scenario/model_file.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two nested repetitions may rightly take seconds: up to a million tensors are allowed. */
static bool repeats_twice(const char *text)
{
  const char *first = strstr(text, "\"repeat\"");

  return first != NULL && strstr(first + 1, "\"repeat\"") != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  g_autofree char *text = g_strndup((const char *)data, size);
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  g_autoptr(GError) error = NULL;

  if (repeats_twice(text))
    return 0;
  const cJSON *root =
    documents_parse(documents, "fuzz.json", (const char *)data, size, problems);
  g_autoptr(Model) model =
    root != NULL ? model_file_bind(root, "workload.model", documents, problems, 0) : NULL;
  if ((model != NULL) != problems_report(problems, &error))
    __builtin_trap();
  return 0;
}
