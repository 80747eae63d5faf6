/** @file test_crew.c  @brief Processes that measure together: times, errors, limits. */
#include "calibrate/backend/crew.h"
#include "sim/base/registry.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define N 4
#define N_TIMES 3

static bool run(bool (*work)(CrewMember *me, GError **error), double limit_s,
                double *time_s, GError **error)
{
  const CrewJob job = { .n = N,
                        .n_times = N_TIMES,
                        .shared_B = 64 * sizeof(int),
                        .spin = 100,
                        .limit_s = limit_s,
                        .work = work,
                        .task = "task" };
  return crew_run(&job, time_s, error);
}

/* Rank r writes into the memory of all, and stays behind by r ms. */
static bool work_well(CrewMember *me, GError **error)
{
  int *seen = (int *)(void *)me->shared;

  for (guint i = 0; i < N_TIMES; i++) {
    seen[me->rank] = (int)i + 1;
    if (!crew_begin(me, i))
      return false;
    for (guint rank = 0; rank < N; rank++)
      if (seen[rank] != (int)i + 1 || strcmp(me->task, "task") != 0) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_FAULT, "rank %u is elsewhere", rank);
        return false;
      }
    g_usleep(1000 * me->rank);
    crew_end(me, i);
    if (!crew_meet(me))
      return false;
  }
  return true;
}

static void test_a_time_runs_from_the_common_begin_to_the_slowest_end(void)
{
  double time_s[N_TIMES] = { 0 };
  g_autoptr(GError) error = NULL;

  CU_ASSERT_TRUE_FATAL(run(work_well, 60, time_s, &error));
  for (guint i = 0; i < N_TIMES; i++)
    CU_ASSERT_TRUE(time_s[i] >= 1e-3 * (N - 1) && time_s[i] < 60);
}

static bool work_badly(CrewMember *me, GError **error)
{
  if (me->rank == 2) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "rank 2 gives up");
    return false;
  }
  return crew_begin(me, 0);
}

static void test_an_error_of_one_ends_all_and_is_told(void)
{
  double time_s[N_TIMES];
  g_autoptr(GError) error = NULL;

  CU_ASSERT_FALSE_FATAL(run(work_badly, 60, time_s, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_VALUE));
  CU_ASSERT_STRING_EQUAL(error->message, "rank 2 gives up");
}

static bool crash(CrewMember *me, GError **error G_GNUC_UNUSED)
{
  if (me->rank == 1)
    kill(getpid(), SIGKILL);
  return crew_meet(me);
}

static void test_a_crash_of_one_ends_all_and_is_told(void)
{
  double time_s[N_TIMES];
  g_autoptr(GError) error = NULL;

  CU_ASSERT_FALSE_FATAL(run(crash, 60, time_s, &error));
  CU_ASSERT_STRING_EQUAL(error->message, "measuring process 1 was ended by signal 9");
}

static bool hang(CrewMember *me, GError **error G_GNUC_UNUSED)
{
  while (me->rank == 3)
    pause();
  return crew_meet(me);
}

static void test_a_crew_that_takes_too_long_is_ended(void)
{
  double time_s[N_TIMES];
  g_autoptr(GError) error = NULL;

  CU_ASSERT_FALSE_FATAL(run(hang, 0.2, time_s, &error));
  CU_ASSERT_STRING_EQUAL(error->message, "took longer than 0.2 s");
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("crew", NULL, NULL);
  CU_ADD_TEST(suite, test_a_time_runs_from_the_common_begin_to_the_slowest_end);
  CU_ADD_TEST(suite, test_an_error_of_one_ends_all_and_is_told);
  CU_ADD_TEST(suite, test_a_crash_of_one_ends_all_and_is_told);
  CU_ADD_TEST(suite, test_a_crew_that_takes_too_long_is_ended);
  CU_basic_run_tests();
  const guint failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures > 0;
}
