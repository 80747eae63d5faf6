#include "models/fabric.h"

/* In the order `list` shows them. */
const ModuleInfo *const fabric_table[] = {
  &fabric_nvswitch.info,
  &fabric_nvlink_mesh.info,
  &fabric_pcie.info,
  NULL,
};
