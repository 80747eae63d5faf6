#include "calibrate/gpu/simt_host.h"

#include "sim/base/registry.h"

#include <ucontext.h>

/* Kernels call nothing deep; the sanitizers' frames are the largest. */
#define STACK_B (64 * 1024)

/* What one call of the clock takes: any step will do, as long as time goes on [ns]. */
#define CLOCK_STEP_NS 100

typedef enum { FIBER_READY, FIBER_AT_BARRIER, FIBER_AT_WARP, FIBER_ENDED } FiberState;

typedef struct Block Block;

typedef struct {
  ucontext_t context;
  Block *block;
  SimtThread thread;
  FiberState state;
  uint32_t offer; /* what it brings to a ballot or exchange */
  uint32_t mask;  /* of an exchange; 0 for a ballot */
} Fiber;

struct Block {
  ucontext_t scheduler;
  Fiber *fiber;
  guint n;
  const KernelLaunch *launch;
  void *shared;
  uint64_t *clock_ns;
};

#define BODY(name, Args, Shared)                                                           \
  case KERNEL_##name:                                                                      \
    kernel_##name(&fiber->thread, &launch->args.name, (Shared *)fiber->block->shared);     \
    break;

static void run_body(Fiber *fiber)
{
  const KernelLaunch *launch = fiber->block->launch;

  switch (launch->kernel) {
    GPU_KERNELS(BODY)
  case KERNEL_N:
    break;
  }
}

#define SHARED_SIZE(name, Args, Shared) [KERNEL_##name] = sizeof(Shared),
static const size_t shared_size_B[] = { GPU_KERNELS(SHARED_SIZE) };

#define NAME(name, Args, Shared) [KERNEL_##name] = #name,
static const char *const kernel_names[] = { GPU_KERNELS(NAME) };

const char *simt_kernel_name(KernelId kernel)
{
  return kernel_names[kernel];
}

/* makecontext() passes whole numbers only: a pointer travels in two halves. */
static void fiber_main(unsigned int high, unsigned int low)
{
  Fiber *fiber = (Fiber *)(((uintptr_t)high << 32) | (uintptr_t)low);

  run_body(fiber);
  fiber->state = FIBER_ENDED;
}

static void fiber_start(Fiber *fiber, char *stack)
{
  const uint64_t self = (uintptr_t)fiber;

  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = stack;
  fiber->context.uc_stack.ss_size = STACK_B;
  fiber->context.uc_link = &fiber->block->scheduler;
  makecontext(&fiber->context, (void (*)(void))fiber_main, 2, (unsigned int)(self >> 32),
              (unsigned int)self);
  fiber->state = FIBER_READY;
}

static void give_way(Fiber *fiber, FiberState state)
{
  fiber->state = state;
  swapcontext(&fiber->context, &fiber->block->scheduler);
}

void simt_host_sync(void *fiber)
{
  give_way(fiber, FIBER_AT_BARRIER);
}

/* The other fibers of the warp have left their offers when this one goes on; nobody leaves
 * the next one before all have read this one, because all wait again first. */
uint32_t simt_host_ballot(void *self, bool yes)
{
  Fiber *fiber = self;

  fiber->offer = yes;
  fiber->mask = 0;
  give_way(fiber, FIBER_AT_WARP);
  return fiber->offer;
}

uint32_t simt_host_exchange(void *self, uint32_t value, uint32_t mask)
{
  Fiber *fiber = self;

  fiber->offer = value;
  fiber->mask = mask;
  give_way(fiber, FIBER_AT_WARP);
  return fiber->offer;
}

uint64_t simt_host_clock_ns(void *self)
{
  const Fiber *fiber = self;
  return *fiber->block->clock_ns += CLOCK_STEP_NS;
}

/* All lanes of a warp have come: each gets its answer in place of its offer. */
static void answer_warp(Fiber *lane)
{
  uint32_t offer[SIMT_WARP], ballot = 0;

  for (guint i = 0; i < SIMT_WARP; i++) {
    offer[i] = lane[i].offer;
    ballot |= (lane[i].offer & 1) << i;
  }
  for (guint i = 0; i < SIMT_WARP; i++) {
    lane[i].offer = lane[i].mask == 0 ? ballot : offer[i ^ lane[i].mask];
    lane[i].state = FIBER_READY;
  }
}

static guint count_state(const Fiber *fiber, guint n, FiberState state)
{
  guint count = 0;
  for (guint i = 0; i < n; i++)
    count += fiber[i].state == state;
  return count;
}

/* Let those go on who have waited for one another; false if nobody can. */
static bool release(Block *block)
{
  bool released = false;

  for (guint first = 0; first < block->n; first += SIMT_WARP)
    if (count_state(block->fiber + first, SIMT_WARP, FIBER_AT_WARP) == SIMT_WARP) {
      answer_warp(block->fiber + first);
      released = true;
    }
  if (count_state(block->fiber, block->n, FIBER_AT_BARRIER) == block->n) {
    for (guint i = 0; i < block->n; i++)
      block->fiber[i].state = FIBER_READY;
    released = true;
  }
  return released;
}

static bool run_block(Block *block, SimtOrder order)
{
  do {
    for (guint i = 0; i < block->n; i++) {
      Fiber *fiber = &block->fiber[order == SIMT_FORWARD ? i : block->n - 1 - i];
      if (fiber->state == FIBER_READY)
        swapcontext(&block->scheduler, &fiber->context);
    }
  } while (release(block));
  return count_state(block->fiber, block->n, FIBER_ENDED) == block->n;
}

bool simt_host_launch(const KernelLaunch *launch, SimtOrder order, GError **error)
{
  const guint n = launch->n_threads;
  g_autofree Fiber *fiber = g_new0(Fiber, n);
  g_autofree char *stacks = g_malloc((gsize)n * STACK_B);
  g_autofree void *shared = g_malloc0(shared_size_B[launch->kernel]);
  uint64_t clock_ns = 0;
  Block block = {
    .fiber = fiber, .n = n, .launch = launch, .shared = shared, .clock_ns = &clock_ns
  };

  g_return_val_if_fail(n > 0 && n % SIMT_WARP == 0, false);
  for (uint32_t number = 0; number < launch->n_blocks; number++) {
    memset(shared, 0xa5, shared_size_B[launch->kernel]); /* a GPU does not clear it */
    for (guint i = 0; i < n; i++) {
      fiber[i].block = &block;
      fiber[i].thread = (SimtThread){ .thread = i,
                                      .n_threads = n,
                                      .block = number,
                                      .n_blocks = launch->n_blocks,
                                      .fiber = &fiber[i] };
      fiber_start(&fiber[i], stacks + (gsize)i * STACK_B);
    }
    if (!run_block(&block, order)) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_FAULT,
                  "kernel %s: the threads of block %u wait for each other",
                  simt_kernel_name(launch->kernel), number);
      return false;
    }
  }
  return true;
}

float simt_sqrt(float value)
{
  return __builtin_sqrtf(value);
}

/* To the nearest half, ties to even; NaN becomes the one that CUDA makes. */
uint16_t simt_half(float value)
{
  const uint32_t bits = simt_bits(value), key = bits & 0x7fffffffu;
  const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);

  if (key > 0x7f800000u)
    return 0x7fff;
  if (key >= 0x477ff000u) /* 65520 and more round to infinity */
    return sign | 0x7c00u;
  if (key < 0x38800000u) { /* below 2^-14: a whole number of 2^-24 */
    const float scaled = simt_float(key) * 0x1p24f;
    const uint32_t whole = (uint32_t)scaled;
    const float rest = scaled - (float)whole;
    return (uint16_t)(sign | (whole + (rest > 0.5f || (rest == 0.5f && (whole & 1)))));
  }
  return (uint16_t)(sign | ((key - 0x38000000u + 0xfffu + (key >> 13 & 1)) >> 13));
}

float simt_from_half(uint16_t bits)
{
  const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
  const uint32_t exponent = bits >> 10 & 0x1fu, fraction = bits & 0x3ffu;

  if (exponent == 0)
    return simt_float(simt_bits((float)fraction * 0x1p-24f) | sign);
  if (exponent == 31)
    return simt_float(sign | 0x7f800000u | fraction << 13);
  return simt_float(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t simt_bfloat(float value)
{
  const uint32_t bits = simt_bits(value);

  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return 0x7fff;
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
