#include "models/codec.h"

const ModuleInfo *const codec_table[] = {
  &codec_none.info,
  &codec_fp16.info,
  &codec_bf16.info,
  &codec_onebit.info,
  &codec_topk.info,
  &codec_randomk.info,
  &codec_qsgd.info,
  &codec_terngrad.info,
  &codec_powersgd.info,
  &codec_onebit_adam.info,
  NULL,
};
