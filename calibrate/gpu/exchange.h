/**
 * @file exchange.h
 * @brief What a child process and its parent say to each other about collectives.
 *
 *     child   ready BUFFER_B NCCL LINKS        once, or: fault KIND TEXT
 *     parent  COLLECTIVE SIZE_B IN_PLACE N
 *     child   times FLAGS T1 ... TN            [s], or: fault KIND TEXT
 */
#pragma once

#include "calibrate/gpu/child.h"
#include "calibrate/gpu/load.h"

/** Answers to one question ask for no more repetitions. */
#define EXCHANGE_REPETITIONS_MAX 4096u

typedef struct {
  guint64 buffer_B;
  guint nccl;      /**< its version, 22809 is 2.28.9 */
  guint n_nvlinks; /**< of the first device */
} ExchangeReady;

/** "all_reduce": as in scenarios and profiles. */
const char *exchange_collective_name(GpuCollective collective);

/**
 * The child's side: answer the lines of @p in until there are no more.
 * @return false with an error if nobody hears the answers
 */
bool exchange_serve(const Gpu *gpu, int in, int out, GError **error);

/** The child's side where there is no GPU to serve with: say why. */
bool exchange_refuse(const GError *why, int out, GError **error);

/** The parent's side: wait for the child to be ready. */
bool exchange_await(Child *child, double limit_s, ExchangeReady *ready, GError **error);

/** @p n times [s]; @param flags  GPU_FLAG_* are added
 *  @param answered  did the child answer, so that it can be asked again? */
bool exchange_ask(Child *child, const GpuExchange *exchange, double *time_s, guint n,
                  double limit_s, uint32_t *flags, bool *answered, GError **error);
