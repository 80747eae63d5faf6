#include "calibrate/import/kineto_sweep.h"

#include <math.h>
#include <string.h>

#define NO_LAYER (-1)

/** What is open: the innermost of each kind. */
typedef struct {
  double end_us;
  gint layer; /* or NO_LAYER */
  guint call; /* of the layer: number of the item, 0: none */
  bool in_backward, in_optimizer, in_weights;
  double sequence; /* of what is in backward */
} Open;

/** A kernel of backward whose forward operator is not known yet. */
typedef struct {
  double sequence, kernel_us;
  guint step;
} Pending;

/** The forward operator of a sequence number. */
typedef struct {
  double begin_us;
  gint layer;
} Forward;

static void layer_free(KinetoLayer *layer)
{
  if (layer == NULL)
    return;
  g_array_unref(layer->steps);
  g_array_unref(layer->weights);
  g_free(layer);
}

static KinetoLayer *layer_new(const char *name)
{
  KinetoLayer *layer = g_new0(KinetoLayer, 1);

  *layer = (KinetoLayer){ .name = name,
                          .first_us = INFINITY,
                          .steps = g_array_new(FALSE, TRUE, sizeof(KinetoTimes)),
                          .weights = g_array_new(FALSE, FALSE, sizeof(KinetoWeights)) };
  return layer;
}

void kineto_sweep_init(KinetoSweep *sweep, const GArray *steps, bool by_operator)
{
  *sweep = (KinetoSweep){
    .steps = steps,
    .by_operator = by_operator,
    .layers = g_ptr_array_new_with_free_func((GDestroyNotify)layer_free),
    .rest = layer_new("rest"),
    .names = g_string_chunk_new(4096),
    .by_name = g_hash_table_new(g_str_hash, g_str_equal),
    .forwards = g_hash_table_new_full(NULL, NULL, NULL, g_free),
    .n_named = g_hash_table_new(g_str_hash, g_str_equal),
    .pending = g_array_new(FALSE, FALSE, sizeof(Pending)),
  };
}

void kineto_sweep_clear(KinetoSweep *sweep)
{
  g_ptr_array_unref(sweep->layers);
  layer_free(sweep->rest);
  g_string_chunk_free(sweep->names);
  g_hash_table_unref(sweep->by_name);
  g_hash_table_unref(sweep->forwards);
  g_hash_table_unref(sweep->n_named);
  g_array_unref(sweep->pending);
}

/* By thread and time; those that begin together by their end, the later first. */
static gint compare_items(gconstpointer a, gconstpointer b)
{
  const KinetoItem *one = a, *other = b;

  if (one->thread != other->thread)
    return one->thread < other->thread ? -1 : 1;
  if (one->begin_us != other->begin_us)
    return one->begin_us < other->begin_us ? -1 : 1;
  if (one->end_us != other->end_us)
    return one->end_us > other->end_us ? -1 : 1;
  return (one->kind > other->kind) - (one->kind < other->kind);
}

/* Close what ended by @p time_us; the innermost that is left. */
static Open open_at(GArray *stack, double time_us)
{
  while (stack->len > 0 && g_array_index(stack, Open, stack->len - 1).end_us <= time_us)
    g_array_set_size(stack, stack->len - 1);
  return stack->len > 0 ? g_array_index(stack, Open, stack->len - 1)
                        : (Open){ .layer = NO_LAYER, .sequence = -1 };
}

static gpointer key_of(double number)
{
  return GSIZE_TO_POINTER((gsize)number);
}

static void layer_spend(KinetoLayer *layer, guint step, bool backward, double us)
{
  if (layer->steps->len <= step)
    g_array_set_size(layer->steps, step + 1);
  KinetoTimes *times = &g_array_index(layer->steps, KinetoTimes, step);
  *(backward ? &times->backward_us : &times->forward_us) += us;
}

static gint layer_of(KinetoSweep *sweep, const char *name)
{
  const guint found = GPOINTER_TO_UINT(g_hash_table_lookup(sweep->by_name, name));

  if (found > 0)
    return (gint)found - 1;
  const char *kept = g_string_chunk_insert_const(sweep->names, name);
  g_ptr_array_add(sweep->layers, layer_new(kept));
  g_hash_table_insert(sweep->by_name, (char *)kept, GUINT_TO_POINTER(sweep->layers->len));
  return (gint)sweep->layers->len - 1;
}

/* The step in which it began; false if it is in none. */
static bool step_at(const GArray *steps, double time_us, guint *step)
{
  guint low = 0, high = steps->len;

  *step = 0;
  if (steps->len == 0)
    return true;
  while (high - low > 1) {
    const guint middle = low + (high - low) / 2;
    *(g_array_index(steps, KinetoStep, middle).begin_us <= time_us ? &low : &high) = middle;
  }
  *step = low;
  const KinetoStep *found = &g_array_index(steps, KinetoStep, low);
  return found->begin_us <= time_us && time_us < found->end_us;
}

/* Operators have no names of their own: "linear", "linear_2" in each step. */
static gint layer_of_operator(KinetoSweep *sweep, const KinetoItem *item)
{
  guint step;
  const char *name =
    item->name + (g_str_has_prefix(item->name, "aten::") ? strlen("aten::") : 0);

  if (!step_at(sweep->steps, item->begin_us, &step))
    return NO_LAYER;
  if (step != sweep->named_step)
    g_hash_table_remove_all(sweep->n_named);
  sweep->named_step = step;
  const guint n = GPOINTER_TO_UINT(g_hash_table_lookup(sweep->n_named, name)) + 1;
  g_hash_table_insert(sweep->n_named, (char *)name, GUINT_TO_POINTER(n));
  g_autofree char *unique = n == 1 ? g_strdup(name) : g_strdup_printf("%s_%u", name, n);
  return layer_of(sweep, unique);
}

static void open_layer(KinetoSweep *sweep, const KinetoItem *item, guint number, Open *open)
{
  open->layer = item->kind == KINETO_RANGE ? layer_of(sweep, item->name)
                                           : layer_of_operator(sweep, item);
  open->call = number;
  if (open->layer == NO_LAYER)
    return;
  KinetoLayer *layer = g_ptr_array_index(sweep->layers, open->layer);
  if (!open->in_backward && item->begin_us < layer->first_us)
    layer->first_us = item->begin_us;
  if (!open->in_backward && layer->first_call == 0)
    layer->first_call = number;
}

/* The last operator that began with a number made the node of backward. */
static void note_forward(KinetoSweep *sweep, const KinetoItem *item, gint layer)
{
  Forward *known = g_hash_table_lookup(sweep->forwards, key_of(item->sequence));

  if (known == NULL) {
    known = g_new(Forward, 1);
    known->begin_us = -INFINITY;
    g_hash_table_insert(sweep->forwards, key_of(item->sequence), known);
  }
  if (item->begin_us >= known->begin_us)
    *known = (Forward){ item->begin_us, layer };
}

static void open_operator(KinetoSweep *sweep, const KinetoItem *item, guint number,
                          Open *open)
{
  if (sweep->by_operator && open->layer == NO_LAYER && !open->in_backward &&
      !open->in_optimizer && item->sequence >= 0)
    open_layer(sweep, item, number, open);
  if (open->layer == NO_LAYER)
    return;
  if (item->sequence >= 0)
    note_forward(sweep, item, open->layer);
  const bool tells = item->weights.weight > 0;
  KinetoLayer *layer = g_ptr_array_index(sweep->layers, open->layer);
  if (tells && !open->in_weights && layer->first_call == open->call)
    g_array_append_val(layer->weights, item->weights);
  open->in_weights |= tells;
}

/* Backward begins anew: only what it runs again, checkpoints, is in a layer's range. */
static void open_backward(const KinetoItem *item, Open *open)
{
  if (item->sequence >= 0 || !open->in_backward)
    open->sequence = item->sequence;
  if (!open->in_backward || item->sequence >= 0)
    open->layer = NO_LAYER;
  open->in_backward = true;
}

static void launch(KinetoSweep *sweep, const KinetoItem *item, const Open *open)
{
  guint step;

  if (!step_at(sweep->steps, item->begin_us, &step))
    return;
  if (open->in_optimizer) {
    sweep->optimizer_us += item->kernel_us;
  } else if (open->layer != NO_LAYER) {
    layer_spend(g_ptr_array_index(sweep->layers, open->layer), step, open->in_backward,
                item->kernel_us);
  } else if (open->in_backward) {
    const Pending pending = { open->sequence, item->kernel_us, step };
    g_array_append_val(sweep->pending, pending);
  } else {
    layer_spend(sweep->rest, step, false, item->kernel_us);
  }
}

static void take_item(KinetoSweep *sweep, const KinetoItem *item, guint number,
                      GArray *stack)
{
  Open open = open_at(stack, item->begin_us);

  if (item->kind == KINETO_LAUNCH) {
    launch(sweep, item, &open);
    return;
  }
  open.end_us = item->end_us;
  if (item->kind == KINETO_RANGE)
    open_layer(sweep, item, number, &open);
  else if (item->kind == KINETO_OPERATOR)
    open_operator(sweep, item, number, &open);
  else if (item->kind == KINETO_BACKWARD)
    open_backward(item, &open);
  else
    open.in_optimizer = true;
  g_array_append_val(stack, open);
}

/* All forward operators are known now. */
static void settle_pending(KinetoSweep *sweep)
{
  for (guint i = 0; i < sweep->pending->len; i++) {
    const Pending *pending = &g_array_index(sweep->pending, Pending, i);
    const Forward *forward =
      pending->sequence < 0
        ? NULL
        : g_hash_table_lookup(sweep->forwards, key_of(pending->sequence));
    layer_spend(forward == NULL ? sweep->rest
                                : g_ptr_array_index(sweep->layers, forward->layer),
                pending->step, true, pending->kernel_us);
  }
}

void kineto_sweep_run(KinetoSweep *sweep, GArray *items)
{
  g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(Open));

  g_array_sort(items, compare_items);
  for (guint i = 0; i < items->len; i++) {
    const KinetoItem *item = &g_array_index(items, KinetoItem, i);
    if (i > 0 && item->thread != g_array_index(items, KinetoItem, i - 1).thread)
      g_array_set_size(stack, 0);
    take_item(sweep, item, i + 1, stack);
  }
  settle_pending(sweep);
}
