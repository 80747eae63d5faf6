/**
 * @file host_memory.h
 * @brief Buffers to measure in: warm ones, and more than any cache holds.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/** Four buffers of equally many values; a kernel reads one or two and writes one or two. */
typedef struct {
  float *from;     /**< random in -1..1; never written */
  float *to;       /**< the same at first */
  float *out;      /**< whatever was written there last */
  guint16 *halves; /**< random halves */
  gsize n;         /**< values in each, a power of two */
  guint64 cache_B; /**< the last-level cache [B] */
} HostMemory;

/**
 * @param largest_B  no cell is larger; a power of two [B]
 * @return NULL with SIM_ERROR_DEVICE if a quarter of the free memory does not hold what
 *         @p largest_B and cold caches need. Transfer: caller frees.
 */
HostMemory *host_memory_new(guint64 largest_B, GError **error);
void host_memory_free(HostMemory *memory);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostMemory, host_memory_free)

/** Bytes that a kernel may touch per byte of a cell's size: three buffers and a half. */
#define HOST_MEMORY_FACTOR 3.5

/**
 * Where visit number @p visit of a cell of @p n values begins, if it must find cold caches:
 * one after another of the places that fit, in an order that no prefetcher foresees.
 * @return the number of its first value
 */
gsize host_memory_place(const HostMemory *memory, gsize n, guint64 visit);

/** "key: value" or "key : value" in a file of /proc; NULL if it is not there.
 *  Transfer: caller frees. */
char *host_memory_proc(const char *path, const char *key);
