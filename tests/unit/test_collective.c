/**
 * @file test_collective.c
 * @brief Plans do what their operation means, in every order that they allow.
 */
#include "sim/base/rng.h"
#include "tests/unit/collective_cases.h"

#include <CUnit/Basic.h>

static const double size_B = 1000, chunk_B = 201;

/* What a rank holds of a chunk. Sums: how often each rank's part is in it. Else one count:
 * is it what the operation is about? */
typedef struct {
  CollKind kind;
  guint n, n_chunks, n_parts;
  guint8 *counts; /* [(rank * n_chunks + chunk) * n_parts + part] */
} Memory;

static guint8 *cell(const Memory *memory, guint rank, guint chunk)
{
  return &memory->counts[((gsize)rank * memory->n_chunks + chunk) * memory->n_parts];
}

static bool is_sum(CollKind kind)
{
  return kind & (COLL_ALL_REDUCE | COLL_REDUCE_SCATTER | COLL_REDUCE);
}

static bool starts_with(const Memory *memory, guint rank, guint chunk)
{
  switch (memory->kind) {
  case COLL_ALL_GATHER:
    return chunk % memory->n == rank;
  case COLL_BROADCAST:
    return rank == 0;
  case COLL_ALL_TO_ALL:
    return chunk / memory->n == rank;
  case COLL_SEND_RECV:
    return chunk == rank;
  default:
    return true;
  }
}

static bool must_end_with(const Memory *memory, guint rank, guint chunk)
{
  switch (memory->kind) {
  case COLL_REDUCE_SCATTER:
  case COLL_ALL_TO_ALL:
    return chunk % memory->n == rank;
  case COLL_REDUCE:
    return rank == 0;
  case COLL_SEND_RECV:
    return rank == (chunk + 1) % memory->n;
  default:
    return true;
  }
}

static void memory_init(Memory *memory, const CollCall *call, guint n_chunks)
{
  const guint n = call->group->n_ranks;
  const guint n_parts = is_sum(call->kind) ? n : 1;

  *memory = (Memory){ call->kind, n, n_chunks, n_parts,
                      g_new0(guint8, (gsize)n * n_chunks * n_parts) };
  for (guint rank = 0; rank < n; rank++)
    for (guint chunk = 0; chunk < n_chunks; chunk++)
      if (starts_with(memory, rank, chunk))
        cell(memory, rank, chunk)[n_parts > 1 ? rank : 0] = 1;
}

static void apply(const Memory *memory, const PlanStep *step)
{
  for (guint chunk = step->first_chunk; chunk < step->first_chunk + step->n_chunks;
       chunk++) {
    const guint8 *src = cell(memory, step->src, chunk);
    guint8 *dst = cell(memory, step->dst, chunk);
    for (guint i = 0; i < memory->n_parts; i++)
      dst[i] = (guint8)((step->reduce ? dst[i] : 0) + src[i]);
  }
}

static bool is_right(const Memory *memory, guint rank, guint chunk)
{
  if (!must_end_with(memory, rank, chunk))
    return true;
  for (guint i = 0; i < memory->n_parts; i++)
    if (cell(memory, rank, chunk)[i] != 1)
      return false;
  return true;
}

/* Which of the messages that may leave leaves next. */
typedef enum { OLDEST, NEWEST, ANY, N_ORDERS } Order;

typedef struct {
  const Plan *plan;
  guint *n_missing;
  GPtrArray *next; /* of GArray of guint: who waits for each step */
  GArray *ready;   /* of guint */
  Rng *rng;
} Play;

static void wait_for(Play *play, guint id, guint dep)
{
  GArray *next = g_ptr_array_index(play->next, dep);
  g_array_append_val(next, id);
  play->n_missing[id]++;
}

/* A step waits for what it says and for the one before it between the same ranks. */
static void play_init(Play *play, const Plan *plan)
{
  const guint n = plan_n_steps(plan), n_ranks = plan_n_ranks(plan);
  g_autofree guint *last = g_new(guint, (gsize)n_ranks * n_ranks);

  *play = (Play){ plan, g_new0(guint, n + 1),
                  g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref),
                  g_array_new(FALSE, FALSE, sizeof(guint)), rng_stream(1, "play") };
  for (guint i = 0; i < n_ranks * n_ranks; i++)
    last[i] = PLAN_START;
  for (guint id = 0; id < n; id++) {
    guint *before = &last[plan_step(plan, id)->src * n_ranks + plan_step(plan, id)->dst];
    g_ptr_array_add(play->next, g_array_new(FALSE, FALSE, sizeof(guint)));
    for (guint i = 0; i < plan_n_after(plan, id); i++)
      wait_for(play, id, plan_after(plan, id, i));
    if (*before != PLAN_START)
      wait_for(play, id, *before);
    *before = id;
    if (play->n_missing[id] == 0)
      g_array_append_val(play->ready, id);
  }
}

static void play_clear(Play *play)
{
  g_free(play->n_missing);
  g_ptr_array_unref(play->next);
  g_array_unref(play->ready);
  rng_free(play->rng);
}

static guint play_next(Play *play, Order order)
{
  const guint n = play->ready->len;
  const guint at = order == OLDEST ? 0 : order == NEWEST ? n - 1 : rng_below(play->rng, n);
  const guint id = g_array_index(play->ready, guint, at);

  if (order == NEWEST)
    g_array_set_size(play->ready, n - 1);
  else
    g_array_remove_index_fast(play->ready, at);
  const GArray *next = g_ptr_array_index(play->next, id);
  for (guint i = 0; i < next->len; i++) {
    const guint waiting = g_array_index(next, guint, i);
    if (--play->n_missing[waiting] == 0)
      g_array_append_val(play->ready, waiting);
  }
  return id;
}

static bool plays_right(const CollCall *call, const Plan *plan, Order order)
{
  Memory memory;
  Play play;
  guint n_played = 0;
  bool right = true;

  memory_init(&memory, call, plan_n_chunks(plan));
  play_init(&play, plan);
  for (; play.ready->len > 0; n_played++)
    apply(&memory, plan_step(plan, play_next(&play, order)));
  for (guint i = 0; right && i < memory.n * memory.n_chunks; i++)
    right = is_right(&memory, i / memory.n_chunks, i % memory.n_chunks);
  play_clear(&play);
  g_free(memory.counts);
  return right && n_played == plan_n_steps(plan);
}

static bool has_as_many_chunks_as_it_means(const CollCall *call, const Plan *plan)
{
  const guint n = call->group->n_ranks, n_chunks = plan_n_chunks(plan);

  switch (call->kind) {
  case COLL_ALL_TO_ALL:
    return n_chunks == n * n;
  case COLL_SEND_RECV:
    return n_chunks == n;
  case COLL_REDUCE_SCATTER:
  case COLL_ALL_GATHER:
    return n_chunks % n == 0;
  default:
    return n_chunks > 0;
  }
}

static void law_meaning(const CollOps *ops, const CollCall *call)
{
  g_autoptr(Plan) plan = plan_of(ops, call, size_B);
  bool ok = has_as_many_chunks_as_it_means(call, plan);

  for (Order order = 0; ok && order < N_ORDERS; order++)
    ok = plays_right(call, plan, order);
  CU_ASSERT_TRUE(ok);
  if (!ok)
    g_print("%s %s: %u nodes, %u ranks, %u rails\n", ops->info.name,
            coll_kind_name(call->kind), call->group->n_nodes, call->group->n_ranks,
            call->n_rails);
}

static void test_every_rank_ends_with_what_the_operation_means_exactly_once(void)
{
  hold_all_even(law_meaning, 3, chunk_B);
}

static void test_the_same_on_nodes_with_unequal_numbers_of_ranks(void)
{
  hold_all_uneven(law_meaning, 3, chunk_B);
}

/* Who is not told that a message has arrived cannot wait for it. */
static void law_deps(const CollOps *ops, const CollCall *call)
{
  g_autoptr(Plan) plan = plan_of(ops, call, size_B);
  bool ok = true;

  for (guint id = 0; id < plan_n_steps(plan); id++) {
    const PlanStep *step = plan_step(plan, id);
    ok = ok && step->src != step->dst;
    for (guint i = 0; i < plan_n_after(plan, id); i++) {
      const PlanStep *dep = plan_step(plan, plan_after(plan, id, i));
      ok = ok && plan_after(plan, id, i) < id &&
           (dep->dst == step->src || dep->src == step->src || dep->dst == step->dst);
    }
  }
  CU_ASSERT_TRUE(ok);
}

static void test_messages_wait_only_for_what_their_ends_know(void)
{
  hold_all_even(law_deps, 2, chunk_B);
  hold_all_uneven(law_deps, 2, chunk_B);
}

static void test_a_single_rank_communicates_nothing(void)
{
  g_autoptr(Group) group = group_of_nodes(1, 1);

  for (guint m = 0; coll_table[m] != NULL; m++) {
    const CollOps *ops = (const CollOps *)coll_table[m];
    for (guint k = 0; coll_kind_names[k] != NULL; k++) {
      const CollCall call = { .kind = (CollKind)(1u << k), .group = group, .n_rails = 1 };
      if (!(ops->kinds & call.kind))
        continue;
      g_autoptr(Topology) topology = plain_topology(&call);
      g_autoptr(GArray) phases = phases_of(ops, &call, topology);
      g_autoptr(Plan) plan = plan_of(ops, &call, size_B);
      const CollCost cost = plain_cost();
      CU_ASSERT_EQUAL(phases->len, 0);
      CU_ASSERT_EQUAL(plan_n_steps(plan), 0);
      CU_ASSERT_EQUAL(ops->ideal_s(&call, size_B, &cost), 0);
    }
  }
}

static void test_unknown_name_suggests_the_nearest(void)
{
  g_autoptr(GError) error = NULL;
  CU_ASSERT_PTR_NULL(coll_find("rnig", &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_UNKNOWN));
  CU_ASSERT_STRING_EQUAL(error->message, "unknown collective 'rnig'; did you mean 'ring'?");
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("collective", NULL, NULL);
  CU_ADD_TEST(suite, test_every_rank_ends_with_what_the_operation_means_exactly_once);
  CU_ADD_TEST(suite, test_the_same_on_nodes_with_unequal_numbers_of_ranks);
  CU_ADD_TEST(suite, test_messages_wait_only_for_what_their_ends_know);
  CU_ADD_TEST(suite, test_a_single_rank_communicates_nothing);
  CU_ADD_TEST(suite, test_unknown_name_suggests_the_nearest);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
