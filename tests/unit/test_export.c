/**
 * @file test_export.c
 * @brief What we write for other simulators, read again.
 */
#include "sim/output/goal.h"
#include "sim/output/platform.h"
#include "tests/unit/cluster_fixture.h"

#include "models/collective.h"

#include <CUnit/Basic.h>
#include <math.h>

/* GOAL knows whole bytes: a message may be off by half of one. */
#define TOL_WHOLE_BYTES 0.5

/** A statement of a GOAL text. */
typedef struct {
  guint rank, peer, tag;
  guint64 size_B;
  bool is_send;
} Operation;

/** A GOAL text, read the way LogGOPSim's grammar has it. */
typedef struct {
  guint n_ranks;
  GHashTable *operations; /* "rank label" -> Operation */
  GPtrArray *waits;       /* of char: "rank label" before "rank label", two by two */
  guint n_mistakes;
} Goal;

static void goal_init(Goal *goal)
{
  *goal =
    (Goal){ .operations = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
            .waits = g_ptr_array_new_with_free_func(g_free) };
}

static void goal_clear(Goal *goal)
{
  g_hash_table_unref(goal->operations);
  g_ptr_array_unref(goal->waits);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Goal, goal_clear)

static guint number(Goal *goal, const char *text, const char *suffix)
{
  char *end = NULL;
  const guint64 value = g_ascii_strtoull(text, &end, 10);

  if (end == text || strcmp(end, suffix) != 0 || value > G_MAXUINT)
    goal->n_mistakes++;
  return (guint)value;
}

/* LABEL: send BYTESb to PEER tag TAG, or recv ... from. */
static void read_operation(Goal *goal, guint rank, char **word)
{
  Operation *operation = g_new(Operation, 1);
  const bool is_send = strcmp(word[1], "send") == 0;
  g_autofree char *label = g_strndup(word[0], strlen(word[0]) - 1);

  if (!is_send && strcmp(word[1], "recv") != 0)
    goal->n_mistakes++;
  if (strcmp(word[3], is_send ? "to" : "from") != 0 || strcmp(word[5], "tag") != 0)
    goal->n_mistakes++;
  *operation = (Operation){ .rank = rank,
                            .peer = number(goal, word[4], ""),
                            .tag = number(goal, word[6], ""),
                            .size_B = number(goal, word[2], "b"),
                            .is_send = is_send };
  if (!g_hash_table_insert(goal->operations, g_strdup_printf("%u %s", rank, label),
                           operation))
    goal->n_mistakes++;
}

static void read_line(Goal *goal, const char *line, guint *rank)
{
  g_auto(GStrv) word = g_strsplit(line, " ", -1);
  const guint n = g_strv_length(word);

  if (n == 0 || g_str_has_prefix(line, "//"))
    return;
  if (n == 2 && strcmp(word[0], "num_ranks") == 0 && goal->n_ranks == 0)
    goal->n_ranks = number(goal, word[1], "");
  else if (n == 3 && strcmp(word[0], "rank") == 0 && strcmp(word[2], "{") == 0 &&
           *rank == G_MAXUINT)
    *rank = number(goal, word[1], "");
  else if (n == 1 && strcmp(word[0], "}") == 0 && *rank != G_MAXUINT)
    *rank = G_MAXUINT;
  else if (n == 3 && strcmp(word[1], "requires") == 0 && *rank != G_MAXUINT) {
    g_ptr_array_add(goal->waits, g_strdup_printf("%u %s", *rank, word[0]));
    g_ptr_array_add(goal->waits, g_strdup_printf("%u %s", *rank, word[2]));
  } else if (n == 7 && g_str_has_suffix(word[0], ":") && *rank != G_MAXUINT)
    read_operation(goal, *rank, word);
  else
    goal->n_mistakes++;
}

static void goal_read(Goal *goal, const char *text)
{
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  guint rank = G_MAXUINT;

  for (guint i = 0; lines[i] != NULL; i++)
    read_line(goal, lines[i], &rank);
  CU_ASSERT_EQUAL(rank, G_MAXUINT);
}

static const Operation *operation_at(const Goal *goal, guint rank, char letter, guint id)
{
  g_autofree char *key = g_strdup_printf("%u %c%u", rank, letter, id);
  return g_hash_table_lookup(goal->operations, key);
}

/* Both ends of every message are there, name one another and agree; labels exist. */
static void check_goal(const Goal *goal, const Plan *plan)
{
  CU_ASSERT_EQUAL(goal->n_mistakes, 0);
  CU_ASSERT_EQUAL(goal->n_ranks, plan_n_ranks(plan));
  CU_ASSERT_EQUAL(g_hash_table_size(goal->operations), 2 * plan_n_steps(plan));
  for (guint id = 0; id < plan_n_steps(plan); id++) {
    const PlanStep *step = plan_step(plan, id);
    const Operation *send = operation_at(goal, step->src, 's', id);
    const Operation *receive = operation_at(goal, step->dst, 'r', id);

    CU_ASSERT_TRUE(send != NULL && receive != NULL);
    if (send == NULL || receive == NULL)
      return;
    CU_ASSERT_TRUE(send->is_send && !receive->is_send);
    CU_ASSERT_TRUE(send->peer == step->dst && receive->peer == step->src);
    CU_ASSERT_TRUE(send->tag == receive->tag && send->size_B == receive->size_B);
    CU_ASSERT_DOUBLE_EQUAL((double)send->size_B, MAX(step->size_B, 1), TOL_WHOLE_BYTES);
  }
  for (guint i = 0; i < goal->waits->len; i++)
    CU_ASSERT_PTR_NOT_NULL(
      g_hash_table_lookup(goal->operations, g_ptr_array_index(goal->waits, i)));
}

/* Every wait of the plan must be one of the text. */
static void check_waits(const Goal *goal, const Plan *plan)
{
  guint n = 0;

  for (guint id = 0; id < plan_n_steps(plan); id++)
    n += plan_n_after(plan, id);
  CU_ASSERT_EQUAL(goal->waits->len, 2 * n);
}

static void check_plan(const CollOps *ops, const CollCall *call, double size_B)
{
  g_autoptr(Plan) plan = coll_plan_new(ops, call, size_B);
  g_autoptr(GString) text = g_string_new(NULL);
  g_auto(Goal) goal = { 0 };

  goal_render(plan, "a test", text);
  goal_init(&goal);
  goal_read(&goal, text->str);
  check_goal(&goal, plan);
  check_waits(&goal, plan);
}

static void test_goal_text_says_what_the_plan_says(void)
{
  static const guint counts[][2] = { { 1, 2 }, { 5, 1 }, { 3, 4 }, { 16, 1 } };

  for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
    const Fixture fixture = { .n_nodes = counts[i][0],
                              .n_gpus = counts[i][1],
                              .n_nics = 1 };
    g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
    g_autoptr(Group) group = group_new_all(topology);

    for (guint m = 0; coll_table[m] != NULL; m++)
      for (guint k = 0; coll_kind_names[k] != NULL; k++) {
        const CollOps *ops = (const CollOps *)coll_table[m];
        const CollCall call = {
          .kind = 1u << k, .group = group, .n_rails = 1, .chunk_B = 1000
        };
        if (ops->kinds & call.kind)
          check_plan(ops, &call, 10007);
      }
  }
}

static guint count(const char *text, const char *word)
{
  guint n = 0;
  for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
    n++;
  return n;
}

static void test_platform_has_every_gpu_link_and_route(void)
{
  const Fixture fixture = { .n_nodes = 3,
                            .n_gpus = 2,
                            .n_nics = 1,
                            .network = "leaf_spine",
                            .network_keys = "nodes_per_leaf=2; oversubscription=2" };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(GString) xml = g_string_new(NULL);
  g_autoptr(GError) error = NULL;

  CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
  CU_ASSERT_TRUE(platform_render(topology, 1e-6, 5e-6, xml, &error));
  CU_ASSERT_EQUAL(count(xml->str, "<host "), 6);
  CU_ASSERT_EQUAL(count(xml->str, "<link "), topology_n_links(topology) + 2);
  CU_ASSERT_EQUAL(count(xml->str, "<route "), 6 * 5);
  CU_ASSERT_EQUAL(count(xml->str, "<link_ctn id=\"local\"/>"), 6);
  CU_ASSERT_EQUAL(count(xml->str, "<link_ctn id=\"net\"/>"), 24);
  CU_ASSERT_PTR_NOT_NULL(strstr(xml->str, "<host id=\"gpu5\""));
  CU_ASSERT_PTR_NOT_NULL(strstr(xml->str, "<route src=\"gpu5\" dst=\"gpu0\""));
}

static void test_platform_of_too_many_gpus_is_refused(void)
{
  const Fixture fixture = { .n_nodes = PLATFORM_MAX_GPUS + 1, .n_gpus = 1, .n_nics = 1 };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  g_autoptr(GString) xml = g_string_new(NULL);
  g_autoptr(GError) error = NULL;

  CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
  CU_ASSERT_FALSE(platform_render(topology, 0, 0, xml, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_VALUE));
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("export", NULL, NULL);
  CU_ADD_TEST(suite, test_goal_text_says_what_the_plan_says);
  CU_ADD_TEST(suite, test_platform_has_every_gpu_link_and_route);
  CU_ADD_TEST(suite, test_platform_of_too_many_gpus_is_refused);
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_basic_run_tests();
  const unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures != 0;
}
