/**
 * @file rng.h
 * @brief Named, seeded streams of random numbers (GSL's mt19937).
 *
 * A stream depends on the seed and its name alone, so that a new draw in one
 * place changes no other.
 */
#pragma once

#include <glib.h>

typedef struct Rng Rng;

/** Transfer: caller frees with rng_free(). */
Rng *rng_stream(guint64 seed, const char *name);
void rng_free(Rng *rng);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Rng, rng_free)

double rng_uniform(Rng *rng);       /**< in [0, 1) */
guint rng_below(Rng *rng, guint n); /**< in 0..n-1; n > 0 */

/** The largest of @p n independent standard normals, from one draw:
 *  inverse normal of u^(1/n). n > 0. */
double rng_max_normal(Rng *rng, double n);

/** What that largest is on average, within 5 %, from n = 8 on within 1 %. n >= 1.
 *  G. Blom, "Statistical Estimates and Transformed Beta-Variables", 1958. */
double rng_mean_max_normal(double n);

/** A 64-bit hash of three words; the same on every machine. */
guint64 rng_hash(guint64 a, guint64 b, guint64 c);
