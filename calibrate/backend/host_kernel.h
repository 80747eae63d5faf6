/**
 * @file host_kernel.h
 * @brief What a CPU does with gradients: sum, cast, quantise, select. One set of kernels
 * per instruction set, all with the same results.
 *
 * The sets differ in speed alone: every one adds in the same order, so that a test can hold
 * them equal bit for bit. Which sets this CPU can run is asked at run time.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/** Values that share one scale when a gradient is cut to one bit: 4 KiB of fp32, which stay
 *  in the first-level cache between the two looks at them. Our choice; it costs 1/1024 of
 *  the bytes. */
#define KERNEL_ONEBIT_BLOCK 1024

typedef struct {
  const char *name; /**< "portable", "avx2" */

  /** Has this CPU what it takes? */
  bool (*supported)(void);

  /** sum[i] += other[i] */
  void (*sum)(float *sum, const float *other, gsize n);

  /** IEEE 754 binary16, to nearest, ties to even. */
  void (*to_half)(guint16 *half, const float *value, gsize n);
  void (*from_half)(float *value, const guint16 *half, gsize n);

  /**
   * v = gradient + error; keep the signs of v, and for every block of KERNEL_ONEBIT_BLOCK
   * values the mean of |v| as scale; error = v less what the decoder will make of it.
   * F. Seide et al., "1-bit stochastic gradient descent", INTERSPEECH 2014, with one scale
   * for both signs.
   * @param bits   (n + 7) / 8 bytes; bit i % 8 of byte i / 8 is set if v[i] is negative
   * @param scale  one per block, the last of which may be short
   */
  void (*onebit_encode)(const float *gradient, float *error, guint8 *bits, float *scale,
                        gsize n);

  /** sum[i] += bit ? -scale : scale */
  void (*onebit_decode)(float *sum, const guint8 *bits, const float *scale, gsize n);

  /**
   * The values with |v| >= @p threshold and where they stand, in order, at most @p max.
   * @return how many were found before there were @p max
   */
  gsize (*select)(const float *value, gsize n, float threshold, guint32 *index,
                  float *selected, gsize max);
} KernelSet;

extern const KernelSet kernel_set_portable;
#if defined(__x86_64__)
extern const KernelSet kernel_set_avx2;
#endif

/** Fastest first; NULL-terminated. */
extern const KernelSet *const kernel_sets[];

/** The fastest that this CPU can run. */
const KernelSet *kernel_set_best(void);

/**
 * A threshold that about @p k of the @p n values reach: the k/n quantile of at most
 * KERNEL_SAMPLE values, evenly spread. Deep Gradient Compression (Lin et al., ICLR 2018)
 * estimates it so. 1 <= k <= n.
 */
float kernel_sampled_threshold(const float *value, gsize n, gsize k);
#define KERNEL_SAMPLE 4096

/** The k-th largest |v|, exactly, by counting 11, 11 and 9 bits of its magnitude.
 *  1 <= k <= n; NaN counts as larger than all. */
float kernel_exact_threshold(const float *value, gsize n, gsize k);

/**
 * One value of every n / k neighbours, drawn by a counter from @p seed: sender and receiver
 * draw the same, so that no index travels. @p selected has k values; 1 <= k <= n.
 */
void kernel_random_k(const float *value, gsize n, gsize k, guint64 seed, float *selected);

/** Where random_k() takes its value number @p i from. */
gsize kernel_random_index(gsize n, gsize k, guint64 seed, gsize i);
