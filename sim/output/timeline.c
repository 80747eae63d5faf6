#include "sim/output/timeline.h"

/* A transfer begins or ends. */
typedef struct {
  double time_s;
  double change; /* of the share */
  int n_active;  /* change of the number of transfers */
} Edge;

static int compare_edges(gconstpointer a, gconstpointer b)
{
  const double left_s = ((const Edge *)a)->time_s, right_s = ((const Edge *)b)->time_s;

  return (left_s > right_s) - (left_s < right_s);
}

static GArray *edges_of(const Result *result, guint tier)
{
  GArray *edges = g_array_new(FALSE, FALSE, sizeof(Edge));

  for (guint i = 0; i < result->link_spans->len; i++) {
    const LinkSpan *span = &g_array_index(result->link_spans, LinkSpan, i);
    if (span->tier != tier || span->end_s <= span->start_s)
      continue;
    const Edge begin = { span->start_s, span->mean, 1 };
    const Edge end = { span->end_s, -span->mean, -1 };
    g_array_append_val(edges, begin);
    g_array_append_val(edges, end);
  }
  g_array_sort(edges, compare_edges);
  return edges;
}

GArray *timeline_use(const Result *result, guint tier)
{
  g_autoptr(GArray) edges = edges_of(result, tier);
  GArray *steps = g_array_new(FALSE, FALSE, sizeof(UseStep));
  double sum = 0;
  int n_active = 0;

  for (guint i = 0; i < edges->len; i++) {
    const Edge *edge = &g_array_index(edges, Edge, i);
    n_active += edge->n_active;
    /* Back to exactly 0 when nothing is in flight, whatever rounding left over. */
    sum = n_active > 0 ? sum + edge->change : 0;
    if (i + 1 < edges->len && g_array_index(edges, Edge, i + 1).time_s == edge->time_s)
      continue;
    const UseStep step = { edge->time_s, CLAMP(sum, 0, 1) };
    g_array_append_val(steps, step);
  }
  return steps;
}

bool timeline_last(const Result *result, double *start_s, double *end_s)
{
  if (result->spans->len == 0)
    return false;
  if (result->last_end_s > result->last_start_s) {
    *start_s = result->last_start_s;
    *end_s = result->last_end_s;
    return true;
  }
  /* Not marked: the iteration that ends with the timeline. */
  *end_s = 0;
  for (guint i = 0; i < result->spans->len; i++)
    *end_s = MAX(*end_s, g_array_index(result->spans, Span, i).end_s);
  *start_s = MAX(*end_s - result->iteration_time_s, 0);
  return *end_s > *start_s;
}
