/**
 * @file kernel_topk.h
 * @brief Top-k by size: a threshold from a sample, or the exact k-th by radix, and the
 *        selection that follows either.
 *
 * Sources: Y. Lin et al., ICLR 2018 (deep gradient compression: the threshold of a sample);
 * radix selection as in Alabi et al., ACM JEA 17 (2012): four histograms of 8 bits, from
 * the top, each over the values that share the digits found so far.
 *
 * Sizes are compared as bits: IEEE numbers without sign order like whole numbers.
 */
#pragma once

#include "calibrate/gpu/simt.h"

#define TOPK_BINS 256u
#define TOPK_DIGITS 4u
#define TOPK_SAMPLE_MAX 4096u
#define TOPK_ALL 0xffffffffu /* TopkState.n_left: all values at the threshold are taken */

/** What the search for the k-th largest knows so far; in device memory. */
typedef struct {
  uint32_t prefix;  /**< the digits found, the rest 0; at the end the key of the k-th */
  uint32_t n_left;  /**< how many of the values with this prefix are among the k */
  uint32_t n_taken; /**< by the selection: values above the threshold */
  uint32_t n_ties;  /**< by the selection: values at it, unless it takes all of them */
} TopkState;

typedef struct {
  const float *values;
  uint64_t n;
  const TopkState *state;
  uint32_t *histogram; /**< TOPK_BINS counts, 0 before */
  uint32_t digit;      /**< 0: the uppermost */
} TopkHistogramArgs;

typedef struct {
  uint32_t bin[TOPK_BINS];
} TopkShared;

SIMT_FN uint32_t topk_digit(uint32_t key, uint32_t digit)
{
  return key >> (24 - 8 * digit) & 0xffu;
}

/** Has @p key the first @p digit digits of @p prefix? */
SIMT_FN bool topk_has_prefix(uint32_t key, uint32_t prefix, uint32_t digit)
{
  return digit == 0 || (key ^ prefix) >> (32 - 8 * digit) == 0;
}

SIMT_FN void kernel_topk_histogram(const SimtThread *t, const TopkHistogramArgs *a,
                                   TopkShared *s)
{
  const uint32_t prefix = a->state->prefix;

  for (uint32_t i = t->thread; i < TOPK_BINS; i += t->n_threads)
    s->bin[i] = 0;
  simt_sync(t);
  for (uint64_t i = simt_index(t); i < a->n; i += simt_n_threads(t)) {
    const uint32_t key = simt_size_key(a->values[i]);
    if (topk_has_prefix(key, prefix, a->digit))
      simt_atomic_add(&s->bin[topk_digit(key, a->digit)], 1);
  }
  simt_sync(t);
  for (uint32_t i = t->thread; i < TOPK_BINS; i += t->n_threads)
    if (s->bin[i] > 0)
      simt_atomic_add(&a->histogram[i], s->bin[i]);
}

/* The digit of the n_left-th largest among the counted: one thread, 256 steps. */
SIMT_FN void topk_pick_digit(uint32_t *bin, uint32_t digit, uint32_t *prefix,
                             uint32_t *n_left)
{
  uint32_t above = 0, i = TOPK_BINS - 1;

  while (i > 0 && above + bin[i] < *n_left)
    above += bin[i--];
  *prefix |= i << (24 - 8 * digit);
  *n_left -= above;
}

typedef struct {
  TopkState *state;
  uint32_t *histogram; /**< emptied for the next digit */
  uint32_t digit;
} TopkPickArgs;

SIMT_FN void kernel_topk_pick(const SimtThread *t, const TopkPickArgs *a, TopkShared *s)
{
  for (uint32_t i = t->thread; i < TOPK_BINS; i += t->n_threads) {
    s->bin[i] = a->histogram[i];
    a->histogram[i] = 0;
  }
  simt_sync(t);
  if (t->thread == 0 && t->block == 0)
    topk_pick_digit(s->bin, a->digit, &a->state->prefix, &a->state->n_left);
}

typedef struct {
  const float *values;
  uint64_t n;
  uint32_t n_sample; /**< <= TOPK_SAMPLE_MAX, spread evenly */
  uint32_t rank;     /**< which largest of the sample is the threshold, >= 1 */
  TopkState *state;
} TopkSampleArgs;

typedef struct {
  uint32_t bin[TOPK_BINS];
  uint32_t key[TOPK_SAMPLE_MAX];
  uint32_t prefix, n_left;
} TopkSampleShared;

/** In one CTA: the threshold of a sample. Every value at it is taken. */
SIMT_FN void kernel_topk_sample(const SimtThread *t, const TopkSampleArgs *a,
                                TopkSampleShared *s)
{
  if (t->block != 0)
    return;
  for (uint32_t i = t->thread; i < a->n_sample; i += t->n_threads)
    s->key[i] = simt_size_key(a->values[i * a->n / a->n_sample]);
  if (t->thread == 0) {
    s->prefix = 0;
    s->n_left = a->rank;
  }
  for (uint32_t digit = 0; digit < TOPK_DIGITS; digit++) {
    for (uint32_t i = t->thread; i < TOPK_BINS; i += t->n_threads)
      s->bin[i] = 0;
    simt_sync(t);
    for (uint32_t i = t->thread; i < a->n_sample; i += t->n_threads)
      if (topk_has_prefix(s->key[i], s->prefix, digit))
        simt_atomic_add(&s->bin[topk_digit(s->key[i], digit)], 1);
    simt_sync(t);
    if (t->thread == 0)
      topk_pick_digit(s->bin, digit, &s->prefix, &s->n_left);
    simt_sync(t);
  }
  if (t->thread == 0) {
    a->state->prefix = s->prefix;
    a->state->n_left = TOPK_ALL;
  }
}

typedef struct {
  const float *values;
  uint64_t n;
  TopkState *state; /**< n_taken and n_ties 0 before */
  uint32_t n_max;   /**< slots; a threshold from a sample may find more or fewer */
  float *value; /**< above the threshold from slot 0 up, at it from the last slot down */
  uint32_t *index;
} TopkSelectArgs;

/* Slots for those lanes that want one, with one atomic operation a warp. */
SIMT_FN uint32_t topk_slot(const SimtThread *t, bool wants, uint32_t *counter)
{
  const uint32_t lane = t->thread % SIMT_WARP;
  const uint32_t who = simt_ballot(t, wants);
  const uint32_t before = simt_count_bits(who & ((1u << lane) - 1));
  uint32_t base = 0;

  if (who == 0)
    return 0;
  if (lane == 0)
    base = simt_atomic_add(counter, simt_count_bits(who));
  /* Lane 0's number goes to all: the others hold 0, and five exchanges add them up. */
  for (uint32_t mask = SIMT_WARP / 2; mask > 0; mask /= 2)
    base += simt_exchange(t, base, mask);
  return base + before;
}

SIMT_FN void kernel_topk_select(const SimtThread *t, const TopkSelectArgs *a, NoShared *s)
{
  const uint32_t threshold = a->state->prefix;
  const uint32_t n_left = a->state->n_left;
  const bool takes_all = n_left == TOPK_ALL;
  (void)s;

  /* Whole warps go round together, so that every lane takes part in the ballots. */
  for (uint64_t first = simt_index(t) - t->thread % SIMT_WARP; first < a->n;
       first += simt_n_threads(t)) {
    const uint64_t i = first + t->thread % SIMT_WARP;
    const float value = i < a->n ? a->values[i] : 0;
    const uint32_t key = simt_size_key(value);
    const bool above = i < a->n && (key > threshold || (takes_all && key == threshold));
    const bool tie = i < a->n && !takes_all && key == threshold;
    const uint32_t slot = topk_slot(t, above, &a->state->n_taken);
    const uint32_t nth = topk_slot(t, tie, &a->state->n_ties);

    if (above && slot < a->n_max) {
      a->value[slot] = value;
      a->index[slot] = (uint32_t)i;
    }
    if (tie && nth < n_left && nth < a->n_max) {
      a->value[a->n_max - 1 - nth] = value;
      a->index[a->n_max - 1 - nth] = (uint32_t)i;
    }
  }
}
