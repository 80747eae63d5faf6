/**
 * @file test_netns.c
 * @brief What the namespaces refuse, and the collectives that run in them, over loopback.
 */
#include "calibrate/backend/netns.h"
#include "calibrate/backend/netns_algo.h"
#include "calibrate/backend/netns_cluster.h"
#include "calibrate/backend/spawn.h"
#include "sim/base/param.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <string.h>

static NetnsParams some_params(guint n, const char *rate, const char *mtu)
{
  const ParamSpec *specs = backend_netns.info.params;
  NetnsParams params = { 0 };

  param_set_defaults(specs, &params);
  params.n = n;
  CU_ASSERT_TRUE_FATAL(param_set(param_find(specs, "rate"), &params, rate, NULL));
  CU_ASSERT_TRUE_FATAL(param_set(param_find(specs, "mtu"), &params, mtu, NULL));
  return params;
}

static void test_packets_and_goodput_are_those_of_the_wire(void)
{
  const NetnsParams jumbo = some_params(8, "100 Mbit/s", "9000 B");
  const NetnsParams plain = some_params(4, "50 Mbit/s", "1500 B");
  g_autofree char *place = netns_place(&jumbo);

  CU_ASSERT_DOUBLE_EQUAL(netns_packets_per_s(&jumbo), 11111.1, 0.1);
  CU_ASSERT_DOUBLE_EQUAL(netns_packets_per_s(&plain), 16666.7, 0.1);
  CU_ASSERT_DOUBLE_EQUAL(netns_goodput_Bps(&jumbo), 12.5e6 * 8948 / 9014, 1);
  CU_ASSERT_DOUBLE_EQUAL(netns_goodput_Bps(&plain), 6.25e6 * 1448 / 1514, 1);
  CU_ASSERT_STRING_EQUAL(place, "netns 100mbit mtu 9000");
}

static void test_more_packets_than_the_cores_carry_are_refused(void)
{
  NetnsParams params = some_params(8, "100 Mbit/s", "1500 B");
  g_autoptr(GError) error = NULL;

  CU_ASSERT_FALSE_FATAL(netns_check_budget(&params, 2, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_USAGE));
  CU_ASSERT_STRING_EQUAL(error->message,
                         "calibrate host: --netns 8 --rate 100mbit --mtu 1500 makes 66667 "
                         "packets/s; 2 cores carry 12000: at most --rate 18000kbit here, "
                         "or --force");
  CU_ASSERT_TRUE(netns_check_budget(&params, 12, NULL));
  params.force = true;
  CU_ASSERT_TRUE(netns_check_budget(&params, 1, NULL));
  params = some_params(8, "18 Mbit/s", "1500 B"); /* what the message advises */
  CU_ASSERT_TRUE(netns_check_budget(&params, 2, NULL));
}

/* Every rank an address of 127/8 in place of a namespace. */
static guint32 loopback(guint rank)
{
  return 0x7f110001u + rank;
}

typedef struct {
  const Algo *algo;
  gsize n_values;
} Task;

static bool work(CrewMember *me, GError **error)
{
  const Task *task = me->task;
  const gsize n = task->n_values;
  g_autofree float *values = g_new(float, n + 1);
  g_autofree float *space = g_new(float, me->n *(n + 2));
  Mesh mesh;
  const AlgoCall call = { .mesh = &mesh,
                          .rank = me->rank,
                          .n = me->n,
                          .values = values,
                          .n_values = n,
                          .space = space };

  if (!mesh_open(&mesh, me, loopback, error))
    return false;
  for (gsize i = 0; i < n; i++)
    values[i] = (float)((me->rank + 1) * (i % 100));
  values[n] = -1;
  if (!crew_begin(me, 0) || !task->algo->run(&call, error))
    return false;
  crew_end(me, 0);
  for (gsize i = 0; task->algo->has_sum(me->rank) && i < n; i++)
    if (values[i] != (float)(me->n * (me->n + 1) / 2 * (i % 100)) || values[n] != -1) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_FAULT, "rank %u, value %zu is wrong",
                  me->rank, i);
      return false;
    }
  if (!crew_meet(me))
    return false;
  mesh_close(&mesh);
  return true;
}

static void test_every_collective_sums_everything(void)
{
  static const guint counts[] = { 2, 3, 4, 7, 8 };
  static const gsize lengths[] = { 1, 5, 1000, 100003 };

  for (guint a = 0; algo_table[a] != NULL; a++)
    for (guint c = 0; c < G_N_ELEMENTS(counts); c++)
      for (guint l = 0; l < G_N_ELEMENTS(lengths); l++) {
        const Task task = { algo_table[a], lengths[l] };
        const CrewJob job = {
          .n = counts[c], .n_times = 1, .limit_s = 60, .work = work, .task = &task
        };
        double time_s = 0;
        g_autoptr(GError) error = NULL;

        if (task.algo->powers_only && (job.n & (job.n - 1)) != 0)
          continue;
        if (!crew_run(&job, &time_s, &error))
          CU_FAIL_FATAL(error->message);
        CU_ASSERT_TRUE(time_s > 0);
      }
}

static void test_closed_forms_count_the_busiest_cable(void)
{
  static const struct {
    const char *name;
    double load_of_4, load_of_8;
  } cases[] = { { "ring", 1.5, 1.75 },  { "halving_doubling", 1.5, 1.75 },
                { "tree", 4, 6 },       { "push_pull", 1.5, 1.75 },
                { "push_pull", 6, 14 }, { "", 3, 7 } };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    CU_ASSERT_STRING_EQUAL(algo_table[i]->name, cases[i].name);
    CU_ASSERT_DOUBLE_EQUAL(algo_table[i]->load(4), cases[i].load_of_4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(algo_table[i]->load(8), cases[i].load_of_8, 1e-12);
  }
  CU_ASSERT_PTR_NULL(algo_table[G_N_ELEMENTS(cases)]);
}

static void test_addresses_are_of_the_benchmarking_range(void)
{
  g_autofree char *first = netns_address_text(0), *last = netns_address_text(63);

  CU_ASSERT_STRING_EQUAL(first, "198.18.0.10");
  CU_ASSERT_STRING_EQUAL(last, "198.18.0.73");
}

static bool try_out(const char *const *argv, double limit_s, char **said, GError **error)
{
  const Spawn spawn = { .argv = argv, .limit_s = limit_s };
  return spawn_run(&spawn, said, error);
}

static void test_a_program_is_heard_and_its_failure_told(void)
{
  static const char *const speaks[] = { "echo", "a  b;", "$HOME", NULL };
  static const char *const fails[] = { "ls", "/nowhere/at/all", NULL };
  static const char *const is_not[] = { "no-such-program", NULL };
  g_autofree char *said = NULL;
  g_autoptr(GError) failed = NULL, is_missing = NULL;

  CU_ASSERT_TRUE(try_out(speaks, 20, &said, NULL));
  CU_ASSERT_STRING_EQUAL(said, "a  b; $HOME\n"); /* no shell has seen it */
  CU_ASSERT_FALSE_FATAL(try_out(fails, 20, NULL, &failed));
  CU_ASSERT_TRUE(g_str_has_prefix(failed->message, "ls /nowhere/at/all: "));
  CU_ASSERT_FALSE_FATAL(try_out(is_not, 20, NULL, &is_missing));
  CU_ASSERT_STRING_EQUAL(is_missing->message, "no-such-program: No such file or directory");
}

static void test_a_program_that_takes_too_long_is_ended(void)
{
  static const char *const sleeps[] = { "sleep", "100", NULL };
  /* Closes what we listen to, and lives on. */
  static const char *const hides[] = { "sh", "-c", "exec sleep 100 >/dev/null 2>&1", NULL };
  g_autoptr(GError) error = NULL, hidden = NULL;

  CU_ASSERT_FALSE_FATAL(try_out(sleeps, 0.2, NULL, &error));
  CU_ASSERT_STRING_EQUAL(error->message, "sleep 100: took longer than 0.2 s");
  CU_ASSERT_FALSE(try_out(hides, 0.2, NULL, &hidden));
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("netns", NULL, NULL);
  CU_ADD_TEST(suite, test_packets_and_goodput_are_those_of_the_wire);
  CU_ADD_TEST(suite, test_more_packets_than_the_cores_carry_are_refused);
  CU_ADD_TEST(suite, test_every_collective_sums_everything);
  CU_ADD_TEST(suite, test_closed_forms_count_the_busiest_cable);
  CU_ADD_TEST(suite, test_addresses_are_of_the_benchmarking_range);
  CU_ADD_TEST(suite, test_a_program_is_heard_and_its_failure_told);
  CU_ADD_TEST(suite, test_a_program_that_takes_too_long_is_ended);
  CU_basic_run_tests();
  const guint failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
