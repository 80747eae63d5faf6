/**
 * @file fuzz_import_simgrid.c
 * @brief Any bytes as a platform of SimGrid.
 */
#include "tests/fuzz/import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_network(import_simgrid_network, data, size);
  return 0;
}
