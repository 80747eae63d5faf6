#include "models/library.h"

/* In the order `list` shows them. */
const ModuleInfo *const library_table[] = {
  &library_nccl.info,  &library_gloo.info,     &library_mpi.info,
  &library_rules.info, &library_adaptive.info, NULL,
};
