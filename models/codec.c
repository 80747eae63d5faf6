/**
 * @file codec.c
 * @brief What codecs share: work, passes, packed bits.
 */
#include "models/codec.h"

#include <math.h>

/* Feedback is kept in fp32 whatever the gradients are. */
#define FEEDBACK_ELEMENT_B 4
#define WORD_BITS 32
#define WORD_B 4

double codec_work_s(const CodecWork *work, const CodecDevice *device)
{
  const double compute_s = work->flops > 0 ? work->flops / device->flops : 0;

  return work->n_kernels * device->launch_s +
         MAX(work->moved_B / device->memory_Bps, compute_s);
}

void codec_work_add(CodecWork *work, CodecWork more)
{
  work->moved_B += more.moved_B;
  work->flops += more.flops;
  work->n_kernels += more.n_kernels;
}

CodecWork codec_passes(const CodecInput *input, double passes)
{
  return (CodecWork){ .moved_B = passes * input->n_values * input->element_B,
                      .n_kernels = ceil(passes) };
}

double codec_feedback_B(const CodecInput *input)
{
  return FEEDBACK_ELEMENT_B * input->n_values;
}

double codec_packed_B(double n, double bits)
{
  return WORD_B * ceil(n * bits / WORD_BITS);
}
