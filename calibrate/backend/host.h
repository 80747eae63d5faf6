/**
 * @file host.h
 * @brief The host as a backend: kernels of the CPU, loopback TCP, memory that processes
 *        share.
 */
#pragma once

#include "calibrate/backend.h"

typedef struct {
  guint64 largest_B; /**< buffer of the largest cell [B] */
  bool quick;        /**< every fourth size only */
} HostParams;

extern const BackendOps backend_host;

/** Cells of the loopback: half a round trip, and a stream that is acknowledged at its end.
 */
void host_loopback_cells(const HostParams *params, GPtrArray *cells);
bool host_loopback_measure(const Sample *cell, double *time_s, guint n, GError **error);

/** Cells of all-reduces among 2, 4, ... processes, no more than cores. */
void host_shared_cells(const HostParams *params, guint n_cores, GPtrArray *cells);
bool host_shared_measure(const Sample *cell, double *time_s, guint n, GError **error);

/** Append a copy of @p like for every size from @p first_B to @p last_B; the factor is 4,
 * or 16 if @p quick. */
void host_add_sizes(GPtrArray *cells, const Sample *like, double first_B, double last_B,
                    bool quick);

/** Cores that are online, >= 1. */
guint host_n_cores(void);

/** How often another process was put in our place, so far. */
long host_n_displaced(void);

/** GPtrArray of BackendFact: the CPU, its memory, the kernel, the load before.
 *  @param kernels  which instruction set measured; NULL: none was measured, nor the cache
 *  @param cache_B  the last-level cache [B] */
GPtrArray *host_describe(const char *kernels, double cache_B);
