/**
 * @file simt.h
 * @brief One kernel body, two compilers: what a thread of a GPU kernel may ask for.
 *
 * A kernel is an ordinary inline function of a SimtThread, its arguments and its block's
 * shared memory. nvcc compiles it as device code (plugin/kernels.cu); the C compiler
 * compiles it for simt.c, which runs the threads of a block as fibers that meet at
 * barriers. So every kernel is tested on machines without a GPU, and on one with a GPU the
 * two are compared bit by bit: both are compiled without contraction of a * b + c.
 *
 * C and C++, without GLib.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SIMT_WARP 32u

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define SIMT_FN static __device__ __forceinline__
#define SIMT_ALIGNED(bytes) __align__(bytes)
#else
#include <string.h>
#define SIMT_FN static inline
#define SIMT_ALIGNED(bytes) __attribute__((aligned(bytes)))
#endif

/** One thread of a kernel. */
typedef struct {
  uint32_t thread;    /**< in its block */
  uint32_t n_threads; /**< of a block, a multiple of SIMT_WARP */
  uint32_t block;
  uint32_t n_blocks;
  void *fiber; /**< the host's own; NULL on a GPU */
} SimtThread;

/** What one load or store of 16 bytes moves. */
typedef struct SIMT_ALIGNED(16) {
  float x, y, z, w;
} SimtFloat4;
typedef struct SIMT_ALIGNED(16) {
  uint32_t x, y, z, w;
} SimtWord4;

/** The shared memory of a kernel that has none. */
typedef struct {
  uint32_t unused; /* C has no empty struct */
} NoShared;

/** The number of this thread among all of the kernel's, and how many there are. */
SIMT_FN uint64_t simt_index(const SimtThread *t)
{
  return (uint64_t)t->block * t->n_threads + t->thread;
}
SIMT_FN uint64_t simt_n_threads(const SimtThread *t)
{
  return (uint64_t)t->n_blocks * t->n_threads;
}

#ifdef __CUDACC__

SIMT_FN void simt_sync(const SimtThread *)
{
  __syncthreads();
}
/** Bit i: does lane i of this warp say yes? All lanes take part. */
SIMT_FN uint32_t simt_ballot(const SimtThread *, bool yes)
{
  return __ballot_sync(0xffffffffu, yes);
}
/** The value of lane `lane xor mask`. All lanes take part. */
SIMT_FN uint32_t simt_exchange(const SimtThread *, uint32_t value, uint32_t mask)
{
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
SIMT_FN uint32_t simt_count_bits(uint32_t word)
{
  return (uint32_t)__popc(word);
}
/** Adds and returns what was there before. */
SIMT_FN uint32_t simt_atomic_add(uint32_t *where, uint32_t value)
{
  return atomicAdd(where, value);
}
SIMT_FN uint32_t simt_bits(float value)
{
  return __float_as_uint(value);
}
SIMT_FN float simt_float(uint32_t bits)
{
  return __uint_as_float(bits);
}
SIMT_FN float simt_sqrt(float value)
{
  return __fsqrt_rn(value);
}
SIMT_FN uint16_t simt_half(float value)
{
  return __half_as_ushort(__float2half_rn(value));
}
SIMT_FN float simt_from_half(uint16_t bits)
{
  return __half2float(__ushort_as_half(bits));
}
SIMT_FN uint16_t simt_bfloat(float value)
{
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
}
SIMT_FN uint64_t simt_clock_ns(const SimtThread *)
{
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
/** The upper 32 bits of a product of 32 x 32. */
SIMT_FN uint32_t simt_high(uint32_t a, uint32_t b)
{
  return __umulhi(a, b);
}

#else

/* Implemented by simt.c: the fiber gives way until the others have come as far. */
void simt_host_sync(void *fiber);
uint32_t simt_host_ballot(void *fiber, bool yes);
uint32_t simt_host_exchange(void *fiber, uint32_t value, uint32_t mask);
uint64_t simt_host_clock_ns(void *fiber);

uint16_t simt_half(float value);
float simt_from_half(uint16_t bits);
uint16_t simt_bfloat(float value);
float simt_sqrt(float value);

SIMT_FN void simt_sync(const SimtThread *t)
{
  simt_host_sync(t->fiber);
}
SIMT_FN uint32_t simt_ballot(const SimtThread *t, bool yes)
{
  return simt_host_ballot(t->fiber, yes);
}
SIMT_FN uint32_t simt_exchange(const SimtThread *t, uint32_t value, uint32_t mask)
{
  return simt_host_exchange(t->fiber, value, mask);
}
SIMT_FN uint32_t simt_count_bits(uint32_t word)
{
  return (uint32_t)__builtin_popcount(word);
}
SIMT_FN uint32_t simt_atomic_add(uint32_t *where, uint32_t value)
{
  const uint32_t before = *where; /* fibers give way only at barriers */
  *where = before + value;
  return before;
}
SIMT_FN uint32_t simt_bits(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
SIMT_FN float simt_float(uint32_t bits)
{
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
SIMT_FN uint64_t simt_clock_ns(const SimtThread *t)
{
  return simt_host_clock_ns(t->fiber);
}
SIMT_FN uint32_t simt_high(uint32_t a, uint32_t b)
{
  return (uint32_t)(((uint64_t)a * b) >> 32);
}

#endif

SIMT_FN float simt_from_bfloat(uint16_t bits)
{
  return simt_float((uint32_t)bits << 16);
}

/** A float without its sign, as a number that orders like it. */
SIMT_FN uint32_t simt_size_key(float value)
{
  return simt_bits(value) & 0x7fffffffu;
}

/**
 * The sum of every thread's @p value, in every thread; always in the same order, so that
 * it has the same bits everywhere.
 * @param scratch  shared, one value per warp
 */
SIMT_FN float simt_block_sum(const SimtThread *t, float value, float *scratch)
{
  const uint32_t lane = t->thread % SIMT_WARP;
  const uint32_t n_warps = t->n_threads / SIMT_WARP;
  float sum = value;

  for (uint32_t mask = SIMT_WARP / 2; mask > 0; mask /= 2)
    sum += simt_float(simt_exchange(t, simt_bits(sum), mask));
  simt_sync(t); /* the last sum has been read */
  if (lane == 0)
    scratch[t->thread / SIMT_WARP] = sum;
  simt_sync(t);
  sum = 0;
  for (uint32_t warp = 0; warp < n_warps; warp++)
    sum += scratch[warp];
  return sum;
}
