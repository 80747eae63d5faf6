/**
 * @file spawn.h
 * @brief Run another program: arguments as they are (no shell), a time limit, what it said.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
  const char *const
    *argv;        /**< NULL-terminated; [0] is looked for in PATH; NULL: no program,
                       @ref prepare is all there is to do */
  double limit_s; /**< then it is ended [s] */

  /** Called in the new process before the program begins; NULL: nothing.
   *  False with an error: it does not begin. */
  bool (*prepare)(const void *data, GError **error);
  const void *data; /**< for @ref prepare, which knows its type */
} Spawn;

/**
 * Run it and wait. It has nothing to read, and dies with us.
 * @param said  set to what it wrote to stdout and stderr; NULL: not wanted. Transfer:
 * caller
 * @return false with SIM_ERROR_IO, naming the program and what it said, unless it ended
 *         with status 0 in time
 */
bool spawn_run(const Spawn *spawn, char **said, GError **error);
