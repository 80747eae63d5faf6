#include "models/collective/core.h"

Core core_of(const CollCall *call)
{
  const guint n = call->group->n_ranks;
  const guint n_levels = g_bit_storage(n) - 1;
  const guint n_core = 1u << n_levels;
  return (Core){ .n = n, .n_core = n_core, .n_levels = n_levels, .n_extra = n - n_core };
}

guint core_rank(const Core *core, guint member)
{
  return member < core->n_extra ? 2 * member + 1 : member + core->n_extra;
}

guint core_first_chunk(const Core *core, guint member)
{
  return member < core->n_extra ? 2 * member : member + core->n_extra;
}

void core_add_fold(const Core *core, guint n_chunks, bool reduce, bool own,
                   GArray *messages)
{
  for (guint i = 0; i < core->n_extra; i++) {
    const RoundMessage message = { .src = 2 * i,
                                   .dst = 2 * i + 1,
                                   .first_chunk = own ? 2 * i : 0,
                                   .n_chunks = n_chunks,
                                   .reduce = reduce };
    g_array_append_val(messages, message);
  }
}

void core_add_unfold(const Core *core, guint n_chunks, bool own, GArray *messages)
{
  for (guint i = 0; i < core->n_extra; i++) {
    const RoundMessage message = {
      .src = 2 * i + 1, .dst = 2 * i, .first_chunk = own ? 2 * i : 0, .n_chunks = n_chunks
    };
    g_array_append_val(messages, message);
  }
}

void core_add_gather(const Core *core, guint distance, GArray *messages)
{
  for (guint member = 0; member < core->n_core; member++) {
    const guint first = member & ~(distance - 1);
    const guint chunk = core_first_chunk(core, first);
    const RoundMessage message = {
      .src = core_rank(core, member),
      .dst = core_rank(core, member ^ distance),
      .first_chunk = chunk,
      .n_chunks = core_first_chunk(core, first + distance) - chunk,
    };
    g_array_append_val(messages, message);
  }
}
