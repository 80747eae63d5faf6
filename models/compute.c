/**
 * @file compute.c
 * @brief The time of one iteration on one GPU, and its spread over the layers.
 */
#include "models/compute.h"

#include "sim/base/units.h"

#include <math.h>

/** Backward computes two products (for weights and for inputs) per product of forward. */
#define BACKWARD_PER_FORWARD 2.0

typedef struct {
  Workload *workload;
  const ComputeSpec *spec;
  const GpuSpec *gpu;
  double *weights; /**< per layer: forward time at the usual share of the peaks [s] */
  double sum;      /**< of them; parameters instead of seconds if not @ref has_work */
  bool has_work;   /**< the model states FLOPs or moved values */
} Compute;

static double layer_parameters(const Model *model, const ModelLayer *layer)
{
  double total = 0;

  for (guint i = 0; i < layer->n_tensors; i++)
    total += (double)model_tensor(model, layer->first_tensor + i)->n_values;
  return total;
}

/* S. Williams et al., "Roofline", CACM 52 (2009) 65-76. The weights of a layer are read
 * once per batch, its activations once per sample. */
static double layer_roofline_s(const Compute *compute, const ModelLayer *layer)
{
  const Workload *workload = compute->workload;
  const PrecisionTraits *traits = precision_traits(workload->precision);
  const double batch = workload->batch_per_gpu;
  const double rate_flops = precision_kernel_flops(workload->precision, compute->gpu);
  const double moved =
    batch * layer->moved_values +
    (layer->forward_flops > 0 ? layer_parameters(workload->model, layer) : 0);

  return MAX(batch * layer->forward_flops / rate_flops,
             moved * traits->activation_B / gpu_memory_Bps(compute->gpu));
}

static void weigh_layers(Compute *compute)
{
  const Model *model = compute->workload->model;

  for (guint i = 0; i < model->layers->len; i++) {
    compute->weights[i] = layer_roofline_s(compute, model_layer(model, i));
    compute->sum += compute->weights[i];
  }
  compute->has_work = compute->sum > 0;
  if (compute->has_work)
    return;
  for (guint i = 0; i < model->layers->len; i++) {
    compute->weights[i] = layer_parameters(model, model_layer(model, i));
    compute->sum += compute->weights[i];
  }
}

static void spread(Compute *compute, double forward_and_backward_s)
{
  Workload *workload = compute->workload;
  const double forward_s = forward_and_backward_s / (1 + BACKWARD_PER_FORWARD);

  for (guint i = 0; i < workload->model->layers->len; i++) {
    const double share = compute->weights[i] / compute->sum;
    const LayerTime time = {
      .name = model_layer(workload->model, i)->name,
      .forward_s = share * forward_s,
      .backward_s = share * forward_s * BACKWARD_PER_FORWARD,
    };
    g_array_append_val(workload->layer_times, time);
  }
}

static bool from_rate(Compute *compute, GError **error)
{
  Workload *workload = compute->workload;
  const double iteration_s = workload_samples(workload) / compute->spec->samples_per_s;
  g_autofree char *rate = units_format_number(compute->spec->samples_per_s);

  if (iteration_s <= workload->optimizer_s) {
    g_autofree char *iteration = units_show_seconds(iteration_s, 3);
    g_autofree char *optimizer = units_show_seconds(workload->optimizer_s, 3);
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%s samples/s at batch %u is %s per iteration, but the %s optimizer alone "
                "takes %s; give the rate that was measured at this batch",
                rate, workload->batch_per_gpu, iteration,
                optimizer_names[workload->optimizer], optimizer);
    return false;
  }
  spread(compute, (iteration_s - workload->optimizer_s) / workload->accumulation_steps);
  workload->compute_source =
    g_strdup_printf("scenario: %s samples/s measured on one GPU", rate);
  return true;
}

static bool from_efficiency(Compute *compute, GError **error)
{
  Workload *workload = compute->workload;
  const double flops = model_forward_flops(workload->model) * (1 + BACKWARD_PER_FORWARD) *
                       workload->batch_per_gpu;
  const double peak_flops = precision_peak_flops(workload->precision, compute->gpu);
  g_autofree char *share = units_format_fraction(compute->spec->efficiency);

  if (flops <= 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "model '%s' states no FLOPs, so an efficiency says nothing; give "
                "\"samples_per_s\" or \"layers\"",
                workload->model->name);
    return false;
  }
  spread(compute, flops / (compute->spec->efficiency * peak_flops));
  workload->compute_source = g_strdup_printf("scenario: %s of the peak %s FLOP/s", share,
                                             precision_names[workload->precision]);
  return true;
}

static const ModelBaseline *find_baseline(const Compute *compute)
{
  const Model *model = compute->workload->model;
  const char *precision = precision_names[compute->workload->precision];

  for (guint i = 0; i < model->baselines->len; i++) {
    const ModelBaseline *row = &g_array_index(model->baselines, ModelBaseline, i);
    if (g_strcmp0(row->gpu, compute->gpu->name) == 0 &&
        g_strcmp0(row->precision, precision) == 0)
      return row;
  }
  return NULL;
}

/* Published rates come from batches (or accumulated batches) so large that the optimiser's
 * share is lost in them: here its step comes on top. */
static void from_baseline(Compute *compute, const ModelBaseline *baseline)
{
  Workload *workload = compute->workload;
  g_autofree char *rate = units_format_number(baseline->samples_per_s);

  spread(compute, workload->batch_per_gpu / baseline->samples_per_s);
  workload->compute_source =
    g_strdup_printf("published: %s samples/s on one %s in %s: %s", rate, baseline->gpu,
                    baseline->precision, baseline->source);
}

static bool from_assumption(Compute *compute, GError **error)
{
  Workload *workload = compute->workload;
  const Precision precision = workload->precision;
  const double reached = precision_kernel_flops(precision, compute->gpu) /
                         precision_peak_flops(precision, compute->gpu);
  g_autofree char *share = units_format_fraction(round(reached * 1000) / 1000);

  if (!compute->has_work) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "model '%s' states no FLOPs and no measured rate for this GPU in %s; give "
                "\"samples_per_s\" or \"layers\"",
                workload->model->name, precision_names[workload->precision]);
    return false;
  }
  spread(compute, compute->sum * (1 + BACKWARD_PER_FORWARD));
  workload->compute_is_assumed = true;
  workload->compute_source = g_strdup_printf(
    "assumed: %s of the peak %s FLOP/s%s or the full memory bandwidth, "
    "whichever is slower, layer by layer",
    share, precision_names[precision],
    precision_is_measured(precision, compute->gpu) ? ", by its measured products," : "");
  return true;
}

static bool choose(Compute *compute, GError **error)
{
  const ComputeSpec *spec = compute->spec;
  const bool has_layers = spec->layers != NULL && spec->layers->len > 0;
  const ModelBaseline *baseline = find_baseline(compute);

  if ((spec->samples_per_s > 0) + (spec->efficiency > 0) + has_layers > 1) {
    g_set_error_literal(
      error, SIM_ERROR, SIM_ERROR_VALUE,
      "give only one of \"samples_per_s\", \"efficiency\" and \"layers\"");
    return false;
  }
  if (spec->samples_per_s > 0)
    return from_rate(compute, error);
  if (spec->efficiency > 0)
    return from_efficiency(compute, error);
  if (has_layers)
    return compute_fill_measured(compute->workload, spec->layers, compute->weights, error);
  if (baseline == NULL)
    return from_assumption(compute, error);
  from_baseline(compute, baseline);
  return true;
}

bool compute_fill(Workload *workload, const ComputeSpec *spec, const GpuSpec *gpu,
                  GError **error)
{
  g_autofree double *weights = g_new(double, workload->model->layers->len);
  Compute compute = { .workload = workload, .spec = spec, .gpu = gpu, .weights = weights };

  workload->optimizer_s = (double)model_n_parameters(workload->model) *
                          optimizer_moved_B(workload->optimizer) / gpu_memory_Bps(gpu);
  weigh_layers(&compute);
  if (!choose(&compute, error))
    return false;
  for (guint i = 0; i < workload->layer_times->len; i++) {
    const LayerTime *time = &g_array_index(workload->layer_times, LayerTime, i);
    workload->forward_s += time->forward_s;
    workload->backward_s += time->backward_s;
  }
  return true;
}
