#include "calibrate/backend/gpu_nccl.h"
#include "calibrate/backend/host.h"
#include "calibrate/backend/netns.h"
#include "calibrate/synthetic.h"

const ModuleInfo *const backend_table[] = {
  &backend_gpu.info,   &backend_gpu_nccl.info,  &backend_host.info,
  &backend_netns.info, &backend_synthetic.info, NULL,
};
