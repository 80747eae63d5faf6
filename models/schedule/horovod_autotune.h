/**
 * @file horovod_autotune.h
 * @brief HOROVOD_AUTOTUNE: knobs of Horovod's loop, tried while training runs.
 *
 * A sample is the median of five scores, bytes over time of so many steps. The first
 * samples are left out. Then fusion threshold (0 to 64 MiB) and cycle time (1 to 100 ms)
 * are tried at (4, 5), (32, 50), (16, 25), (8, 10) and where Bayesian optimisation wants
 * them, and that again for each value of the flags behind them. In the end the best of all
 * is kept. What is held is not tried.
 *
 * Source: horovod 0.28.1 common/parameter_manager.cc. Its optimizers of likelihood and
 * expected improvement walk down gradients, ours (sim/base/bayes.h) a simplex.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
  guint warmup_samples, steps_per_sample, max_samples;
  double noise;
  bool holds_threshold, holds_cycle_time, holds_cache;
} AutotuneRule;

/** The largest threshold tried [B]. */
#define AUTOTUNE_MAX_THRESHOLD_B (64 * 1024.0 * 1024.0)

/** What is tried, or found. */
typedef struct {
  double threshold_B, cycle_time_s;
  bool cache;
} AutotunePoint;

typedef struct Autotune Autotune;

/** @param held  what is held, where anything is */
Autotune *autotune_new(const AutotuneRule *rule, const AutotunePoint *held);
void autotune_free(Autotune *autotune);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Autotune, autotune_free)

/** Steps until it has found what it keeps. */
guint autotune_n_steps(const AutotuneRule *rule);

/** A step begins; all before it have moved @p moved_B.
 *  @return what is in force from now on */
AutotunePoint autotune_step(Autotune *autotune, double now_s, double moved_B);

/** Has it found what it keeps? */
bool autotune_is_done(const Autotune *autotune);
