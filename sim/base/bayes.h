/**
 * @file bayes.h
 * @brief Bayesian optimisation: where to look next for the largest value of a function.
 *
 * A Gaussian process with the kernel s^2 exp(-|x - y|^2 / (2 l^2)) and noise is fitted to
 * what was measured, l and s by the likelihood; next comes the point of the largest
 * expected improvement over what the process believes of the points so far.
 *
 * Source: E. Brochu, V. M. Cora, N. de Freitas, "A Tutorial on Bayesian Optimization of
 * Expensive Cost Functions", arXiv 1012.2599, sections 2.1 to 2.4.
 */
#pragma once

#include "sim/base/rng.h"

/** Coordinates of a point, at most. */
#define BAYES_MAX_DIMENSIONS 4

typedef struct {
  double low, high;
} BayesBound;

typedef struct Bayes Bayes;

/** @param noise  standard deviation of a value  @param rng  borrowed as long */
Bayes *bayes_new(const BayesBound *bounds, guint n_dimensions, double noise, Rng *rng);
void bayes_free(Bayes *bayes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Bayes, bayes_free)

/** The function is @p y at @p x. */
void bayes_add(Bayes *bayes, const double *x, double y);

/** Where to look next; needs one value at least. */
void bayes_next(Bayes *bayes, double *x);
