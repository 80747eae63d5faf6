/**
 * @file test_adaptive.c
 * @brief Codecs chosen bucket by bucket, and anew when predictions fail.
 */
#include "models/unit_plan.h"
#include "sim/base/rng.h"
#include "tests/unit/forecast.h"

/* What may separate a plan's end from the simulated one: clocks that add in other orders.
 */
#define TOL_PLAN 1e-6
#define TOL_ROUNDING 1e-12

/* ---- plans ------------------------------------------------------------------------- */

/* Two units, ready at 0 and 10 s; a codec takes 3 s more before and cuts 20 s to 5 s. Both
 * encoded end at 20 s, neither at 42 s. */
static void test_a_plan_is_that_of_the_hand(void)
{
  static const double ready_s[] = { 0, 10 };
  static const WayCost costs[] = { { 1, 20, 1 }, { 4, 5, 1 }, { 1, 20, 1 }, { 4, 5, 1 } };
  const UnitPlan plan = { 2, 2, ready_s, costs };
  guint ways[] = { 0, 0 };

  CU_ASSERT_DOUBLE_EQUAL(unit_plan_end_s(&plan, ways), 42, TOL_ROUNDING);
  CU_ASSERT_DOUBLE_EQUAL(unit_plan_choose(&plan, ways), 20, TOL_ROUNDING);
  CU_ASSERT(ways[0] == 1 && ways[1] == 1);
}

/* The first now takes 9 s as it is: it ends before anybody waits for it. */
static void test_what_nobody_waits_for_travels_as_it_is(void)
{
  static const double ready_s[] = { 0, 10 };
  static const WayCost costs[] = { { 1, 9, 1 }, { 4, 5, 1 }, { 1, 20, 1 }, { 4, 5, 1 } };
  const UnitPlan plan = { 2, 2, ready_s, costs };
  guint ways[] = { 0, 0 };

  CU_ASSERT_DOUBLE_EQUAL(unit_plan_choose(&plan, ways), 20, TOL_ROUNDING);
  CU_ASSERT(ways[0] == 0 && ways[1] == 1);
}

enum { N_UNITS = 5, N_WAYS = 3 };

/* The best of all N_WAYS ^ N_UNITS plans. */
static double best_of_all_s(const UnitPlan *plan)
{
  guint ways[N_UNITS], n_plans = 1;
  double best_s = G_MAXDOUBLE;

  for (guint u = 0; u < N_UNITS; u++)
    n_plans *= N_WAYS;
  for (guint p = 0; p < n_plans; p++) {
    guint rest = p;
    for (guint u = 0; u < N_UNITS; u++, rest /= N_WAYS)
      ways[u] = rest % N_WAYS;
    best_s = MIN(best_s, unit_plan_end_s(plan, ways));
  }
  return best_s;
}

static void draw(Rng *rng, double *ready_s, WayCost *costs)
{
  double now_s = 0;

  for (guint u = 0; u < N_UNITS; u++)
    ready_s[u] = now_s += rng_uniform(rng);
  for (guint i = 0; i < N_UNITS * N_WAYS; i++)
    costs[i] =
      (WayCost){ rng_uniform(rng) / 2, 2 * rng_uniform(rng), rng_uniform(rng) / 2 };
}

/* Never later than any one way for all; and seldom later than the best of all plans. */
static void test_plans_are_no_worse_than_one_way_for_all(void)
{
  enum { N_DRAWS = 200 };
  Rng *rng = rng_stream(1, "plans");
  double ready_s[N_UNITS], lost = 0;
  WayCost costs[N_UNITS * N_WAYS];
  guint ways[N_UNITS];

  for (guint i = 0; i < N_DRAWS; i++) {
    draw(rng, ready_s, costs);
    const UnitPlan plan = { N_UNITS, N_WAYS, ready_s, costs };
    const double chosen_s = unit_plan_choose(&plan, ways);
    for (guint way = 0; way < N_WAYS; way++) {
      const guint same[N_UNITS] = { way, way, way, way, way };
      CU_ASSERT(chosen_s <= unit_plan_end_s(&plan, same) * (1 + TOL_ENGINE));
    }
    lost += chosen_s / best_of_all_s(&plan) - 1;
  }
  CU_ASSERT(lost / N_DRAWS < 0.01);
  rng_free(rng);
}

/* ---- runs -------------------------------------------------------------------------- */

#define CODECS                                                                             \
  "\"codecs\": [{\"codec\": \"fp16\"}, {\"codec\": \"topk\", \"ratio\": \"1 %\"}, "        \
  "{\"codec\": \"onebit\"}, {\"codec\": \"powersgd\"}]"

#define ADAPTIVE "\"name\": \"adaptive\", " CODECS
#define DDP "\"name\": \"ddp\", \"broadcast_buffers\": false"

typedef struct {
  guint n_nodes;
  const char *model, *rate, *library;
  guint n_iterations;
} Case;

static char *scenario_of(const Case *self, const char *strategy, const char *compression,
                         const char *others)
{
  return g_strdup_printf(
    "{\"name\": \"test\", \"cluster\": {\"nodes\": %u, \"node\": \"dgx1_v100\", \"nic\": "
    "{\"count\": 1, \"rate\": \"%s\"}, %s \"network\": {\"topology\": \"leaf_spine\", "
    "\"nodes_per_leaf\": 4, \"oversubscription\": 2}}, \"workload\": {\"model\": \"%s\", "
    "\"batch_per_gpu\": 16}, \"library\": {\"name\": \"%s\"}, \"strategy\": {%s}, "
    "\"compression\": {%s}, \"run\": {\"iterations\": %u, \"warmup\": 2}}",
    self->n_nodes, self->rate, others, self->model, self->library, strategy, compression,
    self->n_iterations);
}

static Result *run_case(const Case *self, const char *strategy, const char *compression)
{
  g_autofree char *text = scenario_of(self, strategy, compression, "");

  return forecast_with(text, true);
}

static const Case cases[] = {
  { 2, "resnet50", "100 Gbit/s", "nccl", 4 },
  { 2, "vgg16", "10 Gbit/s", "nccl", 4 },
  { 8, "vgg16", "25 Gbit/s", "nccl", 4 },
  { 8, "bert_large", "25 Gbit/s", "nccl", 4 },
  { 8, "bert_large", "10 Gbit/s", "adaptive", 4 },
  { 16, "resnet50", "1 Gbit/s", "nccl", 4 },
  { 16, "vgg16", "100 Gbit/s", "adaptive", 4 },
};

static void test_no_single_codec_is_faster(void)
{
  static const char *const fixed[] = {
    "\"codec\": \"none\"",
    "\"codec\": \"fp16\"",
    "\"codec\": \"topk\", \"ratio\": \"1 %\"",
    "\"codec\": \"onebit\"",
    "\"codec\": \"powersgd\"",
  };
  guint n_mixed = 0;

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    g_autoptr(Result) chosen = run_case(&cases[c], ADAPTIVE, "");
    CU_ASSERT_EQUAL(chosen->n_redecisions, 0);
    CU_ASSERT(chosen->decisions->len > 0);
    n_mixed += chosen->decisions->len > 1;
    for (guint f = 0; f < G_N_ELEMENTS(fixed); f++) {
      g_autoptr(Result) result = run_case(&cases[c], DDP, fixed[f]);
      CU_ASSERT(chosen->iteration_time_s <= result->iteration_time_s * (1 + TOL_PLAN));
    }
  }
  CU_ASSERT(n_mixed > 0); /* else one codec for all would do */
}

static void test_nothing_is_encoded_unless_listed(void)
{
  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    g_autoptr(Result) plain = run_case(&cases[c], "\"name\": \"adaptive\"", "");
    g_autoptr(Result) ddp = run_case(&cases[c], DDP, "");
    CU_ASSERT_STRING_EQUAL(plain->codec, "none");
    CU_ASSERT_DOUBLE_EQUAL(plain->iteration_time_s / ddp->iteration_time_s, 1, TOL_ENGINE);
  }
}

static void test_rules_of_compression_bind_choices(void)
{
  g_autoptr(Result) free = run_case(&cases[1], ADAPTIVE, "");
  g_autoptr(Result) bound = run_case(&cases[1], ADAPTIVE, "\"min_size\": \"100 MiB\"");

  CU_ASSERT(free->message_B < bound->message_B);
}

/* After five iterations another job takes half of every link. */
#define LATE_JOB                                                                           \
  "\"other_jobs\": [{\"nodes\": 8, \"first_node\": 0, \"bytes\": \"4 GiB\", \"every\": "   \
  "\"1 ms\", \"from\": \"600 ms\"}],"

#define FP16 "\"name\": \"adaptive\", \"codecs\": [{\"codec\": \"fp16\"}]"

static Result *run_late(const char *strategy, bool fold)
{
  static const Case slow = { 8, "vgg16", "100 Gbit/s", "nccl", 10 };
  g_autofree char *text = scenario_of(&slow, strategy, "", LATE_JOB);

  return forecast_with(text, fold);
}

static void test_decisions_are_made_anew_when_links_get_slow(void)
{
  g_autoptr(Result) chosen = run_late(FP16, true);
  g_autoptr(Result) explicit = run_late(FP16, false);
  g_autoptr(Result) stubborn = run_late(FP16 ", \"drift\": \"100 %\"", true);

  CU_ASSERT_EQUAL(chosen->n_redecisions, 1);
  CU_ASSERT_EQUAL(stubborn->n_redecisions, 0);
  CU_ASSERT(chosen->iteration_time_s < 0.95 * stubborn->iteration_time_s);
  CU_ASSERT_DOUBLE_EQUAL(chosen->iteration_time_s / explicit->iteration_time_s, 1,
                         TOL_ENGINE);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("adaptive", NULL, NULL);

  CU_ADD_TEST(suite, test_a_plan_is_that_of_the_hand);
  CU_ADD_TEST(suite, test_what_nobody_waits_for_travels_as_it_is);
  CU_ADD_TEST(suite, test_plans_are_no_worse_than_one_way_for_all);
  CU_ADD_TEST(suite, test_no_single_codec_is_faster);
  CU_ADD_TEST(suite, test_nothing_is_encoded_unless_listed);
  CU_ADD_TEST(suite, test_rules_of_compression_bind_choices);
  CU_ADD_TEST(suite, test_decisions_are_made_anew_when_links_get_slow);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
