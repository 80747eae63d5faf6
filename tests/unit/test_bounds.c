/**
 * @file test_bounds.c
 * @brief Which links can be the tightest: those of the edge, and narrow ones behind it.
 */
#include "sim/engine/bounds.h"

#include <CUnit/Basic.h>

#define N_HOSTS 4

/* Hosts 0 and 1 in one rack, 2 and 3 in another: link h is h's way out, 4 + h its way in,
 * 8 and 9 lead out of the racks, 10 and 11 into them, 12 + h is inside the host. */
static void fill_links(double uplink_Bps, Link *links)
{
  for (guint i = 0; i < 16; i++)
    links[i] = (Link){ .capacity_Bps = i < 8 ? 100 : i < 12 ? uplink_Bps : 150 };
}

/* All to host 3 at once, host 3 to nobody, or to itself. */
static Network *incast(const Link *links, double cap_Bps)
{
  g_autoptr(FlowSet) set = flow_set_new();

  for (guint h = 0; h < N_HOSTS - 1; h++) {
    const guint32 near[] = { 12 + h, h, 7, 15 };
    const guint32 far[] = { 12 + h, h, 8, 11, 7, 15 };
    flow_set_add(set, 1, cap_Bps, h < 2 ? far : near, h < 2 ? 6 : 4);
  }
  return network_new((const FlowSet *const[]){ set }, 1, links, 16, false);
}

/* What is inside hosts, and what leads out of racks as widely as into them, holds up
 * nobody; nor does a way out as wide as the common way in that all of it goes on to. The
 * first host's is looked at before what lies between is known not to matter. */
static void test_the_edge_bounds_a_wide_network(void)
{
  Link links[16];
  fill_links(200, links);
  g_autoptr(Network) network = incast(links, INFINITY);
  g_autoptr(Bounds) bounds = bounds_new(network);

  CU_ASSERT_EQUAL(bounds->n, 2);
  CU_ASSERT_EQUAL(bounds->width, 1);
  CU_ASSERT_EQUAL(bounds->first_common[1], 1);
  CU_ASSERT_EQUAL(bounds->n_caps, 0);
}

/* Narrower than what feeds it: the way out of the rack stays, and bounds two classes. */
static void test_a_narrow_uplink_bounds_too(void)
{
  Link links[16];
  fill_links(199, links);
  links[10].capacity_Bps = links[11].capacity_Bps = 400;
  g_autoptr(Network) network = incast(links, INFINITY);
  g_autoptr(Bounds) bounds = bounds_new(network);

  CU_ASSERT_EQUAL(bounds->n, 4);
  CU_ASSERT_EQUAL(bounds->width, 2);
  CU_ASSERT_EQUAL(bounds->of[2 * bounds->width + 1], bounds->n);
}

/* Equal caps are one. */
static void test_caps_are_listed_once(void)
{
  Link links[16];
  fill_links(200, links);
  g_autoptr(Network) network = incast(links, 30);
  g_autoptr(Bounds) bounds = bounds_new(network);

  CU_ASSERT_EQUAL_FATAL(bounds->n_caps, 1);
  CU_ASSERT_EQUAL(bounds->caps_Bps[0], 30);
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("bounds", NULL, NULL);
  CU_ADD_TEST(suite, test_the_edge_bounds_a_wide_network);
  CU_ADD_TEST(suite, test_a_narrow_uplink_bounds_too);
  CU_ADD_TEST(suite, test_caps_are_listed_once);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
