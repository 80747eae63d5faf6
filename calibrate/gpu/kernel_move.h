/**
 * @file kernel_move.h
 * @brief Kernels that only move: nothing, copies, sums, casts, a cache flush, and the copy
 *        that stands for a communication kernel.
 */
#pragma once

#include "calibrate/gpu/simt.h"

/** What a value is stored as. */
typedef enum { SIMT_FP32, SIMT_FP16, SIMT_BF16 } SimtType;

typedef struct {
  uint32_t unused; /* C has no empty struct */
} NullArgs;

SIMT_FN void kernel_null(const SimtThread *t, const NullArgs *a, NoShared *s)
{
  (void)t, (void)a, (void)s;
}

typedef struct {
  const SimtWord4 *from;
  SimtWord4 *to;
  uint64_t n; /**< pieces of 16 B */
} CopyArgs;

SIMT_FN void kernel_copy(const SimtThread *t, const CopyArgs *a, NoShared *s)
{
  (void)s;
  for (uint64_t i = simt_index(t); i < a->n; i += simt_n_threads(t))
    a->to[i] = a->from[i];
}

typedef struct {
  SimtWord4 *to;
  uint64_t n; /**< pieces of 16 B */
  uint32_t value;
} FlushArgs;

/** Writes more than the L2 cache holds, so that the next kernel finds nothing of its own.
 */
SIMT_FN void kernel_flush(const SimtThread *t, const FlushArgs *a, NoShared *s)
{
  const SimtWord4 piece = { a->value, a->value, a->value, a->value };
  (void)s;
  for (uint64_t i = simt_index(t); i < a->n; i += simt_n_threads(t))
    a->to[i] = piece;
}

typedef struct {
  void *sum;          /**< d += s, as a ring's reduction does */
  const void *addend; /**< both on 16 B */
  uint64_t n;         /**< values */
  uint32_t type;      /**< SimtType */
} ReduceArgs;

SIMT_FN uint32_t reduce_half_pair(uint32_t a, uint32_t b)
{
  const float low = simt_from_half((uint16_t)a) + simt_from_half((uint16_t)b);
  const float high =
    simt_from_half((uint16_t)(a >> 16)) + simt_from_half((uint16_t)(b >> 16));
  return (uint32_t)simt_half(low) | (uint32_t)simt_half(high) << 16;
}

SIMT_FN uint32_t reduce_bfloat_pair(uint32_t a, uint32_t b)
{
  const float low = simt_from_bfloat((uint16_t)a) + simt_from_bfloat((uint16_t)b);
  const float high =
    simt_from_bfloat((uint16_t)(a >> 16)) + simt_from_bfloat((uint16_t)(b >> 16));
  return (uint32_t)simt_bfloat(low) | (uint32_t)simt_bfloat(high) << 16;
}

SIMT_FN uint32_t reduce_word(uint32_t type, uint32_t a, uint32_t b)
{
  return type == SIMT_FP32   ? simt_bits(simt_float(a) + simt_float(b))
         : type == SIMT_FP16 ? reduce_half_pair(a, b)
                             : reduce_bfloat_pair(a, b);
}

/* One value of what is left beyond the last 16 bytes. */
SIMT_FN void reduce_value(const ReduceArgs *a, uint64_t i)
{
  if (a->type == SIMT_FP32) {
    ((float *)a->sum)[i] += ((const float *)a->addend)[i];
  } else {
    uint16_t *sum = (uint16_t *)a->sum + i;
    const uint16_t addend = ((const uint16_t *)a->addend)[i];
    *sum = (uint16_t)reduce_word(a->type, *sum, addend);
  }
}

SIMT_FN void kernel_reduce(const SimtThread *t, const ReduceArgs *a, NoShared *s)
{
  const uint64_t per_piece = a->type == SIMT_FP32 ? 4 : 8;
  const uint64_t n_pieces = a->n / per_piece;
  SimtWord4 *sum = (SimtWord4 *)a->sum;
  const SimtWord4 *addend = (const SimtWord4 *)a->addend;
  (void)s;

  for (uint64_t i = simt_index(t); i < n_pieces; i += simt_n_threads(t)) {
    const SimtWord4 x = sum[i], y = addend[i];
    const SimtWord4 z = { reduce_word(a->type, x.x, y.x), reduce_word(a->type, x.y, y.y),
                          reduce_word(a->type, x.z, y.z), reduce_word(a->type, x.w, y.w) };
    sum[i] = z;
  }
  for (uint64_t i = n_pieces * per_piece + simt_index(t); i < a->n; i += simt_n_threads(t))
    reduce_value(a, i);
}

typedef struct {
  const float *from;
  uint16_t *to;
  uint64_t n;
  uint32_t type; /**< SIMT_FP16 or SIMT_BF16 */
} NarrowArgs;

SIMT_FN uint16_t narrow_value(uint32_t type, float value)
{
  return type == SIMT_FP16 ? simt_half(value) : simt_bfloat(value);
}

SIMT_FN uint32_t narrow_pair(uint32_t type, float low, float high)
{
  return (uint32_t)narrow_value(type, low) | (uint32_t)narrow_value(type, high) << 16;
}

/** fp32 to 16 bits, to the nearest, ties to even. */
SIMT_FN void kernel_narrow(const SimtThread *t, const NarrowArgs *a, NoShared *s)
{
  const uint64_t n_pieces = a->n / 8;
  const SimtFloat4 *from = (const SimtFloat4 *)a->from;
  SimtWord4 *to = (SimtWord4 *)a->to;
  (void)s;

  for (uint64_t i = simt_index(t); i < n_pieces; i += simt_n_threads(t)) {
    const SimtFloat4 p = from[2 * i], q = from[2 * i + 1];
    const SimtWord4 z = { narrow_pair(a->type, p.x, p.y), narrow_pair(a->type, p.z, p.w),
                          narrow_pair(a->type, q.x, q.y), narrow_pair(a->type, q.z, q.w) };
    to[i] = z;
  }
  for (uint64_t i = n_pieces * 8 + simt_index(t); i < a->n; i += simt_n_threads(t))
    a->to[i] = narrow_value(a->type, a->from[i]);
}

typedef struct {
  const uint16_t *from;
  float *to;
  uint64_t n;
  uint32_t type; /**< SIMT_FP16 or SIMT_BF16 */
} WidenArgs;

SIMT_FN float widen_value(uint32_t type, uint32_t bits)
{
  return type == SIMT_FP16 ? simt_from_half((uint16_t)bits)
                           : simt_from_bfloat((uint16_t)bits);
}

SIMT_FN SimtFloat4 widen_words(uint32_t type, uint32_t a, uint32_t b)
{
  const SimtFloat4 z = { widen_value(type, a & 0xffffu), widen_value(type, a >> 16),
                         widen_value(type, b & 0xffffu), widen_value(type, b >> 16) };
  return z;
}

/** 16 bits to fp32, exact. */
SIMT_FN void kernel_widen(const SimtThread *t, const WidenArgs *a, NoShared *s)
{
  const uint64_t n_pieces = a->n / 8;
  const SimtWord4 *from = (const SimtWord4 *)a->from;
  SimtFloat4 *to = (SimtFloat4 *)a->to;
  (void)s;

  for (uint64_t i = simt_index(t); i < n_pieces; i += simt_n_threads(t)) {
    const SimtWord4 x = from[i];
    to[2 * i] = widen_words(a->type, x.x, x.y);
    to[2 * i + 1] = widen_words(a->type, x.z, x.w);
  }
  for (uint64_t i = n_pieces * 8 + simt_index(t); i < a->n; i += simt_n_threads(t))
    a->to[i] = widen_value(a->type, a->from[i]);
}

typedef struct {
  const SimtWord4 *from;
  SimtWord4 *to;
  uint64_t n;           /**< pieces of 16 B in the whole buffer; each CTA has its share */
  uint32_t chunk;       /**< pieces that a CTA copies between two looks at the clock */
  uint64_t interval_ns; /**< between the starts of two chunks; 0: as fast as it can */
  uint64_t limit_ns;    /**< it ends after so long whatever happens */
  const volatile uint32_t *stop; /**< it ends when this is not 0; mapped host memory */
  uint64_t *n_moved;             /**< per CTA: pieces copied */
} PacedArgs;

typedef struct {
  uint64_t now_ns; /* thread 0's clock, so that a CTA agrees on when to end */
  uint32_t ends;
} PacedShared;

/* Thread 0 waits for the time of the next chunk; the others wait for thread 0. */
SIMT_FN bool paced_goes_on(const SimtThread *t, const PacedArgs *a, PacedShared *s,
                           uint64_t began_ns, uint64_t n_chunks)
{
  simt_sync(t); /* everyone has copied the last chunk and read the last answer */
  if (t->thread == 0) {
    uint64_t passed_ns = simt_clock_ns(t) - began_ns;
    while (passed_ns < n_chunks * a->interval_ns && passed_ns < a->limit_ns &&
           *a->stop == 0)
      passed_ns = simt_clock_ns(t) - began_ns;
    s->ends = *a->stop != 0 || passed_ns >= a->limit_ns;
  }
  simt_sync(t);
  return s->ends == 0;
}

/**
 * A persistent copy on few CTAs at a set pace: what a communication kernel does to its
 * neighbours. Each CTA goes round and round its own share of the buffer.
 */
SIMT_FN void kernel_paced(const SimtThread *t, const PacedArgs *a, PacedShared *s)
{
  const uint64_t share = a->n / t->n_blocks;
  const uint64_t first = share * t->block;
  uint64_t n_chunks = 0, offset = 0, moved = 0;

  if (t->thread == 0)
    s->now_ns = simt_clock_ns(t);
  simt_sync(t);
  const uint64_t began_ns = s->now_ns;
  while (paced_goes_on(t, a, s, began_ns, n_chunks)) {
    const uint64_t left = share - offset;
    const uint64_t count = left < a->chunk ? left : a->chunk;
    for (uint64_t i = t->thread; i < count; i += t->n_threads)
      a->to[first + offset + i] = a->from[first + offset + i];
    offset = offset + count < share ? offset + count : 0;
    moved += count;
    n_chunks++;
  }
  if (t->thread == 0)
    a->n_moved[t->block] = moved;
}
