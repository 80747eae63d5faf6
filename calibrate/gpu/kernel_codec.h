/**
 * @file kernel_codec.h
 * @brief Kernels of the codecs whose messages have a fixed layout: 1-bit with error
 *        feedback, random-k, and PowerSGD's orthogonalisation.
 *
 * Sources: S. P. Karimireddy et al., ICML 2019 (EF-signSGD: sign times the mean size, here
 * of each chunk, so that one pass over the gradient is enough); S. U. Stich et al., NeurIPS
 * 2018 (random-k with memory); T. Vogels et al., NeurIPS 2019 (PowerSGD: Gram-Schmidt).
 */
#pragma once

#include "calibrate/gpu/simt.h"

#define ONEBIT_PER_THREAD 4u

typedef struct {
  const float *gradient;
  float *error;    /**< in: what the last message left out; out: what this one does */
  uint32_t *signs; /**< bit i of word w: is value 32 w + i not negative? */
  float *scale;    /**< per chunk of ONEBIT_PER_THREAD x n_threads values: mean size */
  uint64_t n;
} OnebitEncodeArgs;

typedef struct {
  float sum[SIMT_WARP]; /* one per warp of at most 1024 threads */
} SumShared;

/* One chunk stays in registers between finding its scale and writing its error. */
SIMT_FN void onebit_encode_chunk(const SimtThread *t, const OnebitEncodeArgs *a,
                                 SumShared *s, uint64_t first, uint32_t length)
{
  float value[ONEBIT_PER_THREAD];
  float size = 0;

  for (uint32_t j = 0; j < ONEBIT_PER_THREAD; j++) {
    const uint32_t i = j * t->n_threads + t->thread;
    value[j] = i < length ? a->gradient[first + i] + a->error[first + i] : 0;
    size += simt_float(simt_size_key(value[j]));
  }
  const float scale = simt_block_sum(t, size, s->sum) / (float)length;
  for (uint32_t j = 0; j < ONEBIT_PER_THREAD; j++) {
    const uint32_t i = j * t->n_threads + t->thread;
    const bool positive = value[j] >= 0;
    const uint32_t word = simt_ballot(t, i < length && positive);
    if (i < length) {
      a->error[first + i] = value[j] - (positive ? scale : -scale);
      if (t->thread % SIMT_WARP == 0)
        a->signs[(first + i) / 32] = word;
    }
  }
  if (t->thread == 0)
    a->scale[first / (ONEBIT_PER_THREAD * t->n_threads)] = scale;
}

SIMT_FN void kernel_onebit_encode(const SimtThread *t, const OnebitEncodeArgs *a,
                                  SumShared *s)
{
  const uint32_t chunk = ONEBIT_PER_THREAD * t->n_threads;

  for (uint64_t first = (uint64_t)t->block * chunk; first < a->n;
       first += (uint64_t)t->n_blocks * chunk) {
    const uint64_t left = a->n - first;
    onebit_encode_chunk(t, a, s, first, left < chunk ? (uint32_t)left : chunk);
  }
}

typedef struct {
  const uint32_t *signs;
  const float *scale;
  float *sum; /**< the decoded message is added */
  uint64_t n;
  uint32_t chunk_log2; /**< 2^this values share a scale */
} OnebitDecodeArgs;

SIMT_FN void kernel_onebit_decode(const SimtThread *t, const OnebitDecodeArgs *a,
                                  NoShared *s)
{
  (void)s;
  for (uint64_t i = simt_index(t); i < a->n; i += simt_n_threads(t)) {
    const float scale = a->scale[i >> a->chunk_log2];
    const bool positive = a->signs[i / 32] >> (i % 32) & 1;
    a->sum[i] += positive ? scale : -scale;
  }
}

/** A mix of 64 bits: the finaliser of SplitMix64 (Steele et al., OOPSLA 2014). */
SIMT_FN uint64_t randomk_mix(uint64_t x)
{
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/**
 * The i-th of k indices below n: one from each of k equal strata, so that none comes
 * twice; a function of the seed alone, so that no index need be sent.
 */
SIMT_FN uint64_t randomk_index(uint64_t seed, uint64_t i, uint64_t k, uint64_t n)
{
  const uint64_t stratum = n / k;
  const uint64_t random = randomk_mix(seed + (i + 1) * 0x9e3779b97f4a7c15u) >> 32;
  const uint64_t width = i + 1 < k ? stratum : n - stratum * (k - 1);
  /* Strata are below 2^32 values: buffers are below 16 GiB, k at least 1. */
  return stratum * i + (random * width >> 32);
}

typedef struct {
  float
    *values; /**< gradient plus what earlier messages left out; what is sent becomes 0 */
  float *message; /**< k values */
  uint64_t n, k, seed;
} RandomkEncodeArgs;

SIMT_FN void kernel_randomk_encode(const SimtThread *t, const RandomkEncodeArgs *a,
                                   NoShared *s)
{
  (void)s;
  for (uint64_t i = simt_index(t); i < a->k; i += simt_n_threads(t)) {
    const uint64_t from = randomk_index(a->seed, i, a->k, a->n);
    a->message[i] = a->values[from];
    a->values[from] = 0;
  }
}

typedef struct {
  const float *message;
  float *sum;
  uint64_t n, k, seed;
} RandomkDecodeArgs;

SIMT_FN void kernel_randomk_decode(const SimtThread *t, const RandomkDecodeArgs *a,
                                   NoShared *s)
{
  (void)s;
  for (uint64_t i = simt_index(t); i < a->k; i += simt_n_threads(t))
    a->sum[randomk_index(a->seed, i, a->k, a->n)] += a->message[i];
}

typedef struct {
  float *matrix; /**< n x r, one column after the other */
  uint32_t n, r;
} GramSchmidtArgs;

SIMT_FN float gram_schmidt_dot(const SimtThread *t, const float *a, const float *b,
                               uint32_t n, SumShared *s)
{
  float sum = 0;
  for (uint32_t i = t->thread; i < n; i += t->n_threads)
    sum += a[i] * b[i];
  return simt_block_sum(t, sum, s->sum);
}

/** Modified Gram-Schmidt in one CTA: a column is normalised, then taken out of the later
 *  ones. A column of zeros stays one. */
SIMT_FN void kernel_gram_schmidt(const SimtThread *t, const GramSchmidtArgs *a,
                                 SumShared *s)
{
  if (t->block != 0)
    return;
  for (uint32_t j = 0; j < a->r; j++) {
    float *column = a->matrix + (uint64_t)j * a->n;
    const float length = simt_sqrt(gram_schmidt_dot(t, column, column, a->n, s));
    const float factor = length > 0 ? 1 / length : 0;
    for (uint32_t i = t->thread; i < a->n; i += t->n_threads)
      column[i] *= factor;
    for (uint32_t l = j + 1; l < a->r; l++) {
      float *later = a->matrix + (uint64_t)l * a->n;
      const float dot = gram_schmidt_dot(t, column, later, a->n, s);
      for (uint32_t i = t->thread; i < a->n; i += t->n_threads)
        later[i] -= dot * column[i];
    }
  }
}
