/**
 * @file fuzz_import_simai.c
 * @brief Any bytes as a topology of SimAI.
 */
#include "tests/fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_network(import_simai_network, data, size);
  fuzz_node(import_simai_node, data, size);
  return 0;
}
