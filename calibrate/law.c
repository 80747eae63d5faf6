#include "calibrate/law.h"

#include "calibrate/hops.h"

#include <math.h>
#include <string.h>

const char *const law_form_names[] = {
  [LAW_PIECEWISE] = "piecewise",   [LAW_FLOOR] = "floor",
  [LAW_SATURATION] = "saturation", [LAW_HOPS] = "hops",
  [LAW_CONTENTION] = "contention", NULL,
};

/* "all_reduce/nccl 2.28.9/ring/16 ranks/2 nodes": what the key says, and the form if it
 * joins several curves. */
static char *id_of(const Sample *key, LawForm form)
{
  const char *const texts[] = { key->probe, key->library, key->algo,  key->proto,
                                key->dtype, key->regime,  key->place, key->variant };
  g_autoptr(GString) id = g_string_new(NULL);

  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    if (*texts[i] != '\0')
      g_string_append_printf(id, "%s%s", id->len > 0 ? "/" : "", texts[i]);
  if (form == LAW_HOPS)
    g_string_append(id, "/hops");
  else if (key->ranks > 1)
    g_string_append_printf(id, "/%u ranks/%u node%s", key->ranks, key->nodes,
                           key->nodes == 1 ? "" : "s");
  return g_string_free(g_steal_pointer(&id), FALSE);
}

static void parameter_clear(void *data)
{
  LawParameter *parameter = data;
  g_free(parameter->name);
}

Law *law_new(const Sample *key, LawForm form)
{
  Law *law = g_new0(Law, 1);

  law->id = id_of(key, form);
  law->key = sample_copy(key);
  law->form = form;
  law->segments = g_array_new(FALSE, TRUE, sizeof(LawSegment));
  law->parameters = g_array_new(FALSE, TRUE, sizeof(LawParameter));
  g_array_set_clear_func(law->parameters, parameter_clear);
  law->candidates = g_array_new(FALSE, TRUE, sizeof(LawCandidate));
  law->knots = g_array_new(FALSE, TRUE, sizeof(LawKnot));
  law->source = key->source;
  law->nodes_from = law->nodes_to = key->nodes;
  return law;
}

void law_free(Law *law)
{
  if (law == NULL)
    return;
  g_free(law->id);
  sample_free(law->key);
  g_array_unref(law->segments);
  g_array_unref(law->parameters);
  g_array_unref(law->candidates);
  g_array_unref(law->knots);
  g_free(law);
}

void law_add_parameter(Law *law, const char *name, Estimate estimate)
{
  const LawParameter parameter = { g_strdup(name), estimate };

  g_array_append_val(law->parameters, parameter);
}

const Estimate *law_parameter(const Law *law, const char *name)
{
  for (guint i = 0; i < law->parameters->len; i++) {
    const LawParameter *parameter = &g_array_index(law->parameters, LawParameter, i);
    if (strcmp(parameter->name, name) == 0)
      return &parameter->estimate;
  }
  return NULL;
}

static double value_of(const Law *law, const char *name)
{
  const Estimate *estimate = law_parameter(law, name);

  return estimate == NULL ? 0 : estimate->value;
}

/* The segment that holds @p size, or the nearest. */
static double segments_s(const Law *law, double size)
{
  guint s = 0;

  if (law->segments->len == 0)
    return 0;
  while (s + 1 < law->segments->len &&
         size >= g_array_index(law->segments, LawSegment, s + 1).from)
    s++;
  const LawSegment *segment = &g_array_index(law->segments, LawSegment, s);
  return segment->alpha_s.value + segment->s_per_unit.value * size;
}

static double hops_s(const Law *law, double size, guint ranks, guint nodes)
{
  const Hops hops = hops_of(law->key, size, ranks, nodes);

  return hops.launch * value_of(law, "launch_s") + hops.intra * value_of(law, "intra_s") +
         hops.inter * value_of(law, "inter_s") +
         hops.local_B * value_of(law, "local_s_per_B") +
         hops.net_B * value_of(law, "net_s_per_B") +
         hops.reduced_B * value_of(law, "reduce_s_per_B");
}

double law_formula_s(const Law *law, double size, guint ranks, guint nodes)
{
  switch (law->form) {
  case LAW_PIECEWISE:
    return segments_s(law, size);
  case LAW_FLOOR:
    return MAX(value_of(law, "floor_s"),
               value_of(law, "alpha_s") + value_of(law, "s_per_unit") * size);
  case LAW_SATURATION:
    return size / value_of(law, "peak_per_s") *
           (1 + pow(value_of(law, "half") / size, value_of(law, "sharpness")));
  case LAW_HOPS:
    return hops_s(law, size, ranks > 0 ? ranks : law->key->ranks,
                  nodes > 0 ? nodes : law->key->nodes);
  case LAW_CONTENTION:
    return value_of(law, "idle_s") / (1 - value_of(law, "share_per_unit") * size);
  }
  g_return_val_if_reached(0);
}

/* Straight lines between the logarithms. */
static double knots_s(const GArray *knots, double size)
{
  guint right = 1;

  while (g_array_index(knots, LawKnot, right).size < size)
    right++;
  const LawKnot *a = &g_array_index(knots, LawKnot, right - 1);
  const LawKnot *b = &g_array_index(knots, LawKnot, right);
  const double share = log(size / a->size) / log(b->size / a->size);
  return a->time_s * pow(b->time_s / a->time_s, share);
}

double law_time_s(const Law *law, double size, guint ranks, guint nodes)
{
  const guint n = law->knots->len;

  if (law->form == LAW_PIECEWISE && n > 1 && size >= law->valid_from &&
      size <= law->valid_to)
    return knots_s(law->knots, size);
  return law_formula_s(law, size, ranks, nodes);
}
