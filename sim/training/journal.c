#include "sim/training/journal.h"

void journal_init(Journal *journal)
{
  *journal = (Journal){ .entries = g_array_new(FALSE, FALSE, sizeof(JournalEntry)) };
}

void journal_clear(Journal *journal)
{
  g_clear_pointer(&journal->entries, g_array_unref);
}

static bool has_moves(const Composition *composition)
{
  const GArray *stages = composition->pipeline.stages;

  for (guint s = 0; s < stages->len; s++)
    if (g_array_index(stages, Stage, s).kind == STAGE_MOVE)
      return true;
  return false;
}

/* Does a layer behind the first wait for what it fetches? */
static bool pauses(const Setup *setup, const Composition *composition)
{
  const bool one_step = setup->workload.accumulation_steps == 1;
  const GArray *fetches = composition->fetches;

  for (guint f = 0; fetches != NULL && f < fetches->len; f++) {
    const Fetch *fetch = &g_array_index(fetches, Fetch, f);
    if (fetch->layer > 0 || fetch->backward || !(fetch->once || one_step))
      return true;
  }
  return false;
}

bool journal_check(const Setup *setup, const Composition *composition, guint n_workers,
                   GError **error)
{
  const char *strategy = setup->strategy->info.name;
  const char *cause = NULL;

  if (has_moves(composition))
    cause = "moves data between GPUs, hosts and servers; only collectives are messages "
            "between ranks";
  else if (composition->crosses_iterations)
    cause = "exchanges across the end of an iteration";
  else if (pauses(setup, composition) ||
           (composition->every_backward && setup->workload.accumulation_steps > 1))
    cause = "waits in the middle of an iteration";
  else if (setup->codec != &codec_none)
    cause = "is asked to compress: set compression.codec=none";
  else if (composition->choices.codecs != NULL && composition->choices.codecs->len > 0)
    cause = "may compress: leave codecs out";
  if (cause == NULL && (setup->compute.jitter > 0 || n_workers > 1)) {
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_VALUE,
                        "ranks compute unlike one another; an iteration can be told only "
                        "of equals: leave jitter and stragglers out");
    return false;
  }
  if (cause == NULL)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "strategy %s %s; `export iteration` cannot tell that", strategy, cause);
  return false;
}
