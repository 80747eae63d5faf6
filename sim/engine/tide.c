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

typedef struct {
  Company company;
  double begin_s;
  double *left_B; /* of each class; INFINITY: it has ended */
  guint n_moving; /* classes that have not */
  bool has_rates; /* of a solution; false: it has just begun */
  sg_sem_t finished;
} Transfer;

struct Tide {
  const Network *network;
  const char *host;
  Shares *shares;
  GPtrArray *moving; /* of Transfer */
  double now_s;      /* how far they are */
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
  g_free(tide);
}

static void transfer_clear(Transfer *transfer)
{
  g_free(transfer->left_B);
  g_free(transfer->company.rates_Bps);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Transfer, transfer_clear)

static Transfer *transfer_at(const Tide *tide, guint index)
{
  return g_ptr_array_index(tide->moving, index);
}

static void end_class(const Tide *tide, Transfer *transfer, guint index)
{
  shares_end_class(tide->shares, &transfer->company, index);
  transfer->left_B[index] = INFINITY;
  transfer->n_moving--;
}

/* Move its classes up to the clock, and let those go that have ended by then. */
static void advance_one(const Tide *tide, Transfer *transfer, double passed_s)
{
  const double age_s = tide->now_s - transfer->begin_s;
  const double soon_s = MAX(together * age_s, clock_step * tide->now_s);
  const double *rates_Bps = transfer->company.rates_Bps;

  for (guint i = 0; transfer->has_rates && i < transfer->company.n; i++) {
    transfer->left_B[i] -= rates_Bps[i] * passed_s;
    if (transfer->left_B[i] <= soon_s * rates_Bps[i])
      end_class(tide, transfer, i);
  }
}

/* Move all up to the clock, and let those go that have ended. */
static void advance(Tide *tide)
{
  const double passed_s = simgrid_get_clock() - tide->now_s;
  guint n = 0;

  tide->now_s = simgrid_get_clock();
  for (guint t = 0; t < tide->moving->len; t++) {
    Transfer *transfer = transfer_at(tide, t);
    advance_one(tide, transfer, passed_s);
    if (transfer->n_moving > 0) {
      g_ptr_array_index(tide->moving, n++) = transfer;
      continue;
    }
    shares_leave(tide->shares, &transfer->company);
    sg_sem_release(transfer->finished);
  }
  g_ptr_array_set_size(tide->moving, (gint)n);
}

/* How long the first of its classes to end still takes: without divisions, which would take
 * as long as all else. */
static double soonest_s(const Transfer *transfer)
{
  const double *rates_Bps = transfer->company.rates_Bps;
  double left_B = INFINITY, rate_Bps = 1;

  for (guint i = 0; i < transfer->company.n; i++)
    if (transfer->left_B[i] * rate_Bps < left_B * rates_Bps[i]) {
      left_B = transfer->left_B[i];
      rate_Bps = rates_Bps[i];
    }
  return left_B / rate_Bps;
}

/* Find the rates of all, and when the first of them ends. */
static void share_out(Tide *tide)
{
  tide->next_s = INFINITY;
  if (tide->moving->len == 0)
    return;
  shares_solve(tide->shares);
  for (guint t = 0; t < tide->moving->len; t++) {
    transfer_at(tide, t)->has_rates = true;
    tide->next_s = MIN(tide->next_s, tide->now_s + soonest_s(transfer_at(tide, t)));
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

/* What of the set has anything to move. */
static void fill_transfer(const Network *network, double size_B, Transfer *transfer)
{
  Company *company = &transfer->company;
  const guint first = network->first_class[company->set];

  company->n = network->first_class[company->set + 1] - first;
  company->rates_Bps = g_new0(double, company->n);
  transfer->left_B = g_new(double, company->n);
  for (guint i = 0; i < company->n; i++) {
    const FlowClass *class = network_class(network, first + i);
    const double left_B = class->n_flows * class->share * size_B;
    const bool moves = network_class_moves(class) && left_B > 0;
    company->rates_Bps[i] = moves ? -1 : 0;
    transfer->left_B[i] = moves ? left_B : INFINITY;
    transfer->n_moving += moves;
  }
}

void tide_move(Tide *tide, guint set, double size_B)
{
  g_auto(Transfer) transfer = { .company = { .set = set }, .begin_s = simgrid_get_clock() };

  fill_transfer(tide->network, size_B, &transfer);
  if (transfer.n_moving == 0)
    return;
  transfer.finished = sg_sem_init(0);
  g_ptr_array_add(tide->moving, &transfer);
  shares_join(tide->shares, &transfer.company);
  call_actor(tide);
  sg_sem_acquire(transfer.finished);
  sg_sem_destroy(transfer.finished);
}
