/**
 * @file horovod_cycle.c
 * @brief Horovod's background loop: cycles, negotiation, fusion.
 *
 * One thread per rank wakes every cycle_time, negotiates with all ranks which gradients
 * are ready everywhere, fuses them and hands the buffers to the communication stream. The
 * negotiation is a collective, so that all ranks step together:
 *
 *     start(c) = max(start(c - 1) + cycle_time, end(c - 1)),  start(0) = 0
 *     end(c)   = start(c) + negotiation
 *
 * A gradient goes with the first cycle that starts when it is ready or later. NCCL
 * operations are only enqueued, so that transfers do not hold up the loop; those of MPI
 * block it until they are done, and end(c) is when the last of the cycle is. Cycles in
 * which nothing is ready all last the same time and are skipped by arithmetic.
 *
 * Negotiation takes the short way when every rank finds every name in its response cache:
 * not in the first iteration, never without a cache (then idle cycles take the long way
 * too), and never with more names than the cache holds, because a least-recently-used
 * cache that is read round and round has always just dropped the name asked for.
 *
 * Fusion walks the ready gradients in order and closes a buffer at the first one that does
 * not fit. Horovod looks ahead only past gradients of another type or device, which a
 * workload does not have: one that is too large ends its search at once. Gradients are
 * never split; one larger than the threshold goes alone, and alone means in place,
 * unpadded.
 *
 * With autotune (horovod_autotune.h) an iteration begins with other knobs where the one
 * before ended a sample.
 *
 * Source: horovod 0.28.1, operations.cc (RunLoopOnce), controller.cc
 * (ComputeResponseList, FuseResponses), response_cache.cc, ops/gpu_operations.cc.
 */
#include "models/schedule.h"

#include "sim/base/units.h"

#include <math.h>

/* A gradient on the way from ready to sent. */
typedef struct {
  guint32 index;
  double ready_s;
} Waiting;

typedef struct {
  HorovodCycleRule rule;
  const Workload *workload;
  bool cached;            /* is every name of this iteration in the cache? */
  double next_s;          /* when the cycle after the last one that took gradients starts */
  GArray *waiting;        /* of Waiting, in the order of this iteration */
  guint n_sent;           /* of them, gone */
  guint n_negotiated;     /* of them, gone or about to go */
  guint n_out;            /* units on their way */
  HorovodCycleRule given; /* before anything was tuned */
  Autotune *autotune;     /* NULL: nothing is */
  double begun_B;         /* gradients of all iterations begun before */
} HorovodCycle;

static void *horovod_cycle_new(const void *params, const Workload *workload)
{
  HorovodCycle *self = g_new0(HorovodCycle, 1);

  self->rule = *(const HorovodCycleRule *)params;
  self->given = self->rule;
  if (self->rule.autotunes)
    self->autotune =
      autotune_new(&self->rule.autotune,
                   &(AutotunePoint){ self->rule.threshold_B, self->rule.cycle_time_s,
                                     self->rule.cache_capacity > 0 });
  self->workload = workload;
  self->waiting =
    g_array_sized_new(FALSE, FALSE, sizeof(Waiting), workload->gradients->len);
  return self;
}

static void horovod_cycle_free(void *data)
{
  HorovodCycle *self = data;
  g_array_unref(self->waiting);
  autotune_free(self->autotune);
  g_free(self);
}

/* Take what is tried from now on, or has been found best. */
static void tune(HorovodCycle *self, double now_s)
{
  const AutotunePoint point = autotune_step(self->autotune, now_s, self->begun_B);
  const double unit_B = self->given.threshold_unit_B;

  self->begun_B += self->workload->gradient_B;
  self->rule.cycle_time_s = point.cycle_time_s;
  self->rule.threshold_B = ceil(floor(point.threshold_B) / unit_B) * unit_B;
  self->rule.cache_capacity = point.cache ? self->given.cache_capacity : 0;
  self->rule.uncached_s = point.cache ? self->given.uncached_s : self->given.no_cache_s;
}

static char *horovod_cycle_tell(const void *data)
{
  const HorovodCycle *self = data;

  if (self->autotune == NULL)
    return NULL;
  g_autofree char *threshold = units_show_bytes(self->rule.threshold_B, 3);
  g_autofree char *cycle = units_show_seconds(self->rule.cycle_time_s, 3);
  return g_strdup_printf("%sfusion_threshold %s, cycle_time %s, cache %s",
                         autotune_is_done(self->autotune) ? "" : "still tuning: ",
                         threshold, cycle, self->rule.cache_capacity > 0 ? "on" : "off");
}

static void horovod_cycle_begin(void *data, guint iteration, double now_s)
{
  HorovodCycle *self = data;

  if (self->autotune != NULL)
    tune(self, now_s);
  self->cached =
    iteration > 0 && self->workload->gradients->len <= self->rule.cache_capacity;
  g_array_set_size(self->waiting, 0);
  self->n_sent = 0;
  self->n_negotiated = 0;
}

static void horovod_cycle_ready(void *data, guint index, double now_s)
{
  HorovodCycle *self = data;
  const Waiting waiting = { .index = index, .ready_s = now_s };
  g_array_append_val(self->waiting, waiting);
}

/* Start of the first cycle that starts at @p ready_s or later. */
static double cycle_at_or_after_s(const HorovodCycle *self, double ready_s)
{
  const double idle_s =
    self->rule.cache_capacity > 0 ? self->rule.cached_s : self->rule.uncached_s;
  const double period_s = MAX(self->rule.cycle_time_s, idle_s);

  const double behind_s = ready_s - SCHEDULE_INSTANT_S - self->next_s;
  const double n_idle = behind_s > 0 && period_s > 0 ? ceil(behind_s / period_s) : 0;

  return MAX(self->next_s + n_idle * period_s, ready_s);
}

/* Let the cycle that starts at @p start_s take what is ready. */
static void take(HorovodCycle *self, double start_s, double negotiation_s)
{
  const GArray *waiting = self->waiting;

  while (self->n_negotiated < waiting->len &&
         g_array_index(waiting, Waiting, self->n_negotiated).ready_s <= start_s)
    self->n_negotiated++;
  self->next_s = start_s + MAX(self->rule.cycle_time_s, negotiation_s);
}

static double gradient_size_B(const HorovodCycle *self, guint position)
{
  const guint32 index = g_array_index(self->waiting, Waiting, position).index;
  return g_array_index(self->workload->gradients, Gradient, index).size_B;
}

static double padded_B(const HorovodCycleRule *rule, double size_B)
{
  return ceil(size_B / rule->padding_B) * rule->padding_B;
}

/* Move the next buffer's worth of negotiated gradients into @p unit. */
static void fuse(HorovodCycle *self, Unit *unit)
{
  const guint first = self->n_sent;
  double fused_B = padded_B(&self->rule, gradient_size_B(self, first));
  guint end = first + 1;

  for (; end < self->n_negotiated; end++) {
    const double size_B = padded_B(&self->rule, gradient_size_B(self, end));
    if (fused_B + size_B > self->rule.threshold_B)
      break;
    fused_B += size_B;
  }
  for (guint position = first; position < end; position++)
    unit_add(unit, g_array_index(self->waiting, Waiting, position).index, 0);
  unit->size_B = end == first + 1 ? gradient_size_B(self, first) : fused_B;
  self->n_sent = end;
}

static ScheduleAnswer horovod_cycle_next(void *data, double now_s, Unit *unit,
                                         double *again_s)
{
  HorovodCycle *self = data;
  const double negotiation_s = self->cached ? self->rule.cached_s : self->rule.uncached_s;

  if (self->n_sent == self->waiting->len)
    return SCHEDULE_IDLE;
  if (self->n_sent == self->n_negotiated) {
    if (self->rule.blocks && self->n_out > 0)
      return SCHEDULE_IDLE;
    const double start_s = cycle_at_or_after_s(
      self, g_array_index(self->waiting, Waiting, self->n_sent).ready_s);
    const double end_s = start_s + negotiation_s;
    if (end_s > now_s + SCHEDULE_INSTANT_S) {
      *again_s = end_s;
      return SCHEDULE_LATER;
    }
    take(self, start_s, negotiation_s);
  }
  fuse(self, unit);
  self->n_out++;
  return SCHEDULE_UNIT;
}

static bool horovod_cycle_finished(void *data, const Unit *unit G_GNUC_UNUSED, double now_s)
{
  HorovodCycle *self = data;

  self->n_out--;
  if (self->rule.blocks)
    self->next_s = MAX(self->next_s, now_s);
  return self->rule.blocks;
}

bool horovod_cycle_can_fuse(const HorovodCycleRule *rule, const Workload *workload)
{
  for (guint index = 1; index < workload->gradients->len; index++) {
    const Gradient *pair = &g_array_index(workload->gradients, Gradient, index - 1);
    if (padded_B(rule, pair[0].size_B) + padded_B(rule, pair[1].size_B) <=
        rule->threshold_B)
      return true;
  }
  return false;
}

const ScheduleOps schedule_horovod_cycle = {
  .info = {
    .name = "horovod_cycle",
    .summary = "cycles of negotiation and fusion, as Horovod's background loop",
    .source = "horovod 0.28.1 operations.cc, controller.cc",
  },
  .new = horovod_cycle_new,
  .free = horovod_cycle_free,
  .begin = horovod_cycle_begin,
  .ready = horovod_cycle_ready,
  .next = horovod_cycle_next,
  .finished = horovod_cycle_finished,
  .tell = horovod_cycle_tell,
};
