#include "models/contention.h"

bool contention_matters(const ComputeSpec *compute)
{
  return compute->sms_per_channel > 0 || compute->memory_passes > 0;
}

/* 1 / (1 - share), as far as anybody has seen it. */
static double without(double share)
{
  return share < 1 - 1 / CONTENTION_MAX ? 1 / (1 - share) : CONTENTION_MAX;
}

double contention_slowdown(const ComputeSpec *compute, const GpuSpec *gpu,
                           const ContentionLoad *load)
{
  const double sms = compute->sms_per_channel * load->n_channels / gpu->n_sms;
  const double memory = compute->memory_passes * load->sent_Bps / gpu_memory_Bps(gpu);

  return MIN(without(sms) * without(memory), CONTENTION_MAX);
}
