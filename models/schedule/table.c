#include "models/schedule.h"

const ModuleInfo *const schedule_table[] = {
  &schedule_after_backward.info,
  &schedule_wait_free.info,
  &schedule_horovod_cycle.info,
  &schedule_ddp_bucket.info,
  &schedule_priority_partition.info,
  &schedule_merged.info,
  &schedule_predictive.info,
  &schedule_keyed.info,
  NULL,
};
