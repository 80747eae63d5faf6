/**
 * @file workload.c
 * @brief The workload of one GPU: keys, compute times, gradients in backward order.
 */
#include "models/workload.h"

#include "models/compute.h"

const ParamSpec workload_params[] = {
  { .key = "batch_per_gpu",
    .type = PARAM_COUNT,
    .offset = offsetof(WorkloadSpec, batch_per_gpu),
    .min = 1,
    .max = WORKLOAD_MAX_BATCH,
    .help = "samples that one GPU takes per iteration, or per accumulation step" },
  { .key = "accumulation_steps",
    .type = PARAM_COUNT,
    .offset = offsetof(WorkloadSpec, accumulation_steps),
    .fallback = "1",
    .min = 1,
    .max = WORKLOAD_MAX_BATCH,
    .help = "batches whose gradients add up before they are exchanged and applied",
    .origin = "every batch is applied unless given" },
  { .key = "precision",
    .type = PARAM_NAME,
    .offset = offsetof(WorkloadSpec, precision),
    .fallback = "fp32",
    .names = precision_names,
    .help = "arithmetic and size of gradients",
    .origin = "PyTorch's default dtype" },
  { .key = "optimizer",
    .type = PARAM_NAME,
    .offset = offsetof(WorkloadSpec, optimizer),
    .fallback = "momentum",
    .names = optimizer_names,
    .help = "update rule: its state takes memory, its step takes time",
    .origin = "our choice" },
  { .key = "sequence",
    .type = PARAM_COUNT,
    .offset = offsetof(WorkloadSpec, sequence),
    .fallback = "0",
    .max = WORKLOAD_MAX_SEQUENCE,
    .help = "tokens in a sample; 0: as the model's file says",
    .origin = "the model's own" },
  PARAM_END,
};

#define COMPUTE_MAX_LAYER_S 1e6

static const ParamSpec compute_layer_params[] = {
  { .key = "name",
    .type = PARAM_TEXT,
    .offset = offsetof(ComputeLayer, name),
    .help = "layer of the model, or a group of them" },
  { .key = "forward",
    .type = PARAM_SECONDS,
    .offset = offsetof(ComputeLayer, forward_s),
    .max = COMPUTE_MAX_LAYER_S,
    .help = "forward time of the whole batch" },
  { .key = "backward",
    .type = PARAM_SECONDS,
    .offset = offsetof(ComputeLayer, backward_s),
    .max = COMPUTE_MAX_LAYER_S,
    .help = "backward time of the whole batch" },
  PARAM_END,
};

static const ParamSpec other_gpu_params[] = {
  { .key = "gpu",
    .type = PARAM_TEXT,
    .offset = offsetof(OtherCompute, gpu),
    .help = "name of the GPU" },
  { .key = "samples_per_s",
    .type = PARAM_NUMBER,
    .offset = offsetof(OtherCompute, samples_per_s),
    .fallback = "0",
    .max = 1e9,
    .help = "measured on one of them, whole iterations; 0: not measured" },
  { .key = "efficiency",
    .type = PARAM_FRACTION,
    .offset = offsetof(OtherCompute, efficiency),
    .fallback = "0",
    .max = 1,
    .help = "share of the peak FLOP/s where it was not measured; 0: not given" },
  PARAM_END,
};

const ParamSpec compute_params[] = {
  { .key = "samples_per_s",
    .type = PARAM_NUMBER,
    .offset = offsetof(ComputeSpec, samples_per_s),
    .fallback = "0",
    .max = 1e9,
    .help = "measured on one GPU at this batch, whole iterations; 0: not measured",
    .origin = "not measured unless given" },
  { .key = "efficiency",
    .type = PARAM_FRACTION,
    .offset = offsetof(ComputeSpec, efficiency),
    .fallback = "0",
    .max = 1,
    .help = "share of the peak FLOP/s in forward and backward; 0: not given",
    .origin = "not given" },
  { .key = "layers",
    .type = PARAM_LIST,
    .offset = offsetof(ComputeSpec, layers),
    .fallback = "",
    .item = compute_layer_params,
    .item_size = sizeof(ComputeLayer),
    .help = "measured times; together they cover every layer of the model once",
    .origin = "not measured unless given" },
  { .key = "jitter",
    .type = PARAM_FRACTION,
    .offset = offsetof(ComputeSpec, jitter),
    .fallback = "0",
    .max = 1,
    .help = "standard deviation of one GPU's step over its mean",
    .origin = "none unless given" },
  { .key = "gpu_spread",
    .type = PARAM_FRACTION,
    .offset = offsetof(ComputeSpec, gpu_spread),
    .fallback = "1.5 %",
    .max = 0.5,
    .help = "standard deviation of the speed of GPUs of one kind; all wait for the slowest",
    .origin = "Sinha et al., SC22: 8 % between the whiskers of one kind, 5.4 deviations" },
  { .key = "sms_per_channel",
    .type = PARAM_NUMBER,
    .offset = offsetof(ComputeSpec, sms_per_channel),
    .fallback = "0",
    .max = 16,
    .help =
      "SMs that each channel of a collective of NCCL takes from what it overlaps; NCCL "
      "shares none, so 1 (issue #689); 0: overlapping costs nothing",
    .origin = "off unless given" },
  { .key = "memory_passes",
    .type = PARAM_NUMBER,
    .offset = offsetof(ComputeSpec, memory_passes),
    .fallback = "0",
    .max = 16,
    .help = "bytes that pass the GPU's memory per byte on the wire, in the way of what "
            "overlaps; NCCL: 2 to 3 (issue #1428); 0: overlapping costs nothing",
    .origin = "off unless given" },
  { .key = "other_gpus",
    .type = PARAM_LIST,
    .offset = offsetof(ComputeSpec, other_gpus),
    .fallback = "",
    .item = other_gpu_params,
    .item_size = sizeof(OtherCompute),
    .help = "how fast GPUs of \"cluster.other_nodes\" are",
    .origin = "as published or assumed unless given" },
  PARAM_END,
};

ComputeSpec compute_of_gpu(const ComputeSpec *compute, const char *first, const char *gpu)
{
  ComputeSpec own = { .efficiency = compute->efficiency,
                      .jitter = compute->jitter,
                      .gpu_spread = compute->gpu_spread };

  if (first == NULL || g_strcmp0(first, gpu) == 0)
    return *compute;
  for (guint i = 0; compute->other_gpus != NULL && i < compute->other_gpus->len; i++) {
    const OtherCompute *row = &g_array_index(compute->other_gpus, OtherCompute, i);
    if (g_strcmp0(row->gpu, gpu) != 0)
      continue;
    own.samples_per_s = row->samples_per_s;
    own.efficiency = row->samples_per_s > 0 ? 0 : row->efficiency;
  }
  return own;
}

/* A gradient is ready when the backward pass of its layer has ended; frameworks hand over
 * the tensors of a layer in reverse order. */
static void list_gradients(Workload *workload)
{
  const Model *model = workload->model;
  const double gradient_B = precision_traits(workload->precision)->gradient_B;
  double ready_s = 0;

  for (guint i = model->layers->len; i-- > 0;) {
    const ModelLayer *layer = model_layer(model, i);
    ready_s += g_array_index(workload->layer_times, LayerTime, i).backward_s;
    for (guint t = layer->n_tensors; t-- > 0;) {
      const guint tensor = layer->first_tensor + t;
      const Gradient gradient = {
        .tensor = tensor,
        .layer = i,
        .size_B = (double)model_tensor(model, tensor)->n_values * gradient_B,
        .ready_s = ready_s,
      };
      g_array_append_val(workload->gradients, gradient);
      workload->gradient_B += gradient.size_B;
    }
  }
}

static bool check_precision(Precision precision, const GpuSpec *gpu, GError **error)
{
  if (precision_peak_flops(precision, gpu) > 0)
    return true;
  g_autofree char *list = precision_list(gpu);
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "this GPU%s%s%s has no %s; it has %s",
              gpu->name != NULL ? " (" : "", gpu->name != NULL ? gpu->name : "",
              gpu->name != NULL ? ")" : "", precision_names[precision], list);
  return false;
}

#define LONGEST_ITERATION_S 1e9

Workload *workload_new(const Model *model, const WorkloadSpec *spec,
                       const ComputeSpec *compute, const GpuSpec *gpu, GError **error)
{
  g_return_val_if_fail(model->tensors->len > 0 && spec->batch_per_gpu > 0, NULL);

  if (!check_precision(spec->precision, gpu, error))
    return NULL;

  g_autoptr(Workload) workload = g_new0(Workload, 1);
  workload->model = model;
  workload->batch_per_gpu = spec->batch_per_gpu;
  workload->accumulation_steps = MAX(spec->accumulation_steps, 1);
  workload->precision = spec->precision;
  workload->optimizer = spec->optimizer;
  workload->jitter = compute->jitter;
  workload->gpu_spread = compute->gpu_spread;
  workload->gradients = g_array_new(FALSE, FALSE, sizeof(Gradient));
  workload->layer_times = g_array_new(FALSE, FALSE, sizeof(LayerTime));
  if (!compute_fill(workload, compute, gpu, error))
    return NULL;
  if (!(workload_compute_s(workload) <= LONGEST_ITERATION_S)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "one iteration would compute for more than 30 years; check compute");
    return NULL;
  }
  list_gradients(workload);
  return g_steal_pointer(&workload);
}

void workload_free(Workload *workload)
{
  if (workload == NULL)
    return;
  g_array_unref(workload->gradients);
  g_array_unref(workload->layer_times);
  g_free(workload->compute_source);
  g_free(workload);
}

double workload_compute_s(const Workload *workload)
{
  return workload->accumulation_steps * (workload->forward_s + workload->backward_s) +
         workload->optimizer_s;
}

double workload_samples(const Workload *workload)
{
  return (double)workload->accumulation_steps * workload->batch_per_gpu;
}

const Gradient *workload_gradient(const Workload *workload, guint index)
{
  g_return_val_if_fail(index < workload->gradients->len, NULL);
  return &g_array_index(workload->gradients, Gradient, index);
}

guint workload_n_gradients(const Workload *workload)
{
  return workload->gradients->len;
}
