#include "models/strategy.h"

// clang-format off
const ModuleInfo *const strategy_table[] = {
  &strategy_none.info,
  &strategy_wait_free.info,
  &strategy_horovod.info,
  &strategy_ddp.info,
  &strategy_mg_wfbp.info,
  &strategy_bytescheduler.info,
  &strategy_bandwidth_policy.info,
  &strategy_predictive.info,
  &strategy_adaptive.info,
  &strategy_zero.info,
  &strategy_fsdp.info,
  &strategy_byteps.info,
  &strategy_parameter_server.info,
  &strategy_hierarchical_ps.info,
  &strategy_p3.info,
  NULL,
};
// clang-format on
