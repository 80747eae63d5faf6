#include "sim/engine/tide.h"

#include "sim/engine/shares.h"

#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>

/* Classes that end within this part of the age of their transfer end together: what
 * differs is rounding. */
static const double together = 1e-12;

/* No two moments of the clock are nearer, in parts of it. */
static const double clock_step = 1e-15;

/* A class of a transfer that has bytes left. */
typedef struct {
  guint32 class;
  double left_B, rate_Bps;
} Part;

typedef struct {
  guint set;
  double begin_s;
  GArray *parts; /* of Part */
  sg_sem_t finished;
} Transfer;

struct Tide {
  const Network *network;
  const char *host;
  Shares *shares;
  GPtrArray *moving; /* of Transfer, in ascending order of their sets */
  GArray *classes;   /* of guint32: of all parts of all transfers */
  double now_s;      /* how far the parts are */
  double next_s;     /* when the next of them ends */
  bool has_actor, is_called;
  sg_sem_t called; /* raised once for all who call at a time */
};

Tide *tide_new(const Network *network, const char *host)
{
  Tide *tide = g_new0(Tide, 1);
  tide->network = network;
  tide->host = host;
  tide->shares = shares_new(network);
  tide->moving = g_ptr_array_new();
  tide->classes = g_array_new(FALSE, FALSE, sizeof(guint32));
  return tide;
}

void tide_free(Tide *tide)
{
  if (tide == NULL)
    return;
  if (tide->has_actor)
    sg_sem_destroy(tide->called);
  shares_free(tide->shares);
  g_ptr_array_unref(tide->moving);
  g_array_unref(tide->classes);
  g_free(tide);
}

static Transfer *transfer_at(const Tide *tide, guint index)
{
  return g_ptr_array_index(tide->moving, index);
}

static double end_s(const Tide *tide, const Part *part)
{
  return tide->now_s + part->left_B / part->rate_Bps;
}

/* Leave out the parts that have ended by now. */
static void drop_ended(const Tide *tide, Transfer *transfer)
{
  const double age_s = tide->now_s - transfer->begin_s;
  const double soon_s = tide->now_s + MAX(together * age_s, clock_step * tide->now_s);
  guint n = 0;

  for (guint p = 0; p < transfer->parts->len; p++) {
    const Part part = g_array_index(transfer->parts, Part, p);
    if (end_s(tide, &part) > soon_s)
      g_array_index(transfer->parts, Part, n++) = part;
  }
  g_array_set_size(transfer->parts, n);
}

/* Move all parts up to the clock, and let those go that have ended. */
static void advance(Tide *tide)
{
  const double passed_s = simgrid_get_clock() - tide->now_s;
  guint n = 0;

  tide->now_s = simgrid_get_clock();
  for (guint t = 0; t < tide->moving->len; t++) {
    Transfer *transfer = transfer_at(tide, t);
    for (guint p = 0; p < transfer->parts->len; p++) {
      Part *part = &g_array_index(transfer->parts, Part, p);
      part->left_B -= part->rate_Bps * passed_s;
    }
    drop_ended(tide, transfer);
    if (transfer->parts->len > 0)
      g_ptr_array_index(tide->moving, n++) = transfer;
    else
      sg_sem_release(transfer->finished);
  }
  g_ptr_array_set_size(tide->moving, (gint)n);
}

/* Find the rates of all parts, and when the first of them ends. */
static void share_out(Tide *tide)
{
  g_array_set_size(tide->classes, 0);
  for (guint t = 0; t < tide->moving->len; t++) {
    const GArray *parts = transfer_at(tide, t)->parts;
    for (guint p = 0; p < parts->len; p++)
      g_array_append_val(tide->classes, g_array_index(parts, Part, p).class);
  }
  tide->next_s = INFINITY;
  if (tide->classes->len == 0)
    return;
  const double *rate_Bps =
    shares_of(tide->shares, &g_array_index(tide->classes, guint32, 0), tide->classes->len);
  for (guint t = 0; t < tide->moving->len; t++) {
    GArray *parts = transfer_at(tide, t)->parts;
    for (guint p = 0; p < parts->len; p++) {
      Part *part = &g_array_index(parts, Part, p);
      part->rate_Bps = *rate_Bps++;
      tide->next_s = MIN(tide->next_s, end_s(tide, part));
    }
  }
}

static void wait_for_next(Tide *tide)
{
  const double wait_s = tide->next_s - simgrid_get_clock();
  bool timed_out = false;

  if (isinf(tide->next_s))
    sg_sem_acquire(tide->called);
  else
    timed_out = sg_sem_acquire_timeout(tide->called, MAX(0, wait_s)) != 0;
  if (timed_out && tide->is_called)
    sg_sem_acquire(tide->called);
  tide->is_called = false;
}

/* A daemon: SimGrid ends it with the last process. */
static void attend(int argc G_GNUC_UNUSED, char **argv G_GNUC_UNUSED)
{
  Tide *tide = sg_actor_self_get_data();

  for (;;) {
    wait_for_next(tide);
    advance(tide);
    share_out(tide);
  }
}

static void call_actor(Tide *tide)
{
  if (!tide->has_actor) {
    tide->has_actor = true;
    tide->called = sg_sem_init(0);
    tide->next_s = INFINITY;
    sg_actor_t actor = sg_actor_init("tide", sg_host_by_name(tide->host));
    sg_actor_set_data(actor, tide);
    sg_actor_start_(actor, attend, 0, NULL);
    sg_actor_daemonize(actor);
  }
  if (tide->is_called)
    return;
  tide->is_called = true;
  sg_sem_release(tide->called);
}

/* After those of the same set: the same company then has the same order. */
static void insert(Tide *tide, Transfer *transfer)
{
  guint at = tide->moving->len;
  while (at > 0 && transfer_at(tide, at - 1)->set > transfer->set)
    at--;
  g_ptr_array_insert(tide->moving, (gint)at, transfer);
}

void tide_move(Tide *tide, guint set, double size_B)
{
  const Network *network = tide->network;
  g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(Part));
  Transfer transfer = { .set = set, .begin_s = simgrid_get_clock(), .parts = parts };

  for (guint c = network->first_class[set]; c < network->first_class[set + 1]; c++) {
    const FlowClass *class = network_class(network, c);
    const Part part = { .class = c, .left_B = class->n_flows * class->share * size_B };
    if (network_class_moves(class) && part.left_B > 0)
      g_array_append_val(parts, part);
  }
  if (parts->len == 0)
    return;
  transfer.finished = sg_sem_init(0);
  insert(tide, &transfer);
  call_actor(tide);
  sg_sem_acquire(transfer.finished);
  sg_sem_destroy(transfer.finished);
}
