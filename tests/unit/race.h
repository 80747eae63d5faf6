/**
 * @file race.h
 * @brief For tests: one collective the fast way (phases, folded) and message by message.
 *
 * Both run in one simulation, each on its own copy of the links. SimGrid allows one engine
 * per process, so every cluster is simulated in a child.
 */
#pragma once

#include "sim/engine/messages.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RACE_MAX_SIZES 19 /* 1 KiB..256 MiB */

/** Both forecasts of one size. */
typedef struct {
  double fast_s, reference_s;
} RacePair;

typedef struct {
  RacePair pairs[RACE_MAX_SIZES];
  double fast_wall_s, reference_wall_s; /**< what simulating all sizes took */
  bool succeeded;
  char message[200];
} RaceOutcome;

typedef struct {
  const CollCall *call; /**< its chunk_B is that of the terms */
  const Topology *topology;
  LibraryChoice choice;
  const double *sizes_B;
  guint n_sizes; /**< at most RACE_MAX_SIZES */
} Race;

/** A race under way. */
typedef struct {
  const Race *race;
  Engine *engine;
  Messages *messages;
  GArray *phases; /**< of CollPhase */
  guint first_set;
  RaceOutcome *outcome;
} RaceTrack;

static inline double race_phases(const RaceTrack *track, double size_B)
{
  const CollTerms *terms = &track->race->choice.terms;
  const double begin_s = engine_now_s(track->engine);

  for (guint p = 0; p < track->phases->len; p++) {
    const CollPhase *phase = &g_array_index(track->phases, CollPhase, p);
    engine_sleep(track->engine, coll_phase_wait_s(phase, terms, size_B));
    engine_transfer(track->engine, track->first_set + p, size_B * terms->wire_factor);
  }
  return engine_now_s(track->engine) - begin_s;
}

static inline void race_run(void *data)
{
  const RaceTrack *track = data;
  const gint64 begin_us = g_get_monotonic_time();

  for (guint i = 0; i < track->race->n_sizes; i++)
    track->outcome->pairs[i].fast_s = race_phases(track, track->race->sizes_B[i]);
  const gint64 middle_us = g_get_monotonic_time();
  for (guint i = 0; i < track->race->n_sizes; i++) {
    const double begin_s = engine_now_s(track->engine);
    messages_run(track->messages, track->race->call, &track->race->choice,
                 track->race->sizes_B[i]);
    track->outcome->pairs[i].reference_s = engine_now_s(track->engine) - begin_s;
  }
  track->outcome->fast_wall_s = 1e-6 * (double)(middle_us - begin_us);
  track->outcome->reference_wall_s = 1e-6 * (double)(g_get_monotonic_time() - middle_us);
}

static inline void race_here(const Race *race, RaceOutcome *outcome)
{
  const EngineConfig config = { .fold = true };
  const CollOps *ops = race->choice.collective;
  g_autoptr(GError) error = NULL;
  g_autoptr(Messages) messages =
    messages_new(race->topology, race->call->group->n_ranks, &error);
  g_autoptr(GArray) phases = coll_phases_new();
  g_autoptr(GPtrArray) sets = g_ptr_array_new();
  g_autoptr(Engine) engine =
    engine_new(&config, topology_links(race->topology), topology_n_links(race->topology));

  ops->phases(race->call, race->topology, phases);
  for (guint p = 0; p < phases->len; p++)
    g_ptr_array_add(sets, g_array_index(phases, CollPhase, p).set);
  RaceTrack track = { .race = race,
                      .engine = engine,
                      .messages = messages,
                      .phases = phases,
                      .outcome = outcome };
  track.first_set =
    engine_add_sets(engine, (const FlowSet *const *)sets->pdata, sets->len, false);
  if (messages_lay(messages, race->call, ops, &error)) {
    messages_announce(messages, engine, true);
    outcome->succeeded = engine_run(engine, race_run, &track, &error);
  }
  if (error != NULL)
    g_strlcpy(outcome->message, error->message, sizeof outcome->message);
}

/** Run both in a child. Not succeeded if that dies. */
static inline RaceOutcome race_hold(const Race *race)
{
  RaceOutcome outcome = { .message = "no child process" };
  RaceOutcome *shared =
    mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const pid_t child = shared == MAP_FAILED ? -1 : fork();

  if (child == 0) {
    race_here(race, shared);
    _exit(0);
  }
  int status = -1;
  if (child > 0 && waitpid(child, &status, 0) == child) {
    outcome = *shared;
    outcome.succeeded = outcome.succeeded && status == 0;
  }
  if (shared != MAP_FAILED)
    munmap(shared, sizeof *shared);
  return outcome;
}
