/**
 * @file memory.c
 * @brief Device memory of one GPU in data-parallel training.
 *
 *     context and workspace + P (weights + gradients + optimiser) + batch A + buffers
 *
 * with P parameters and A bytes of saved activations per sample.
 */
#include "models/memory.h"

#include "sim/base/units.h"

#include <math.h>

#define GIB_B (1024.0 * 1024.0 * 1024.0)

/** CUDA context and loaded kernels. Assumed: 0.3-0.8 GB are usual. */
#define MEMORY_CONTEXT_B (0.5 * GIB_B)

/** Workspace of convolutions, transient gradients. Assumed: 0.1-1 GB are usual. */
#define MEMORY_WORKSPACE_B (0.7 * GIB_B)

static double activations_B(const Model *model, double element_B)
{
  double total_B = 0;

  for (guint i = 0; i < model->layers->len; i++) {
    const ModelLayer *layer = model_layer(model, i);
    total_B += layer->saved_values * element_B + layer->saved_B;
  }
  return total_B;
}

MemoryUse memory_use(const Workload *workload, const GpuSpec *gpu, double communication_B)
{
  const PrecisionTraits *traits = precision_traits(workload->precision);
  const double n = (double)model_n_parameters(workload->model);

  return (MemoryUse){
    .weights_B = n * traits->weights_B,
    .gradients_B = n * traits->gradient_B,
    .optimizer_B = n * (traits->master_B + optimizer_state_B(workload->optimizer)),
    .activations_per_sample_B = activations_B(workload->model, traits->activation_B),
    .workspace_B = MEMORY_CONTEXT_B + MEMORY_WORKSPACE_B,
    .communication_B = communication_B,
    .capacity_B = (double)gpu->memory_B,
  };
}

void memory_shard(MemoryUse *use, const MemoryShards *shards)
{
  use->weights_B /= MAX(shards->weights, 1);
  use->gradients_B /= MAX(shards->gradients, 1);
  use->optimizer_B /= MAX(shards->optimizer, 1);
}

static double fixed_B(const MemoryUse *use)
{
  return use->weights_B + use->gradients_B + use->optimizer_B + use->workspace_B +
         use->communication_B + use->library_B;
}

double memory_total_B(const MemoryUse *use, guint batch)
{
  return fixed_B(use) + batch * use->activations_per_sample_B;
}

guint memory_max_batch(const MemoryUse *use)
{
  const double left_B = use->capacity_B - fixed_B(use);

  if (left_B < use->activations_per_sample_B || left_B <= 0)
    return 0;
  if (left_B >= use->activations_per_sample_B * WORKLOAD_MAX_BATCH)
    return WORKLOAD_MAX_BATCH;
  return (guint)floor(left_B / use->activations_per_sample_B);
}

static void add_part(GString *out, const char *what, double size_B)
{
  if (!(size_B > 0))
    return;
  g_autofree char *size = units_show_bytes(size_B, 3);
  g_string_append_printf(out, "%s%s %s", out->len > 0 ? " + " : "", what, size);
}

char *memory_explain(const MemoryUse *use, guint batch)
{
  g_autofree char *total = units_show_bytes(memory_total_B(use, batch), 3);
  g_autofree char *capacity = units_show_bytes(use->capacity_B, 3);
  g_autofree char *sample = units_show_bytes(use->activations_per_sample_B, 3);
  g_autofree char *activations = g_strdup_printf("activations (%u x %s)", batch, sample);
  const guint most = memory_max_batch(use);
  g_autofree char *fits = most > 0 ? g_strdup_printf("up to %u samples fit", most)
                                   : g_strdup("not even one sample fits");
  g_autoptr(GString) sum = g_string_new(NULL);

  add_part(sum, "weights", use->weights_B);
  add_part(sum, "gradients", use->gradients_B);
  add_part(sum, "optimiser", use->optimizer_B);
  add_part(sum, activations, batch * use->activations_per_sample_B);
  add_part(sum, "context and workspace", use->workspace_B);
  add_part(sum, "communication buffers", use->communication_B);
  add_part(sum, "the library's buffers", use->library_B);
  return g_strdup_printf("batch %u takes %s = %s, and the GPU has %s; %s", batch, sum->str,
                         total, capacity, fits);
}
