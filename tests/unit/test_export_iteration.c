/**
 * @file test_export_iteration.c
 * @brief An iteration as GOAL text: read again, counted, and played on a star.
 */
#include "sim/command/export_iteration.h"
#include "sim/command/farm.h"
#include "tests/unit/forecast.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdio.h>

/* A scenario of single-GPU nodes on a star, with one algorithm and stated latencies. */
#define SCENARIO(nodes, strategy, algorithm)                                               \
  "{\"cluster\": {\"nodes\": " nodes ", \"node\": {\"gpus\": 1, \"nics\": 1, "             \
  "\"nic_rate\": \"100 Gbit/s\", \"gpu\": \"a100_sxm4_80gb\", \"fabric\": {\"kind\": "     \
  "\"nvswitch\", \"port_rate\": \"100 GB/s\", \"pcie_rate\": \"40 GB/s\"}}, \"network\": " \
  "{\"topology\": \"switch\", \"latency\": \"0 s\"}, \"transport\": {\"kind\": \"rdma\", " \
  "\"latency\": \"0 s\"}}, \"library\": " RULES(                                           \
    algorithm, "1 us", "5 us") ", "                                                        \
                               "\"workload\": {\"model\": \"alexnet\", "                   \
                               "\"batch_per_gpu\": 8}, \"strategy\": " strategy            \
                               ", \"run\": {\"warmup\": 2}}"

static const double alpha_s = 5e-6, nic_Bps = 12.5e9 * 4096 / (4096 + 26);

/* ---- the text ---------------------------------------------------------------------- */

typedef struct {
  char kind; /* 'k', 'd', 'x', 'f', 'o', 's', 'r' */
  guint rank, peer, tag;
  guint64 amount; /* bytes, or ns */
  GArray *needs;  /* of guint: operations */
  double end_s;
} Operation;

typedef struct {
  GArray *operations;
  GHashTable *numbers; /* "rank label" -> number + 1 */
  guint n_ranks, n_mistakes;
} Goal;

static Operation *at(const Goal *goal, guint number)
{
  return &g_array_index(goal->operations, Operation, number);
}

static void operation_clear(gpointer pointer)
{
  g_array_unref(((Operation *)pointer)->needs);
}

static void goal_clear(Goal *goal)
{
  g_array_unref(goal->operations);
  g_hash_table_unref(goal->numbers);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Goal, goal_clear)

/* Only what is above it in the same rank has a label. */
static guint find(Goal *goal, guint rank, const char *label)
{
  g_autofree char *key = g_strdup_printf("%u %s", rank, label);
  return GPOINTER_TO_UINT(g_hash_table_lookup(goal->numbers, key));
}

static void define(Goal *goal, guint rank, char **word, guint n)
{
  g_autofree char *label = g_strndup(word[0], strlen(word[0]) - 1);
  Operation operation = { .kind = *label, .rank = rank };
  const bool sends = *label == 's';

  if (find(goal, rank, label) != 0)
    goal->n_mistakes++;
  operation.needs = g_array_new(FALSE, FALSE, sizeof(guint));
  operation.amount = g_ascii_strtoull(word[2], NULL, 10);
  if (sends || *label == 'r') {
    if (n != 7 || strcmp(word[1], sends ? "send" : "recv") != 0 ||
        strcmp(word[3], sends ? "to" : "from") != 0 || !g_str_has_suffix(word[2], "b"))
      goal->n_mistakes++;
    operation.peer = (guint)g_ascii_strtoull(word[4], NULL, 10);
    operation.tag = (guint)g_ascii_strtoull(word[6], NULL, 10);
  } else if (n != 5 || strcmp(word[1], "calc") != 0 || strcmp(word[3], "cpu") != 0 ||
             operation.amount < 1) {
    goal->n_mistakes++;
  }
  g_array_append_val(goal->operations, operation);
  g_hash_table_insert(goal->numbers, g_strdup_printf("%u %s", rank, label),
                      GUINT_TO_POINTER(goal->operations->len));
}

static void need(Goal *goal, guint rank, char **word)
{
  const guint who = find(goal, rank, word[0]), what = find(goal, rank, word[2]);

  if (who == 0 || what == 0 || what >= who) {
    goal->n_mistakes++;
    return;
  }
  const guint number = what - 1;
  g_array_append_val(at(goal, who - 1)->needs, number);
}

static void goal_read(Goal *goal, const char *text)
{
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  guint rank = 0;

  *goal = (Goal){ .operations = g_array_new(FALSE, FALSE, sizeof(Operation)),
                  .numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL) };
  g_array_set_clear_func(goal->operations, operation_clear);
  for (guint i = 0; lines[i] != NULL; i++) {
    g_auto(GStrv) word = g_strsplit(lines[i], " ", -1);
    const guint n = g_strv_length(word);
    if (n == 0 || g_str_has_prefix(lines[i], "//") || strcmp(lines[i], "}") == 0)
      continue;
    if (n == 2 && strcmp(word[0], "num_ranks") == 0)
      goal->n_ranks = (guint)g_ascii_strtoull(word[1], NULL, 10);
    else if (n == 3 && strcmp(word[0], "rank") == 0)
      rank = (guint)g_ascii_strtoull(word[1], NULL, 10);
    else if (n == 3 && strcmp(word[1], "requires") == 0)
      need(goal, rank, word);
    else if (n >= 5 && g_str_has_suffix(word[0], ":"))
      define(goal, rank, word, n);
    else
      goal->n_mistakes++;
  }
}

/* ---- exports ----------------------------------------------------------------------- */

static bool export_here(guint index G_GNUC_UNUSED, void *data, GString *out, GError **error)
{
  return export_iteration(scenario_setup(data), out, error);
}

static GString *export_of(const char *text, GError **error)
{
  g_autoptr(Scenario) scenario = parse(text);
  const Farm farm = { .n_tasks = 1, .n_workers = 1, .work = export_here, .data = scenario };
  g_autoptr(GPtrArray) answers = farm_run(&farm, error);
  if (answers == NULL)
    return NULL;
  const GString *answer = g_ptr_array_index(answers, 0);
  return g_string_new_len(answer->str, (gssize)answer->len);
}

static void goal_of(Goal *goal, const char *text)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GString) out = export_of(text, &error);

  if (out == NULL)
    fprintf(stderr, "%s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  goal_read(goal, out->str);
  CU_ASSERT_EQUAL(goal->n_mistakes, 0);
}

static const char *const told[] = {
  SCENARIO("4", "{\"name\": \"ddp\"}", "ring"),
  SCENARIO("5", "{\"name\": \"ddp\", \"bucket_cap_mb\": 5}", "double_tree"),
  SCENARIO("4", "{\"name\": \"horovod\"}", "halving_doubling"),
  SCENARIO("3", "{\"name\": \"none\"}", "ring"),
  SCENARIO("4", "{\"name\": \"wait_free\"}", "tree"),
  SCENARIO("4", "{\"name\": \"zero\", \"stage\": 1}", "ring"),
  SCENARIO("1", "{\"name\": \"ddp\"}", "ring"),
};

/* Labels come before what requires them, and every send has its receive. */
static void test_every_send_has_its_receive(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(told); i++) {
    g_auto(Goal) goal;
    guint n_sends = 0, n_receives = 0;
    goal_of(&goal, told[i]);
    for (guint k = 0; k < goal.operations->len; k++) {
      const Operation *one = at(&goal, k);
      n_sends += one->kind == 's';
      n_receives += one->kind == 'r';
      if (one->kind != 's')
        continue;
      g_autofree char *label = g_strdup_printf("r%u", one->tag);
      const guint other = find(&goal, one->peer, label);
      CU_ASSERT_NOT_EQUAL_FATAL(other, 0);
      CU_ASSERT_EQUAL(at(&goal, other - 1)->peer, one->rank);
      CU_ASSERT_EQUAL(at(&goal, other - 1)->amount, one->amount);
    }
    CU_ASSERT_EQUAL(n_sends, n_receives);
    CU_ASSERT_TRUE(n_sends > 0 || goal.n_ranks == 1);
  }
}

static double sum_of(const Goal *goal, guint rank, const char *kinds)
{
  double sum = 0;
  for (guint k = 0; k < goal->operations->len; k++)
    if (at(goal, k)->rank == rank && strchr(kinds, at(goal, k)->kind) != NULL)
      sum += (double)at(goal, k)->amount;
  return sum;
}

/* A ring sends 2 (n - 1) / n of all gradients from every rank. */
static void test_the_bytes_of_all_gradients_travel(void)
{
  static const guint cases[] = { 0, 3 };
  static const guint n_ranks[] = { 4, 3 };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_auto(Goal) goal;
    g_autoptr(Result) result = forecast_with(told[cases[i]], true);
    const double n = n_ranks[i];
    goal_of(&goal, told[cases[i]]);
    for (guint rank = 0; rank < goal.n_ranks; rank++) {
      const double wanted_B = 2 * (n - 1) / n * result->gradient_B;
      CU_ASSERT_DOUBLE_EQUAL(sum_of(&goal, rank, "s") / wanted_B, 1, 1e-6);
    }
  }
}

static void test_ranks_compute_what_the_job_does(void)
{
  for (guint i = 0; i < G_N_ELEMENTS(told); i++) {
    g_auto(Goal) goal;
    g_autoptr(Result) result = forecast_with(told[i], true);
    goal_of(&goal, told[i]);
    for (guint rank = 0; rank < goal.n_ranks; rank++)
      CU_ASSERT_DOUBLE_EQUAL(1e-9 * sum_of(&goal, rank, "ko") / result->compute_time_s, 1,
                             1e-5);
  }
}

/* ---- played ------------------------------------------------------------------------ */

/* When all that operation @p number requires has ended. */
static double begin_of(const Goal *goal, guint number)
{
  const GArray *needs = at(goal, number)->needs;
  double begin_s = 0;

  for (guint i = 0; i < needs->len; i++)
    begin_s = MAX(begin_s, at(goal, g_array_index(needs, guint, i))->end_s);
  return begin_s;
}

/* One message after another on every way from rank to rank, which has a port to itself:
 * exact for a ring. Until nothing changes. */
static double play(Goal *goal)
{
  const guint n = goal->n_ranks;
  bool changes = true;
  double last_s = 0;

  while (changes) {
    g_autofree double *busy_s = g_new0(double, (gsize)n *n);
    changes = false;
    for (guint k = 0; k < goal->operations->len; k++) {
      Operation *one = at(goal, k);
      double end_s = begin_of(goal, k);
      if (one->kind == 'r')
        continue;
      if (one->kind == 's') {
        g_autofree char *label = g_strdup_printf("r%u", one->tag);
        const guint other = find(goal, one->peer, label) - 1;
        double *way_s = &busy_s[one->rank * n + one->peer];
        end_s = MAX(MAX(end_s, begin_of(goal, other)) + alpha_s, *way_s) +
                (double)one->amount / nic_Bps;
        *way_s = end_s;
        at(goal, other)->end_s = end_s;
      } else {
        end_s += 1e-9 * (double)one->amount;
      }
      changes = changes || end_s > one->end_s;
      one->end_s = end_s;
      last_s = MAX(last_s, end_s);
    }
  }
  return last_s;
}

static void test_playing_it_takes_what_we_predict(void)
{
  static const guint cases[] = { 0, 3, 6 };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_auto(Goal) goal;
    g_autoptr(Result) result = forecast_with(told[cases[i]], true);
    goal_of(&goal, told[cases[i]]);
    const double played_s = play(&goal);
    CU_ASSERT_DOUBLE_EQUAL(played_s / result->iteration_time_s, 1, 1e-3);
    if (fabs(played_s / result->iteration_time_s - 1) > 1e-3)
      printf("\n  case %u: %.9g s, not %.9g s\n", cases[i], played_s,
             result->iteration_time_s);
  }
}

static void test_what_cannot_be_told_is_refused(void)
{
  static const struct {
    const char *text, *message;
  } rows[] = {
    { SCENARIO("4", "{\"name\": \"byteps\"}", "ring"), "moves data" },
    { SCENARIO("4", "{\"name\": \"bytescheduler\"}", "ring"), "across the end" },
    { SCENARIO("4", "{\"name\": \"zero\", \"stage\": 3}", "ring"), "in the middle" },
    { SCENARIO("513", "{\"name\": \"ddp\"}", "ring"), "at most 512" },
    { SCENARIO("400", "{\"name\": \"wait_free\"}", "ring"), "more than 1000000 messages" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) out = export_of(rows[i].text, &error);
    CU_ASSERT_PTR_NULL(out);
    CU_ASSERT_TRUE(error != NULL && strstr(error->message, rows[i].message) != NULL);
    if (error != NULL && strstr(error->message, rows[i].message) == NULL)
      printf("\n  %s\n", error->message);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("export_iteration", NULL, NULL);
  CU_ADD_TEST(suite, test_every_send_has_its_receive);
  CU_ADD_TEST(suite, test_the_bytes_of_all_gradients_travel);
  CU_ADD_TEST(suite, test_ranks_compute_what_the_job_does);
  CU_ADD_TEST(suite, test_playing_it_takes_what_we_predict);
  CU_ADD_TEST(suite, test_what_cannot_be_told_is_refused);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
