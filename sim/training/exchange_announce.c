/* What exchanges tell the engine before it runs. */
#include "sim/training/exchange_state.h"

/* A set of one phase, and the sets that it shares links with. */
typedef struct {
  guint exchange;
  Laid *laid;
  guint phase;
  guint family; /* a smaller number of the family, or its own: a forest */
} Member;

static Member *member_at(const GArray *members, guint index)
{
  return &g_array_index(members, Member, index);
}

static guint family_of(const GArray *members, guint index)
{
  while (member_at(members, index)->family != index)
    index = member_at(members, index)->family;
  return index;
}

static const FlowSet *set_of(const Member *member)
{
  return g_array_index(member->laid->phases, CollPhase, member->phase).set;
}

/* Join the families of sets that cross the same link. */
static void join_families(GArray *members, guint n_links)
{
  g_autofree guint *user = g_new0(guint, n_links); /* member + 1 */

  for (guint m = 0; m < members->len; m++) {
    const FlowSet *set = set_of(member_at(members, m));
    for (guint i = 0; i < set->links->len; i++) {
      guint *last = &user[g_array_index(set->links, guint32, i)];
      const guint one = family_of(members, m);
      const guint other = *last == 0 ? one : family_of(members, *last - 1);
      member_at(members, MAX(one, other))->family = MIN(one, other);
      *last = m + 1;
    }
  }
}

static void list_members(Exchange *exchange, guint number, GArray *members)
{
  for (guint i = 0; i < exchange->laid->len; i++) {
    Laid *laid = &g_array_index(exchange->laid, Laid, i);
    laid->sets = g_new0(guint, laid->phases->len);
    for (guint p = 0; p < laid->phases->len; p++) {
      const Member member = {
        .exchange = number, .laid = laid, .phase = p, .family = members->len
      };
      g_array_append_val(members, member);
    }
  }
}

static bool is_serial(const Member *member, guint serial_moves)
{
  const Move move = member->laid->move.move;

  return member->laid->collective == NULL && move != EXCHANGE_TRAFFIC &&
         (serial_moves & 1u << move);
}

/* The members of each family: those of family f are of[first[f]] .. of[first[f + 1] - 1].
 * Filled in the order of the members. */
typedef struct {
  guint *first, *of;
} Families;

static Families sort_families(const GArray *members)
{
  Families families = { g_new0(guint, members->len + 1), g_new(guint, members->len) };
  g_autofree guint *fill = g_new(guint, members->len);

  for (guint m = 0; m < members->len; m++)
    families.first[family_of(members, m) + 1]++;
  for (guint m = 0; m < members->len; m++) {
    families.first[m + 1] += families.first[m];
    fill[m] = families.first[m];
  }
  for (guint m = 0; m < members->len; m++)
    families.of[fill[family_of(members, m)]++] = m;
  return families;
}

/* Sets of one exchange that never meet need not be together. */
static void part_from_themselves(GArray *members)
{
  const Families families = sort_families(members);

  for (guint f = 0; f < members->len; f++) {
    const guint first = families.first[f], end = families.first[f + 1];
    bool alone = true;
    for (guint i = first; i < end; i++)
      alone = alone && member_at(members, families.of[i])->exchange ==
                         member_at(members, families.of[first])->exchange;
    for (guint i = first; alone && i < end; i++)
      member_at(members, families.of[i])->family = families.of[i];
  }
  g_free(families.first);
  g_free(families.of);
}

void exchange_announce_all(Exchange *const *exchanges, guint n, Engine *engine,
                           bool overlap, guint serial_moves)
{
  g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(Member));
  g_autoptr(GPtrArray) sets = g_ptr_array_new();

  for (guint i = 0; i < n; i++)
    list_members(exchanges[i], i, members);
  if (overlap || n > 1)
    join_families(members, topology_n_links(exchanges[0]->topology));
  if (!overlap)
    part_from_themselves(members);
  const Families families = sort_families(members);
  for (guint f = 0; f < members->len; f++) {
    const guint first = families.first[f], end = families.first[f + 1];
    if (first == end)
      continue;
    g_ptr_array_set_size(sets, 0);
    for (guint i = first; i < end; i++)
      g_ptr_array_add(sets, (gpointer)set_of(member_at(members, families.of[i])));
    const bool serial =
      sets->len == 1 && (!overlap || is_serial(member_at(members, f), serial_moves));
    guint number =
      engine_add_sets(engine, (const FlowSet *const *)sets->pdata, sets->len, !serial);
    for (guint i = first; i < end; i++) {
      const Member *member = member_at(members, families.of[i]);
      member->laid->sets[member->phase] = number++;
    }
  }
  g_free(families.first);
  g_free(families.of);
}

void exchange_announce(Exchange *exchange, Engine *engine, bool overlap, guint serial_moves)
{
  exchange_announce_all(&exchange, 1, engine, overlap, serial_moves);
}

static bool lay_messages(const Exchange *exchange, GError **error)
{
  for (guint i = 0; i < exchange->laid->len; i++) {
    const Laid *laid = &g_array_index(exchange->laid, Laid, i);
    if (laid->collective == NULL && laid->move.move == EXCHANGE_TRAFFIC) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                  "cluster.other_jobs: other jobs have no messages that could be simulated "
                  "one by one; use --engine=flows");
      return false;
    }
    if (laid->collective == NULL) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                  "this strategy moves data between GPUs, hosts and servers; only "
                  "collectives can be simulated message by message");
      return false;
    }
    if (!messages_lay(exchange->messages, &exchange_find_kind(exchange, laid->kind)->call,
                      laid->collective, error))
      return false;
  }
  return true;
}

bool exchange_announce_all_messages(Exchange *const *exchanges, guint n, Engine *engine,
                                    bool overlap, GError **error)
{
  guint n_ranks = 0;

  for (guint i = 0; i < n; i++)
    n_ranks += exchanges[i]->group->n_ranks;
  Messages *messages = messages_new(exchanges[0]->topology, n_ranks, error);
  for (guint i = 0; i < n; i++) {
    exchanges[i]->messages = messages;
    exchanges[i]->shares_messages = i > 0;
    if (messages == NULL || !lay_messages(exchanges[i], error))
      return false;
  }
  messages_announce(messages, engine, n == 1 && !overlap);
  return true;
}

bool exchange_announce_messages(Exchange *exchange, Engine *engine, bool overlap,
                                GError **error)
{
  return exchange_announce_all_messages(&exchange, 1, engine, overlap, error);
}
