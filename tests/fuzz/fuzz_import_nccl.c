/**
 * @file fuzz_import_nccl.c
 * @brief Any bytes as a topology of NCCL.
 */
#include "tests/fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_node(import_nccl_node, data, size);
  return 0;
}
