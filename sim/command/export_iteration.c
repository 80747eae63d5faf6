/* export iteration: what a job computes and sends in one iteration, as GOAL text. */
#include "sim/command/export_iteration.h"

#include "models/group_ports.h"
#include "sim/base/units.h"
#include "sim/output/goal.h"
#include "sim/training/training.h"

#include <stdlib.h>

#define MAX_RANKS 512
/* About 150 MB of text. */
#define MAX_MESSAGES 1000000

/* What the journal becomes. */
typedef struct {
  const Topology *topology;
  bool cross_nic; /* of the library's rules */
  const Group *group;
  const GroupPorts *ports;
  const Journal *journal;
  Plan *plan;
  GArray *exchanges; /* of GoalExchange */
  GArray *ready_s;   /* of double: when pieces of computing end, ascending */
  GArray *pieces_s;  /* of double: how long they are */
} Iteration;

static void iteration_clear(Iteration *iteration)
{
  plan_free(iteration->plan);
  g_array_unref(iteration->exchanges);
  g_array_unref(iteration->ready_s);
  g_array_unref(iteration->pieces_s);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Iteration, iteration_clear)

static const JournalEntry *entry_at(const Iteration *iteration, guint index)
{
  return &g_array_index(iteration->journal->entries, JournalEntry, index);
}

/* ---- computing --------------------------------------------------------------------- */

static int compare(gconstpointer a, gconstpointer b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Computing begins when what it fetches has come. */
static double begin_s(const Iteration *iteration)
{
  double begin_s = 0;

  for (guint e = 0; e < iteration->journal->entries->len; e++)
    if (entry_at(iteration, e)->is_fetch)
      begin_s = MAX(begin_s, entry_at(iteration, e)->done_s);
  return begin_s;
}

/* A piece for every instant at which something gets ready, and the rest of backward. */
static void cut_computing(Iteration *iteration)
{
  const double from_s = begin_s(iteration), end_s = from_s + iteration->journal->compute_s;
  g_autoptr(GArray) times_s = g_array_new(FALSE, FALSE, sizeof(double));
  double last_s = from_s;

  for (guint e = 0; e < iteration->journal->entries->len; e++)
    if (!entry_at(iteration, e)->is_fetch)
      g_array_append_val(times_s, entry_at(iteration, e)->ready_s);
  g_array_append_val(times_s, end_s);
  g_array_sort(times_s, compare);
  for (guint i = 0; i < times_s->len; i++) {
    const double time_s = g_array_index(times_s, double, i);
    const double piece_s = time_s - last_s;
    if (i > 0 && !(piece_s > SCHEDULE_INSTANT_S))
      continue;
    g_array_append_val(iteration->ready_s, time_s);
    g_array_append_val(iteration->pieces_s, piece_s);
    last_s = time_s;
  }
}

/* The piece of computing that ends when the entry is ready. */
static guint piece_before(const Iteration *iteration, const JournalEntry *entry)
{
  guint piece = 0;

  while (piece + 1 < iteration->ready_s->len &&
         g_array_index(iteration->ready_s, double, piece) + SCHEDULE_INSTANT_S <
           entry->ready_s)
    piece++;
  return piece;
}

/* ---- exchanges --------------------------------------------------------------------- */

/* The last entry before @p index of the same message, or of the same stream. */
static guint entry_before(const Iteration *iteration, guint index, bool of_stream)
{
  const JournalEntry *entry = entry_at(iteration, index);

  for (guint e = index; e-- > 0;) {
    const JournalEntry *other = entry_at(iteration, e);
    if (of_stream ? other->stream == entry->stream : other->unit == entry->unit)
      return e;
  }
  return GOAL_NONE;
}

static bool ends_its_unit(const Iteration *iteration, guint index)
{
  for (guint e = index + 1; e < iteration->journal->entries->len; e++)
    if (entry_at(iteration, e)->unit == entry_at(iteration, index)->unit)
      return false;
  return true;
}

static Plan *plan_of(const Iteration *iteration, const JournalEntry *entry)
{
  const CollCall call = {
    .kind = entry->kind,
    .group = iteration->group,
    .n_rails = iteration->ports->n_rails,
    .nics = iteration->ports->nics,
    .chunk_B = entry->chunk_B,
    .cross_nic = iteration->cross_nic,
    .layout = iteration->topology,
  };
  return coll_plan_new(entry->collective, &call, entry->size_B);
}

static void describe(Iteration *iteration, guint index, guint first)
{
  const JournalEntry *entry = entry_at(iteration, index);
  const guint by_unit = entry_before(iteration, index, false);
  const guint by_stream = entry_before(iteration, index, true);
  const bool waits = !entry->is_fetch && by_unit == GOAL_NONE;
  double from_s = waits ? entry->ready_s : 0;

  if (by_unit != GOAL_NONE)
    from_s = MAX(from_s, entry_at(iteration, by_unit)->end_s);
  if (by_stream != GOAL_NONE)
    from_s = MAX(from_s, entry_at(iteration, by_stream)->end_s);
  const GoalExchange exchange = {
    .first = first,
    .end = plan_n_steps(iteration->plan),
    .after_compute = waits ? piece_before(iteration, entry) : GOAL_NONE,
    .after = { by_unit, by_stream == by_unit ? GOAL_NONE : by_stream },
    .wait_s = entry->start_s - from_s,
    .finish_s = ends_its_unit(iteration, index) ? entry->done_s - entry->end_s : 0,
    .before_compute = entry->is_fetch,
  };
  g_array_append_val(iteration->exchanges, exchange);
}

/* Ranks are GPUs; switches that sum come behind them, the same for all collectives. */
static guint count_switches(const Iteration *iteration)
{
  guint most = 0;

  for (guint e = 0; e < iteration->journal->entries->len; e++) {
    const JournalEntry *entry = entry_at(iteration, e);
    const CollCall call = { .kind = entry->kind, .group = iteration->group };
    if (entry->collective->n_switches != NULL)
      most = MAX(most, entry->collective->n_switches(&call));
  }
  return most;
}

static bool add_exchanges(Iteration *iteration, GError **error)
{
  const guint n_ranks = iteration->group->n_ranks + count_switches(iteration);
  g_autofree guint *ranks = g_new(guint, n_ranks);

  for (guint i = 0; i < n_ranks; i++)
    ranks[i] = i;
  iteration->plan = plan_new(n_ranks, 0);
  for (guint e = 0; e < iteration->journal->entries->len; e++) {
    g_autoptr(Plan) part = plan_of(iteration, entry_at(iteration, e));
    if (plan_n_steps(iteration->plan) + plan_n_steps(part) > MAX_MESSAGES) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                  "an iteration of %u collectives on %u ranks has more than %u messages, "
                  "too many to write: take fewer nodes, or larger buckets",
                  iteration->journal->entries->len, iteration->group->n_ranks,
                  MAX_MESSAGES);
      return false;
    }
    describe(iteration, e, plan_append(iteration->plan, part, ranks));
  }
  return true;
}

/* ---- the text ---------------------------------------------------------------------- */

static void render(const Iteration *iteration, const Setup *setup, const Result *result,
                   GString *out)
{
  const GoalIteration goal = {
    .plan = iteration->plan,
    .n_gpus = iteration->group->n_ranks,
    .exchanges = (const GoalExchange *)(gpointer)iteration->exchanges->data,
    .n_exchanges = iteration->exchanges->len,
    .compute_s = (const double *)(gpointer)iteration->pieces_s->data,
    .n_pieces = iteration->pieces_s->len,
    .optimizer_s = iteration->journal->optimizer_s,
  };
  g_autofree char *time = units_show_seconds(result->iteration_time_s, 4);
  g_autofree char *comment = g_strdup_printf(
    "one iteration of %s: %s, strategy %s, %u GPUs, %u collectives, %u messages; predicted "
    "here: %s%s",
    setup->name, setup->model->name, setup->strategy->info.name, goal.n_gpus,
    goal.n_exchanges, plan_n_steps(goal.plan), time,
    plan_n_ranks(goal.plan) > goal.n_gpus ? "; ranks beyond are switches" : "");

  goal_render_iteration(&goal, comment, out);
}

bool export_iteration(const Setup *setup, GString *out, GError **error)
{
  const ClusterSpec cluster = setup_cluster(setup);
  g_autoptr(Topology) topology = topology_new(&cluster, error);
  Setup once = *setup;
  g_auto(Journal) journal = { 0 };
  const TrainingConfig config = { .fold = true, .journal = &journal };

  if (topology == NULL)
    return false;
  if (topology_n_gpus(topology) > MAX_RANKS) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%u ranks are too many to write every message of an iteration; at most %u: "
                "--set cluster.nodes=%u",
                topology_n_gpus(topology), MAX_RANKS,
                MAX(MAX_RANKS / topology_gpus_per_node(topology), 1));
    return false;
  }
  once.run.iterations = 1;
  journal_init(&journal);
  g_autoptr(Result) result = training_forecast(&once, &config, error);
  if (result == NULL)
    return false;
  g_autoptr(Group) group = group_new_all(topology);
  g_auto(GroupPorts) ports = group_ports_of(group, topology);
  g_auto(Iteration) iteration = {
    .topology = topology,
    .cross_nic = cluster.rules.cross_nic,
    .group = group,
    .ports = &ports,
    .journal = &journal,
    .exchanges = g_array_new(FALSE, FALSE, sizeof(GoalExchange)),
    .ready_s = g_array_new(FALSE, FALSE, sizeof(double)),
    .pieces_s = g_array_new(FALSE, FALSE, sizeof(double)),
  };
  cut_computing(&iteration);
  if (!add_exchanges(&iteration, error))
    return false;
  render(&iteration, setup, result, out);
  return true;
}
