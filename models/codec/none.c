/**
 * @file none.c
 * @brief Gradients travel as they are.
 */
#include "models/codec.h"

static CodecExchange none_exchange(const void *params G_GNUC_UNUSED)
{
  return CODEC_SUM;
}

static double none_wire_B(const void *params G_GNUC_UNUSED, const CodecInput *input,
                          guint round G_GNUC_UNUSED)
{
  return input->n_values * input->element_B;
}

static CodecWork none_encode(const void *params G_GNUC_UNUSED,
                             const CodecInput *input G_GNUC_UNUSED,
                             guint round G_GNUC_UNUSED)
{
  return (CodecWork){ 0 };
}

static CodecWork none_decode(const void *params G_GNUC_UNUSED,
                             const CodecInput *input G_GNUC_UNUSED)
{
  return (CodecWork){ 0 };
}

const CodecOps codec_none = {
  .info = {
    .name = "none",
    .summary = "full gradients",
    .source = "what every framework does unless told otherwise",
  },
  .n_rounds = 1,
  .exchange = none_exchange,
  .wire_B = none_wire_B,
  .encode = none_encode,
  .decode = none_decode,
};
