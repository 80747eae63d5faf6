#include "calibrate/synthetic.h"

const ModuleInfo *const backend_table[] = { &backend_synthetic.info, NULL };
