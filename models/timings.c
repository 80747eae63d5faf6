#include "models/timings.h"

static void timing_clear(gpointer item)
{
  Timing *timing = item;
  g_free(timing->algorithm);
  g_free(timing->protocol);
  g_free(timing->bottleneck);
}

Timings *timings_new(void)
{
  Timings *timings = g_new0(Timings, 1);

  timings->rows = g_array_new(FALSE, FALSE, sizeof(Timing));
  g_array_set_clear_func(timings->rows, timing_clear);
  timings->constants = constants_new();
  timings->n_groups = 1;
  return timings;
}

void timings_free(Timings *timings)
{
  g_free(timings->collective);
  g_free(timings->cluster);
  g_free(timings->engine);
  g_free(timings->group);
  g_array_unref(timings->rows);
  g_array_unref(timings->constants);
  g_free(timings);
}

double timings_mean_busbw_Bps(const Timings *timings)
{
  double sum_Bps = 0;

  for (guint i = 0; i < timings->rows->len; i++)
    sum_Bps += g_array_index(timings->rows, Timing, i).busbw_Bps;
  return timings->rows->len > 0 ? sum_Bps / timings->rows->len : 0;
}
