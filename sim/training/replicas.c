/* Means over replicas, and how far they may be off. */
#include "sim/base/stats.h"
#include "sim/training/training.h"

static double *quantity(Result *result, const ResultField *field)
{
  return (double *)(void *)((char *)result + field->offset);
}

static double mean_of(Result **replicas, guint n, const ResultField *field, double *half)
{
  g_autofree double *values = g_new(double, n);

  for (guint i = 0; i < n; i++)
    values[i] = *quantity(replicas[i], field);
  if (half != NULL)
    *half = stats_mean_half_width(values, n);
  return stats_mean(values, n);
}

static void merge_fields(Result **replicas, guint n, const ResultField *fields)
{
  for (; fields->key != NULL; fields++)
    if (fields->type == FIELD_QUANTITY || fields->type == FIELD_SHARE)
      *quantity(replicas[0], fields) = mean_of(replicas, n, fields, NULL);
}

static void merge_links_and_stages(Result **replicas, guint n)
{
  for (guint i = 1; i < n; i++) {
    for (guint l = 0; l < replicas[0]->links->len; l++) {
      LinkUse *use = &g_array_index(replicas[0]->links, LinkUse, l);
      const LinkUse *other = &g_array_index(replicas[i]->links, LinkUse, l);
      use->mean += (other->mean - use->mean) / (i + 1);
      use->peak = MAX(use->peak, other->peak);
    }
    for (guint s = 0; s < replicas[0]->stages->len; s++) {
      StageUse *use = &g_array_index(replicas[0]->stages, StageUse, s);
      use->busy_s +=
        (g_array_index(replicas[i]->stages, StageUse, s).busy_s - use->busy_s) / (i + 1);
    }
  }
}

Result *training_merge(Result **replicas, guint n)
{
  const ResultField time = { .offset = offsetof(Result, iteration_time_s) };
  const ResultField speed = { .offset = offsetof(Result, throughput_samples_per_s) };
  Result *merged = replicas[0];

  if (n > 1) {
    double time_half_s, speed_half;
    mean_of(replicas, n, &time, &time_half_s);
    mean_of(replicas, n, &speed, &speed_half);
    merge_fields(replicas, n, result_fields);
    merge_fields(replicas, n, result_latency_fields);
    merge_links_and_stages(replicas, n);
    merged->iteration_time_half_s = time_half_s;
    merged->throughput_half_samples_per_s = speed_half;
    merged->replicas = n;
  }
  for (guint i = 1; i < n; i++)
    result_free(replicas[i]);
  return merged;
}
