/**
 * @file keyed.c
 * @brief Every gradient leaves as soon as it is ready, in pieces that know their server.
 *
 * What BytePS, MXNet's KVStore and P3 have in common; they differ in how they cut and place
 * (models/placement.h) and in whether the pieces of the first layers go first.
 */
#include "models/schedule.h"

typedef struct {
  const KeyedRule *rule;
  const Workload *workload;
  guint *first;  /* piece of each gradient; the next one's is the end */
  GArray *queue; /* guint32: gradients in the order they became ready */
  guint n_sent;  /* of them, entirely */
  guint n_parts; /* of the one under way, gone */
} Keyed;

static void *keyed_new(const void *params, const Workload *workload)
{
  Keyed *self = g_new0(Keyed, 1);
  const guint n = workload_n_gradients(workload);

  self->rule = params;
  self->workload = workload;
  self->first = g_new0(guint, n + 1);
  for (guint i = 0; i < self->rule->pieces->len; i++)
    self->first[g_array_index(self->rule->pieces, Piece, i).gradient + 1]++;
  for (guint g = 0; g < n; g++)
    self->first[g + 1] += self->first[g];
  self->queue = g_array_sized_new(FALSE, FALSE, sizeof(guint32), n);
  return self;
}

static void keyed_free(void *data)
{
  Keyed *self = data;
  g_array_unref(self->rule->pieces);
  g_free((KeyedRule *)self->rule);
  g_free(self->first);
  g_array_unref(self->queue);
  g_free(self);
}

static void keyed_begin(void *data, guint iteration G_GNUC_UNUSED,
                        double now_s G_GNUC_UNUSED)
{
  Keyed *self = data;
  g_array_set_size(self->queue, 0);
  self->n_sent = 0;
  self->n_parts = 0;
}

static void keyed_ready(void *data, guint index, double now_s G_GNUC_UNUSED)
{
  Keyed *self = data;
  const guint32 gradient = index;
  g_array_append_val(self->queue, gradient);
}

static ScheduleAnswer keyed_next(void *data, double now_s G_GNUC_UNUSED, Unit *unit,
                                 double *again_s G_GNUC_UNUSED)
{
  Keyed *self = data;

  if (self->n_sent == self->queue->len)
    return SCHEDULE_IDLE;
  const guint32 index = g_array_index(self->queue, guint32, self->n_sent);
  const Piece *piece =
    &g_array_index(self->rule->pieces, Piece, self->first[index] + self->n_parts);
  unit_add(unit, index, piece->size_B);
  unit->server = piece->server;
  unit->piece = self->first[index] + self->n_parts;
  unit->n_parts = self->first[index + 1] - self->first[index];
  unit->priority =
    self->rule->first_layers_first ? workload_gradient(self->workload, index)->tensor : 0;
  if (++self->n_parts == unit->n_parts) {
    self->n_parts = 0;
    self->n_sent++;
  }
  return SCHEDULE_UNIT;
}

const ScheduleOps schedule_keyed = {
  .info = {
    .name = "keyed",
    .summary = "every gradient when it is ready, in pieces that know their server",
    .source = "byteps 0.2.5 operations.cc; MXNet kvstore_dist.h, p3store.h",
  },
  .forgets = true,
  .new = keyed_new,
  .free = keyed_free,
  .begin = keyed_begin,
  .ready = keyed_ready,
  .next = keyed_next,
};
