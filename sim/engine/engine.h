/**
 * @file engine.h
 * @brief Simulated time, processes and transfers. The only door to SimGrid.
 *
 * Use: engine_new(), engine_add_sets() for every flow set the run can use, engine_run()
 * with a first process; inside processes: spawn, sleep, wait, signal, transfer. SimGrid
 * allows one engine per operating-system process: fork for another.
 */
#pragma once

#include "models/flow.h"
#include "sim/engine/mail.h"

#include <stdbool.h>

typedef struct Engine Engine;
typedef struct EngineSignal EngineSignal;

typedef struct {
  bool fold; /**< simulate one flow per class; false: every flow, every time */
  const char
    *dump_platform; /**< also write the platform here (SimGrid XML); NULL: do not */
} EngineConfig;

/** @param links  every link by number; copied */
Engine *engine_new(const EngineConfig *config, const Link *links, guint n_links);
void engine_free(Engine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Engine, engine_free)

/**
 * Announce flow sets that may be in flight together (with themselves and one another) if
 * @p overlap, or of which only one at a time ever is. Sets of different calls must not be
 * in flight together unless they have no link in common; the engine stops the run if they
 * are.
 * @param sets   borrowed until engine_run() returns
 * @return the number of the first; they count up
 */
guint engine_add_sets(Engine *engine, const FlowSet *const *sets, guint n_sets,
                      bool overlap);

/**
 * Announce wires for engine_deliver(): flow i of @p wires is wire i. They have a copy of
 * the links to themselves and are never folded. Once; borrowed until engine_run() returns.
 */
void engine_add_wires(Engine *engine, const FlowSet *wires);

/** What simulates: "SimGrid 3.32". Borrowed. */
const char *engine_version(void);

/** How: "folded", "explicit" or "messages". Borrowed. */
const char *engine_way(bool fold, bool messages);

/** Classes of flows that set @p set is simulated with; after engine_run() began. 0: it runs
 *  alone and its time is known without. */
guint engine_n_classes(const Engine *engine, guint set);

/**
 * Simulate until every process has ended. @p main is the first process, at time 0.
 * @return false with SIM_ERROR_IO (platform file) or SIM_ERROR_FAULT (sets that overlap
 *         although they were announced apart; processes that wait for ever)
 */
bool engine_run(Engine *engine, void (*main)(void *data), void *data, GError **error);

/* Inside processes. */

double engine_now_s(const Engine *engine);
void engine_sleep(Engine *engine, double duration_s);
void engine_spawn(Engine *engine, const char *name, void (*body)(void *data), void *data);

/** Move one message of @p size_B bytes over every flow of @p set (share * size_B each);
 *  returns when the last has arrived. Latencies are the caller's to sleep. */
void engine_transfer(Engine *engine, guint set, double size_B);

/** Carry every message of @p mail; returns when the last has arrived. */
void engine_deliver(Engine *engine, const Mail *mail);

/** A counter that processes wait for. */
EngineSignal *engine_signal_new(Engine *engine);
void engine_signal_free(EngineSignal *signal);
void engine_signal_raise(EngineSignal *signal);
/** Wait until the signal has been raised more often than it was waited for. */
void engine_signal_wait(EngineSignal *signal);
/** The same, but at most until @p deadline_s; false if nothing was raised by then. */
bool engine_signal_wait_until(EngineSignal *signal, double deadline_s);
