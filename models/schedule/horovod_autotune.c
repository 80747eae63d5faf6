#include "models/schedule/horovod_autotune.h"

#include "sim/base/bayes.h"
#include "sim/base/stats.h"

/* SAMPLES: scores of a sample, of which the median counts. */
#define N_SCORES 5
#define N_TEST_POINTS 4
#define MIB_B (1024.0 * 1024.0)
#define MS_S 1e-3
/* Their generator has a seed of its own, the same in every run. */
#define SEED 1

enum { THRESHOLD_MIB, CYCLE_TIME_MS, N_VARIABLES };

static const BayesBound bounds[N_VARIABLES] = { { 0, AUTOTUNE_MAX_THRESHOLD_B / MIB_B },
                                                { 1, 100 } };
static const double test_points[N_TEST_POINTS][N_VARIABLES] = {
  { 4, 5 }, { 32, 50 }, { 16, 25 }, { 8, 10 }
};

struct Autotune {
  AutotuneRule rule;
  double held[N_VARIABLES];
  double now[N_VARIABLES], best[N_VARIABLES];
  bool cache, best_cache;
  double best_score;
  guint n_tried;  /* points since the flags have changed */
  guint n_scores; /* of the sample under way */
  double scores[N_SCORES];
  guint n_steps; /* of the score under way */
  double began_s, began_B;
  guint n_warmup; /* samples to leave out */
  bool is_done;
  Rng *rng;
  Bayes *bayes; /* NULL: both are held */
};

static bool is_held(const AutotuneRule *rule, guint variable)
{
  return variable == THRESHOLD_MIB ? rule->holds_threshold : rule->holds_cycle_time;
}

static guint n_free(const AutotuneRule *rule)
{
  return !rule->holds_threshold + !rule->holds_cycle_time;
}

/* Points for each value of the flags: one more than the most of samples; where both are
 * held, one alone. */
static guint n_points(const AutotuneRule *rule)
{
  return n_free(rule) == 0 ? 1 : rule->max_samples + 1;
}

guint autotune_n_steps(const AutotuneRule *rule)
{
  const guint n_samples =
    rule->warmup_samples + n_points(rule) * (rule->holds_cache ? 1 : 2);
  return 1 + n_samples * N_SCORES * rule->steps_per_sample;
}

/* The variables that are tried, one after another. */
static void take_free(const Autotune *self, const double *from, double *to)
{
  for (guint v = 0, i = 0; v < N_VARIABLES; v++)
    if (!is_held(&self->rule, v))
      to[i++] = from[v];
}

static void put_free(const Autotune *self, const double *from, double *to)
{
  for (guint v = 0, i = 0; v < N_VARIABLES; v++)
    to[v] = is_held(&self->rule, v) ? self->held[v] : from[i++];
}

/* Begin with the points that are always tried. */
static void restart(Autotune *self)
{
  BayesBound free_bounds[N_VARIABLES];
  double first[N_VARIABLES];
  guint n = 0;

  for (guint v = 0; v < N_VARIABLES; v++)
    if (!is_held(&self->rule, v))
      free_bounds[n++] = bounds[v];
  self->n_tried = 0;
  g_clear_pointer(&self->bayes, bayes_free);
  if (n > 0)
    self->bayes = bayes_new(free_bounds, n, self->rule.noise, self->rng);
  take_free(self, test_points[0], first);
  put_free(self, first, self->now);
}

Autotune *autotune_new(const AutotuneRule *rule, const AutotunePoint *held)
{
  Autotune *self = g_new0(Autotune, 1);

  self->rule = *rule;
  self->held[THRESHOLD_MIB] = held->threshold_B / MIB_B;
  self->held[CYCLE_TIME_MS] = held->cycle_time_s / MS_S;
  self->cache = rule->holds_cache ? held->cache : false;
  self->n_warmup = rule->warmup_samples;
  self->rng = rng_stream(SEED, "horovod autotune");
  restart(self);
  return self;
}

void autotune_free(Autotune *autotune)
{
  if (autotune == NULL)
    return;
  bayes_free(autotune->bayes);
  rng_free(autotune->rng);
  g_free(autotune);
}

static void next_point(Autotune *self, double score)
{
  double x[N_VARIABLES] = { 0 };

  take_free(self, self->now, x);
  bayes_add(self->bayes, x, score);
  if (self->n_tried < N_TEST_POINTS)
    take_free(self, test_points[self->n_tried], x);
  else
    bayes_next(self->bayes, x);
  put_free(self, x, self->now);
}

/* All points have been tried with these flags. */
static void next_flags(Autotune *self)
{
  if (!self->rule.holds_cache && !self->cache) {
    self->cache = true;
    restart(self);
    return;
  }
  self->is_done = true;
  self->cache = self->best_cache;
  for (guint v = 0; v < N_VARIABLES; v++)
    self->now[v] = self->best[v];
}

static void tune(Autotune *self, double score)
{
  if (score > self->best_score) {
    self->best_score = score;
    self->best_cache = self->cache;
    for (guint v = 0; v < N_VARIABLES; v++)
      self->best[v] = self->now[v];
  }
  self->n_tried++;
  if (self->n_tried < n_points(&self->rule))
    next_point(self, score);
  else
    next_flags(self);
}

static void end_sample(Autotune *self)
{
  stats_sort(self->scores, N_SCORES);
  self->n_scores = 0;
  if (self->n_warmup > 0)
    self->n_warmup--;
  else
    tune(self, self->scores[N_SCORES / 2]);
}

AutotunePoint autotune_step(Autotune *self, double now_s, double moved_B)
{
  if (self->n_steps == self->rule.steps_per_sample && !self->is_done) {
    const double took_us = (now_s - self->began_s) * 1e6;
    self->scores[self->n_scores++] = took_us > 0 ? (moved_B - self->began_B) / took_us : 0;
    self->n_steps = 0;
    if (self->n_scores == N_SCORES)
      end_sample(self);
  }
  if (self->n_steps == 0) {
    self->began_s = now_s;
    self->began_B = moved_B;
  }
  self->n_steps++;
  return (AutotunePoint){
    .threshold_B = self->now[THRESHOLD_MIB] * MIB_B,
    .cycle_time_s = self->now[CYCLE_TIME_MS] * MS_S,
    .cache = self->cache,
  };
}

bool autotune_is_done(const Autotune *autotune)
{
  return autotune->is_done;
}
