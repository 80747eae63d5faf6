/**
 * @file child.h
 * @brief A process that answers lines with lines, and is killed when it does not.
 *
 * NCCL reads its environment once and may hang: each choice of algorithm and protocol runs
 * in a process of its own.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Child Child;

/** What the child's answers begin with; its other lines are the library's own talk. */
#define CHILD_MARK "stepcast:"

/**
 * Start @p argv; its standard input and output lead here, its standard error nowhere.
 * @param environment  of the child, NULL-terminated; NULL: ours
 */
Child *child_start(const char *const *argv, const char *const *environment, GError **error);

/** End it, at once if it still runs. NULL is allowed. */
void child_free(Child *child);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Child, child_free)

/**
 * Send @p line, if it is not NULL, and wait for an answer.
 * @param limit_s  for the whole of it
 * @return the answer without its mark; transfer: caller frees. NULL with SIM_ERROR_IO if it
 *         ended, or if time is up: it is of no use then, and only to be freed
 */
char *child_ask(Child *child, const char *line, double limit_s, GError **error);
