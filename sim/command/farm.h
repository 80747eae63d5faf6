/**
 * @file farm.h
 * @brief Tasks in child processes, some at a time; answers in the order of the tasks.
 *
 * SimGrid allows one engine per process, and a child that dies takes nothing with it.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
  guint n_tasks;
  guint n_workers; /**< children at a time, >= 1 */

  /** Do task @p index, in a child: append the answer to @p out. */
  bool (*work)(guint index, void *data, GString *out, GError **error);

  /** Called in the parent after each task; NULL for none. */
  void (*progress)(guint n_done, guint n_tasks, void *data);
  void *data; /**< for both */
} Farm;

/**
 * @return the answers (GPtrArray of GString, by task); NULL with the error of the first
 *         task in order that failed, or SIM_ERROR_FAULT if its child died.
 *         Transfer: caller unrefs.
 */
GPtrArray *farm_run(const Farm *farm, GError **error);
