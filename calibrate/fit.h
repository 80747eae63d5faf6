/**
 * @file fit.h
 * @brief From samples to laws.
 *
 * Residuals are relative to the time. Fits are robust: a wild cell costs its place, not the
 * law. Intervals hold 95 %: what the weighted least squares say, and what a bootstrap of
 * the residuals says over the whole procedure, whichever is wider.
 */
#pragma once

#include "calibrate/law.h"

typedef struct {
  guint64 seed;       /**< of the bootstrap */
  guint n_bootstrap;  /**< draws; 0: least squares alone */
  guint max_segments; /**< 1..FIT_MAX_SEGMENTS */
  bool monotone;      /**< knots never fall as the size grows */
} FitOptions;

#define FIT_MAX_SEGMENTS 5
#define FIT_DEFAULTS                                                                       \
  {                                                                                        \
    .seed = 1, .n_bootstrap = 200, .max_segments = FIT_MAX_SEGMENTS, .monotone = true      \
  }

/** Fewer different sizes than this make no segment of their own. */
#define FIT_MIN_SIZES 4

/**
 * Every law that @p samples support: one for each curve, in the form that its probe asks
 * for, and one for all cluster sizes of an algorithm whose steps are known.
 * @param samples   in sample_compare()'s order; SAMPLE_FAILED ones are left out
 * @param warnings  sentences are appended (char *, owned); may be NULL
 * @return GPtrArray of Law, in the order of the samples. Transfer: caller unrefs.
 */
GPtrArray *fit_all(const GPtrArray *samples, const FitOptions *options,
                   GPtrArray *warnings);

/** Points of one curve as an array of LawKnot: by size, those of one size that differ by
 *  more than 1.5 without the slower ones, at most some hundred. Transfer: caller unrefs.
 *  @param samples  one curve, borrowed */
GArray *fit_points(const GPtrArray *samples);

/** The laws of one curve; NULL if the points do not support it. */
Law *fit_piecewise(const Sample *key, const GArray *points, const FitOptions *options);
Law *fit_floor(const Sample *key, const GArray *points, const FitOptions *options);
Law *fit_saturation(const Sample *key, const GArray *points, const FitOptions *options);
Law *fit_contention(const Sample *key, const GArray *points, const FitOptions *options);

/** The one law of curves that differ in ranks, nodes and operation.
 *  @param key      whose operation the law is told of
 *  @param samples  all of them, hops_known() */
Law *fit_hops(const Sample *key, const GPtrArray *samples, const FitOptions *options);
