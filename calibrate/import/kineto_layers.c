#include "calibrate/import/kineto_layers.h"

#include "calibrate/import/kineto_sweep.h"
#include "calibrate/import/workload.h"
#include "sim/base/stats.h"

#include <math.h>
#include <string.h>

#define TIME_MAX_us 1e15
#define LINK_MAX 9e15 /* whole numbers beyond are not exact */
#define MODULE "nn.Module: "
#define ENGINE "autograd::engine::evaluate_function"

/** A kernel, or the call that launched one. */
typedef struct {
  double correlation, external, begin_us, duration_us, thread;
} Link;

struct KinetoLayers {
  GStringChunk *names;
  GArray *steps;              /* KinetoStep */
  GArray *kernels, *launches; /* Link */
  GArray *modules, *ranges;   /* KinetoItem */
  GArray *operators;          /* KinetoItem, also of the optimiser */
  GHashTable *externals;      /* number -> index of operators + 1 */
};

KinetoLayers *kineto_layers_new(void)
{
  KinetoLayers *layers = g_new0(KinetoLayers, 1);

  layers->names = g_string_chunk_new(4096);
  layers->steps = g_array_new(FALSE, FALSE, sizeof(KinetoStep));
  layers->kernels = g_array_new(FALSE, FALSE, sizeof(Link));
  layers->launches = g_array_new(FALSE, FALSE, sizeof(Link));
  layers->modules = g_array_new(FALSE, FALSE, sizeof(KinetoItem));
  layers->ranges = g_array_new(FALSE, FALSE, sizeof(KinetoItem));
  layers->operators = g_array_new(FALSE, FALSE, sizeof(KinetoItem));
  layers->externals = g_hash_table_new(NULL, NULL);
  return layers;
}

void kineto_layers_free(KinetoLayers *layers)
{
  if (layers == NULL)
    return;
  g_string_chunk_free(layers->names);
  g_array_unref(layers->steps);
  g_array_unref(layers->kernels);
  g_array_unref(layers->launches);
  g_array_unref(layers->modules);
  g_array_unref(layers->ranges);
  g_array_unref(layers->operators);
  g_hash_table_unref(layers->externals);
  g_free(layers);
}

static bool is_link(double number)
{
  return number >= 0 && number <= LINK_MAX;
}

static gpointer key_of(double number)
{
  return GSIZE_TO_POINTER((gsize)number);
}

/* Annotations that frameworks make; they hold many layers or none. */
static bool is_of_framework(const char *name)
{
  static const char *const prefixes[] = {
    "ProfilerStep#",
    "nccl:",
    "c10d::",
    "DistributedDataParallel.",
    "FullyShardedData",
    "enumerate(DataLoad",
    "[pl]",
    "PyTorch Profiler",
  };

  for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++)
    if (g_str_has_prefix(name, prefixes[i]))
      return true;
  return false;
}

static bool is_optimizer(const char *name)
{
  return g_str_has_prefix(name, "Optimizer.") || strcmp(name, "## optimizer ##") == 0;
}

static void add_operator(KinetoLayers *layers, const KinetoEvent *event, KinetoItem item)
{
  const bool is_engine = g_str_has_prefix(event->name, ENGINE);

  item.kind = is_optimizer(event->name)            ? KINETO_OPTIMIZER
              : is_engine || event->fwd_thread > 0 ? KINETO_BACKWARD
                                                   : KINETO_OPERATOR;
  if (item.kind == KINETO_OPERATOR)
    item.name = g_string_chunk_insert_const(layers->names, event->name);
  item.weights = kineto_weights(event);
  if (is_link(event->external))
    g_hash_table_insert(layers->externals, key_of(event->external),
                        GUINT_TO_POINTER(layers->operators->len + 1));
  g_array_append_val(layers->operators, item);
}

static void add_annotation(KinetoLayers *layers, const KinetoEvent *event, KinetoItem item)
{
  const KinetoStep step = { item.begin_us, item.end_us };

  if (event->is_step)
    g_array_append_val(layers->steps, step);
  if (is_optimizer(event->name)) {
    item.kind = KINETO_OPTIMIZER;
    g_array_append_val(layers->operators, item);
  } else if (!is_of_framework(event->name)) {
    item.name = g_string_chunk_insert_const(layers->names, event->name);
    g_array_append_val(layers->ranges, item);
  }
}

void kineto_layers_add(KinetoLayers *layers, const KinetoEvent *event)
{
  const KinetoItem item = { .kind = KINETO_RANGE,
                            .thread = event->thread,
                            .begin_us = event->begin_us,
                            .end_us = event->begin_us + event->duration_us,
                            .sequence = is_link(event->sequence) ? event->sequence : -1 };
  const Link link = { event->correlation, event->external, event->begin_us,
                      event->duration_us, event->thread };

  if (!event->is_complete || !(event->duration_us >= 0) ||
      event->duration_us > TIME_MAX_us || !(fabs(event->begin_us) <= TIME_MAX_us) ||
      !(fabs(event->thread) <= LINK_MAX))
    return;
  if (event->is_kernel && !event->is_nccl) {
    g_array_append_val(layers->kernels, link);
  } else if (event->is_runtime && is_link(event->correlation)) {
    g_array_append_val(layers->launches, link);
  } else if (event->is_operator) {
    add_operator(layers, event, item);
  } else if (event->is_annotation) {
    add_annotation(layers, event, item);
  } else if (event->is_python && g_str_has_prefix(event->name, MODULE)) {
    g_array_append_val(layers->modules, item);
    g_array_index(layers->modules, KinetoItem, layers->modules->len - 1).name =
      g_string_chunk_insert_const(layers->names, event->name + strlen(MODULE));
  }
}

static gint compare_steps(gconstpointer a, gconstpointer b)
{
  const KinetoStep *one = a, *other = b;

  return (one->begin_us > other->begin_us) - (one->begin_us < other->begin_us);
}

static gint compare_layers(gconstpointer a, gconstpointer b)
{
  const KinetoLayer *one = *(const KinetoLayer *const *)a,
                    *other = *(const KinetoLayer *const *)b;

  if (one->first_us != other->first_us)
    return one->first_us < other->first_us ? -1 : 1;
  return strcmp(one->name, other->name);
}

/* Where a kernel was launched: by the call's correlation, else in the operator that it
 * names. False if the trace does not tell. */
static bool find_launch(const KinetoLayers *layers, GHashTable *launches,
                        const Link *kernel, KinetoItem *item)
{
  const guint launched =
    is_link(kernel->correlation)
      ? GPOINTER_TO_UINT(g_hash_table_lookup(launches, key_of(kernel->correlation)))
      : 0;
  const guint within =
    is_link(kernel->external)
      ? GPOINTER_TO_UINT(g_hash_table_lookup(layers->externals, key_of(kernel->external)))
      : 0;

  if (launched > 0) {
    const Link *call = &g_array_index(layers->launches, Link, launched - 1);
    item->thread = call->thread;
    item->begin_us = call->begin_us;
  } else if (within > 0) {
    const KinetoItem *parent = &g_array_index(layers->operators, KinetoItem, within - 1);
    item->thread = parent->thread;
    item->begin_us = parent->begin_us;
  }
  item->end_us = item->begin_us;
  return launched > 0 || within > 0;
}

/* Kernels where they were launched. How many cannot be told of. */
static guint add_launches(const KinetoLayers *layers, GArray *items)
{
  g_autoptr(GHashTable) launches = g_hash_table_new(NULL, NULL);
  guint n_lost = 0;

  for (guint i = 0; i < layers->launches->len; i++) {
    const Link *call = &g_array_index(layers->launches, Link, i);
    g_hash_table_insert(launches, key_of(call->correlation), GUINT_TO_POINTER(i + 1));
  }
  for (guint i = 0; i < layers->kernels->len; i++) {
    const Link *kernel = &g_array_index(layers->kernels, Link, i);
    KinetoItem item = { .kind = KINETO_LAUNCH,
                        .sequence = -1,
                        .kernel_us = kernel->duration_us };
    if (find_launch(layers, launches, kernel, &item))
      g_array_append_val(items, item);
    else
      n_lost++;
  }
  return n_lost;
}

/* The median over the steps in which the layer ran: one wild step costs nothing. */
static KinetoTimes median_times(const KinetoLayer *layer)
{
  g_autofree double *forward_us = g_new(double, layer->steps->len + 1);
  g_autofree double *backward_us = g_new(double, layer->steps->len + 1);
  guint n = 0;

  for (guint i = 0; i < layer->steps->len; i++) {
    const KinetoTimes *times = &g_array_index(layer->steps, KinetoTimes, i);
    if (!(times->forward_us + times->backward_us > 0))
      continue;
    forward_us[n] = times->forward_us;
    backward_us[n++] = times->backward_us;
  }
  if (n == 0)
    return (KinetoTimes){ 0 };
  stats_sort(forward_us, n);
  stats_sort(backward_us, n);
  return (KinetoTimes){ stats_quantile(forward_us, n, 0.5),
                        stats_quantile(backward_us, n, 0.5) };
}

static bool add_layer(ImportWorkload *workload, const KinetoLayer *layer)
{
  const KinetoTimes times = median_times(layer);

  if (!(times.forward_us + times.backward_us > 0))
    return false;
  import_workload_add(workload, layer->name, times.forward_us * 1e-6,
                      times.backward_us * 1e-6);
  for (guint i = 0; i < layer->weights->len; i++) {
    const KinetoWeights *weights = &g_array_index(layer->weights, KinetoWeights, i);
    g_autofree char *weight =
      i == 0 ? g_strdup("weight") : g_strdup_printf("weight_%u", i + 1);
    g_autofree char *bias = i == 0 ? g_strdup("bias") : g_strdup_printf("bias_%u", i + 1);
    import_workload_add_tensor(workload, weight, weights->weight);
    if (weights->bias > 0)
      import_workload_add_tensor(workload, bias, weights->bias);
  }
  return true;
}

/* Of the first parameters that tell; fp32 unless they do. */
static const char *precision_of(const GPtrArray *layers)
{
  for (guint i = 0; i < layers->len; i++) {
    const KinetoLayer *layer = g_ptr_array_index(layers, i);
    if (layer->weights->len == 0)
      continue;
    const char type = g_array_index(layer->weights, KinetoWeights, 0).type;
    return type == 'H' ? "fp16" : type == 'B' ? "bf16" : "fp32";
  }
  return "fp32";
}

static void note(const KinetoLayers *layers, const KinetoSweep *sweep, guint n_lost,
                 ImportInput *input, Imported *imported)
{
  const guint n_steps = MAX(1, layers->steps->len);
  const KinetoTimes rest = median_times(sweep->rest);
  guint n_without = 0;

  for (guint i = 0; i < sweep->layers->len; i++)
    n_without += ((const KinetoLayer *)sweep->layers->pdata[i])->weights->len == 0;
  imported_add_fact(imported, "layers_by",
                    layers->modules->len > 0  ? "modules"
                    : layers->ranges->len > 0 ? "record_function"
                                              : "operators");
  if (n_without > 0)
    imported_note(imported, input,
                  "%u of %u layers without parameters: they have none, or shapes were not "
                  "recorded (record_shapes=True); add \"tensors\" to the model",
                  n_without, sweep->layers->len);
  if (rest.forward_us + rest.backward_us > 0)
    imported_note(
      imported, input,
      "layer \"rest\": kernels of no layer, %.6g us forward and %.6g us backward",
      rest.forward_us, rest.backward_us);
  if (sweep->optimizer_us > 0)
    imported_note(imported, input,
                  "the optimiser's kernels took %.6g us a step; not in the scenario, which "
                  "computes its own",
                  sweep->optimizer_us / n_steps);
  if (n_lost > 0)
    imported_note(imported, input,
                  "%u kernels do not tell where they were launched; of no layer", n_lost);
  imported_note(
    imported, input,
    "layers are sums of kernels, without the gaps between them; the batch is not "
    "told: batch_per_gpu");
}

void kineto_layers_summarise(KinetoLayers *layers, ImportInput *input, Imported *imported)
{
  const GArray *ranges = layers->modules->len > 0 ? layers->modules : layers->ranges;
  g_autoptr(GArray) items = g_array_new(FALSE, FALSE, sizeof(KinetoItem));
  g_autoptr(ImportWorkload) workload = import_workload_new();
  g_auto(KinetoSweep) sweep = { 0 };
  guint n_layers = 0;

  g_array_sort(layers->steps, compare_steps);
  g_array_append_vals(items, ranges->data, ranges->len);
  g_array_append_vals(items, layers->operators->data, layers->operators->len);
  const guint n_lost = add_launches(layers, items);
  kineto_sweep_init(&sweep, layers->steps, ranges->len == 0);
  kineto_sweep_run(&sweep, items);
  g_ptr_array_sort(sweep.layers, compare_layers);
  for (guint i = 0; i < sweep.layers->len; i++)
    n_layers += add_layer(workload, g_ptr_array_index(sweep.layers, i));
  if (n_layers == 0)
    return;
  add_layer(workload, sweep.rest);
  note(layers, &sweep, n_lost, input, imported);
  imported->scenario = import_workload_render(workload, input, "a batch of the traced run",
                                              precision_of(sweep.layers));
}
