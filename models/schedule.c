#include "models/schedule.h"

#include <math.h>

void unit_init(Unit *unit)
{
  *unit = (Unit){ .gradients = g_array_new(FALSE, FALSE, sizeof(guint32)), .n_parts = 1 };
}

void unit_clear(Unit *unit)
{
  g_array_unref(unit->gradients);
  unit->gradients = NULL;
  unit->size_B = 0;
}

void unit_add(Unit *unit, guint32 index, double size_B)
{
  g_array_append_val(unit->gradients, index);
  unit->size_B += size_B;
}

void unit_add_range(Unit *unit, const Workload *workload, guint32 begin, guint32 end)
{
  for (guint32 index = begin; index < end; index++)
    unit_add(unit, index, g_array_index(workload->gradients, Gradient, index).size_B);
}

GArray *schedule_cut_buckets(const Workload *workload, double first_limit_B, double limit_B)
{
  const guint n_gradients = workload->gradients->len;
  GArray *ends = g_array_new(FALSE, FALSE, sizeof(guint32));
  double filled_B = 0;

  for (guint32 index = 0; index < n_gradients; index++) {
    const guint32 end = index + 1;
    filled_B += g_array_index(workload->gradients, Gradient, index).size_B;
    if (filled_B >= (ends->len == 0 ? first_limit_B : limit_B) || end == n_gradients) {
      g_array_append_val(ends, end);
      filled_B = 0;
    }
  }
  return ends;
}

GArray *schedule_cut_buckets_registered(const Workload *workload, double first_limit_B,
                                        double limit_B)
{
  const guint n_gradients = workload->gradients->len;
  g_autoptr(GArray) begins = g_array_new(FALSE, FALSE, sizeof(guint32));
  GArray *ends = g_array_new(FALSE, FALSE, sizeof(guint32));
  double filled_B = 0;

  for (guint32 index = n_gradients; index-- > 0;) {
    filled_B += g_array_index(workload->gradients, Gradient, index).size_B;
    if (filled_B >= (begins->len == 0 ? first_limit_B : limit_B)) {
      g_array_append_val(begins, index);
      filled_B = 0;
    }
  }
  for (guint bucket = begins->len; bucket-- > 0;) {
    const guint32 begin = g_array_index(begins, guint32, bucket);
    if (begin > 0)
      g_array_append_val(ends, begin);
  }
  if (n_gradients > 0) {
    const guint32 end = n_gradients;
    g_array_append_val(ends, end);
  }
  return ends;
}

guint schedule_n_parts(double size_B, double partition_B)
{
  return (guint)MAX(ceil(size_B / partition_B), 1);
}

bool schedule_cuts_any(const Workload *workload, double partition_B)
{
  for (guint i = 0; i < workload_n_gradients(workload); i++)
    if (schedule_n_parts(workload_gradient(workload, i)->size_B, partition_B) > 1)
      return true;
  return false;
}
