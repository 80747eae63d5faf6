/**
 * @file test_grouping.c
 * @brief Ranks by name: Megatron's layout, lists of ranks, and what is refused.
 */
#include "models/group_ports.h"
#include "models/grouping.h"
#include "models/rank_list.h"
#include "tests/unit/cluster_fixture.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdio.h>

static Topology *cluster_of(guint n_nodes, guint n_gpus, guint n_nics)
{
  const Fixture fixture = { .n_nodes = n_nodes, .n_gpus = n_gpus, .n_nics = n_nics };
  Topology *topology = fixture_topology(&fixture, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
  return topology;
}

static void grouping_init(Grouping *grouping)
{
  *grouping = (Grouping){ 0 };
  param_set_defaults(grouping_params, grouping);
}

static void grouping_clear(Grouping *grouping)
{
  param_clear(grouping_params, grouping);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Grouping, grouping_clear)

static void add(Grouping *grouping, const char *name, const char *ranks, guint size,
                guint stride)
{
  const NamedGroups named = { g_strdup(name), g_strdup(ranks), size, stride };
  g_array_append_val(grouping->named, named);
}

/* "0 1|2 3": all groups of a name. Transfer: caller frees. */
static char *ranks_of(const Grouping *grouping, const char *name, const Topology *topology)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) groups = grouping_find(grouping, name, topology, &error);
  GString *text = g_string_new(NULL);

  for (guint g = 0; groups != NULL && g < groups->len; g++) {
    const Group *group = g_ptr_array_index(groups, g);
    for (guint i = 0; i < group->n_ranks; i++)
      g_string_append_printf(text, "%s%u", i > 0 ? " " : g > 0 ? "|" : "", group->gpus[i]);
  }
  if (groups == NULL)
    g_string_append(text, error->message);
  return g_string_free(text, FALSE);
}

static void assert_ranks(const Grouping *grouping, const char *name,
                         const Topology *topology, const char *wanted)
{
  g_autofree char *ranks = ranks_of(grouping, name, topology);
  CU_ASSERT_STRING_EQUAL(ranks, wanted);
  if (strcmp(ranks, wanted) != 0)
    printf("\n%s: %s, not %s\n", name, ranks, wanted);
}

/* The example in the comment of initialize_model_parallel(), Megatron-LM
 * megatron/core/parallel_state.py: 16 GPUs, tensor 2, pipeline 4. */
static void test_sizes_lay_ranks_out_as_megatron_does(void)
{
  g_autoptr(Topology) topology = cluster_of(2, 8, 1);
  g_auto(Grouping) grouping;

  grouping_init(&grouping);
  grouping.tensor = 2;
  grouping.pipeline = 4;
  assert_ranks(&grouping, "tensor", topology, "0 1|2 3|4 5|6 7|8 9|10 11|12 13|14 15");
  assert_ranks(&grouping, "data", topology, "0 2|1 3|4 6|5 7|8 10|9 11|12 14|13 15");
  assert_ranks(&grouping, "pipeline", topology, "0 4 8 12|1 5 9 13|2 6 10 14|3 7 11 15");
  assert_ranks(&grouping, "context", topology, "0|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15");
}

static void test_context_and_experts_count_before_data(void)
{
  g_autoptr(Topology) topology = cluster_of(2, 8, 1);
  g_auto(Grouping) grouping;

  grouping_init(&grouping);
  grouping.tensor = 2;
  grouping.context = 2;
  grouping.expert = 4;
  grouping.pipeline = 2;
  assert_ranks(&grouping, "context", topology, "0 2|1 3|4 6|5 7|8 10|9 11|12 14|13 15");
  assert_ranks(&grouping, "data", topology, "0 4|1 5|2 6|3 7|8 12|9 13|10 14|11 15");
  assert_ranks(&grouping, "data_context", topology,
               "0 2 4 6|1 3 5 7|8 10 12 14|9 11 13 15");
  assert_ranks(&grouping, "expert", topology, "0 2 4 6|1 3 5 7|8 10 12 14|9 11 13 15");
  assert_ranks(&grouping, "expert_data", topology, "0|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15");
}

static void test_data_may_count_last(void)
{
  g_autoptr(Topology) topology = cluster_of(1, 8, 1);
  g_auto(Grouping) grouping;

  grouping_init(&grouping);
  grouping.tensor = 2;
  grouping.pipeline = 2;
  grouping.order = GROUPING_DATA_LAST;
  assert_ranks(&grouping, "pipeline", topology, "0 2|1 3|4 6|5 7");
  assert_ranks(&grouping, "data", topology, "0 4|1 5|2 6|3 7");
}

/* Every rank is in one group of each kind, whatever the sizes and the order. */
static void test_every_kind_of_group_covers_every_rank_once(void)
{
  static const char *const kinds[] = { "tensor", "context",     "data",    "data_context",
                                       "expert", "expert_data", "pipeline" };
  g_autoptr(Topology) topology = cluster_of(6, 4, 1);

  for (guint t = 1; t <= 24; t++)
    for (guint c = 1; c <= 24; c++)
      for (guint p = 1; p <= 24; p++)
        for (guint order = 0; order < 2; order++) {
          g_auto(Grouping) grouping;
          grouping_init(&grouping);
          grouping.tensor = t;
          grouping.context = grouping.expert = c;
          grouping.pipeline = p;
          grouping.order = order;
          if (!grouping_check_layout(&grouping, 24, NULL)) {
            CU_ASSERT_TRUE(24 % (t * c * p) != 0);
            continue;
          }
          for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
            g_autoptr(GPtrArray) groups =
              grouping_find(&grouping, kinds[k], topology, NULL);
            guint count[24] = { 0 }, n = 0;
            for (guint g = 0; g < groups->len; g++) {
              const Group *group = g_ptr_array_index(groups, g);
              for (guint i = 0; i < group->n_ranks; i++, n++)
                count[group->gpus[i]]++;
            }
            CU_ASSERT_EQUAL(n, 24);
            for (guint rank = 0; rank < 24; rank++)
              CU_ASSERT_EQUAL(count[rank], 1);
          }
        }
}

static void test_named_groups_are_lists_or_strides(void)
{
  g_autoptr(Topology) topology = cluster_of(2, 8, 1);
  g_auto(Grouping) grouping;

  grouping_init(&grouping);
  add(&grouping, "stage", "0-3, 12", 0, 1);
  add(&grouping, "stage", "4-10:3", 0, 1);
  add(&grouping, "rail", NULL, 2, 8);
  assert_ranks(&grouping, "stage", topology, "0 1 2 3 12|4 7 10");
  assert_ranks(&grouping, "stage[1]", topology, "4 7 10");
  assert_ranks(&grouping, "rail", topology, "0 8|1 9|2 10|3 11|4 12|5 13|6 14|7 15");
  assert_ranks(&grouping, "rail[7]", topology, "7 15");
}

static void test_selectors_of_nothing_are_refused(void)
{
  static const struct {
    const char *selector, *message;
  } rows[] = {
    { "stages", "unknown group 'stages'; did you mean 'stage'?" },
    { "stage[1]", "end at [0]" },
    { "stage[", "write NAME" },
    { "stage[x]", "write NAME" },
    { "stage[0]x", "write NAME" },
    { "", "unknown group ''" },
  };
  g_autoptr(Topology) topology = cluster_of(2, 8, 1);
  g_auto(Grouping) grouping;

  grouping_init(&grouping);
  add(&grouping, "stage", "0-3", 0, 1);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *text = ranks_of(&grouping, rows[i].selector, topology);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[i].message));
  }
}

static void test_lists_that_are_none_are_refused(void)
{
  static const char *const good[] = { "0", "0-15", " 3 , 1", "0-14:2", "5-5" };
  static const char *const bad[] = { "",    "a",   "1-",    "-1",         "3-1",   "0-16",
                                     "16",  "1,1", "0-3,2", "1 2",        "0-8:0", "1,",
                                     "0:2", "0x1", "1.5",   "4294967296", "0-3-5", "1;2" };

  for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
    g_autoptr(GArray) ranks = rank_list_parse(good[i], 16, NULL);
    CU_ASSERT_PTR_NOT_NULL(ranks);
  }
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) ranks = rank_list_parse(bad[i], 16, &error);
    CU_ASSERT_PTR_NULL(ranks);
    CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_VALUE));
    if (ranks != NULL)
      printf("\n'%s' was taken\n", bad[i]);
  }
}

static void test_no_rank_is_in_two_groups_of_a_name(void)
{
  g_auto(Grouping) grouping;
  g_autoptr(GError) error = NULL;
  guint bad = 0;

  grouping_init(&grouping);
  add(&grouping, "a", "0-3", 0, 1);
  add(&grouping, "b", "3", 0, 1);
  add(&grouping, "a", "4-7", 0, 1);
  CU_ASSERT_TRUE(grouping_check_disjoint(&grouping, 16, &bad, NULL));
  add(&grouping, "a", "7-8", 0, 1);
  CU_ASSERT_FALSE(grouping_check_disjoint(&grouping, 16, &bad, &error));
  CU_ASSERT_EQUAL(bad, 3);
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "rank 7 is in two groups called 'a'"));
}

/* ---- ports ------------------------------------------------------------------------- */

static void assert_nics(guint n_gpus, guint n_nics, const char *keys, const guint *gpus,
                        guint n, const char *wanted)
{
  const Fixture fixture = {
    .n_nodes = 2, .n_gpus = n_gpus, .n_nics = n_nics, .fabric_keys = keys
  };
  g_autoptr(Topology) topology = fixture_topology(&fixture, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
  g_autoptr(Group) group = group_new_gpus(topology, gpus, n, NULL);
  g_auto(GroupPorts) ports = group_ports_of(group, topology);
  g_autoptr(GString) nics = g_string_new(NULL);

  for (guint i = 0; i < ports.n_rails; i++)
    g_string_append_printf(nics, "%u ", ports.nics == NULL ? i : ports.nics[i]);
  CU_ASSERT_STRING_EQUAL(nics->str, wanted);
  if (strcmp(nics->str, wanted) != 0)
    printf("\nNICs %s, not %s\n", nics->str, wanted);
}

static void test_a_group_uses_the_nics_of_its_gpus(void)
{
  static const char pairs[] = "pcie_rate=1 GB/s; gpus_per_switch=2";
  static const guint first[] = { 0, 8 }, second[] = { 1, 9 }, last[] = { 7, 15 };
  static const guint four[] = { 0, 1, 2, 3, 8, 9, 10, 11 }, inside[] = { 0, 1, 2 };
  static const guint unlike[] = { 0, 15 };

  assert_nics(8, 8, pairs, first, 2, "0 ");
  assert_nics(8, 8, pairs, second, 2, "1 ");
  assert_nics(8, 8, pairs, last, 2, "7 ");
  assert_nics(8, 8, pairs, four, 8, "0 1 2 3 ");
  assert_nics(8, 8, pairs, unlike, 2, "0 7 ");
  assert_nics(8, 4, pairs, first, 2, "0 ");
  assert_nics(8, 4, pairs, second, 2, "0 ");
  assert_nics(8, 1, pairs, last, 2, "0 ");
  assert_nics(8, 8, pairs, inside, 3, "0 "); /* one rail, of which nothing is sent */
}

static void test_everyone_has_all_nics_and_ports(void)
{
  g_autoptr(Topology) topology = cluster_of(3, 4, 2);
  g_autoptr(Group) group = group_new_all(topology);
  g_auto(GroupPorts) ports = group_ports_of(group, topology);

  CU_ASSERT_EQUAL(ports.n_rails, 2);
  CU_ASSERT_PTR_NULL(ports.nics);
  CU_ASSERT_EQUAL(ports.gpu_Bps, topology_gpu_Bps(topology));
}

static void test_ranks_alone_on_their_nodes_have_no_limit_inside(void)
{
  static const guint gpus[] = { 0, 5 };
  g_autoptr(Topology) topology = cluster_of(2, 4, 1);
  g_autoptr(Group) group = group_new_gpus(topology, gpus, 2, NULL);
  g_auto(GroupPorts) ports = group_ports_of(group, topology);

  CU_ASSERT_TRUE(isinf(ports.gpu_Bps));
}

/* What a run warns of. */
static void test_only_a_layout_or_a_name_splits_the_ranks(void)
{
  Grouping grouping;

  grouping_init(&grouping);
  CU_ASSERT_FALSE(grouping_splits(&grouping));
  grouping.pipeline = 2;
  CU_ASSERT_TRUE(grouping_splits(&grouping));
  grouping.pipeline = 1;
  g_array_set_size(grouping.named, 1);
  CU_ASSERT_TRUE(grouping_splits(&grouping));
  grouping_clear(&grouping);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("grouping", NULL, NULL);
  CU_ADD_TEST(suite, test_sizes_lay_ranks_out_as_megatron_does);
  CU_ADD_TEST(suite, test_context_and_experts_count_before_data);
  CU_ADD_TEST(suite, test_data_may_count_last);
  CU_ADD_TEST(suite, test_every_kind_of_group_covers_every_rank_once);
  CU_ADD_TEST(suite, test_named_groups_are_lists_or_strides);
  CU_ADD_TEST(suite, test_selectors_of_nothing_are_refused);
  CU_ADD_TEST(suite, test_lists_that_are_none_are_refused);
  CU_ADD_TEST(suite, test_no_rank_is_in_two_groups_of_a_name);
  CU_ADD_TEST(suite, test_a_group_uses_the_nics_of_its_gpus);
  CU_ADD_TEST(suite, test_everyone_has_all_nics_and_ports);
  CU_ADD_TEST(suite, test_ranks_alone_on_their_nodes_have_no_limit_inside);
  CU_ADD_TEST(suite, test_only_a_layout_or_a_name_splits_the_ranks);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
