/**
 * @file crew.h
 * @brief Processes that measure something together: they meet, begin at one moment, and
 *        note when they are done. No crew outlives its time limit or its parent.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct CrewBoard CrewBoard;

/** What one process knows. */
typedef struct {
  guint rank, n;
  guint8 *shared;   /**< memory that all share, zero at first */
  const void *task; /**< the job's */
  CrewBoard *board;
} CrewMember;

typedef struct {
  guint n;        /**< processes, >= 1 */
  guint n_times;  /**< that they will take */
  gsize shared_B; /**< memory for all to share */
  guint spin;     /**< looks at the others before a process sleeps; 0 where processes are
                       more than cores */
  double lead_s;  /**< from the last arrival to the moment at which all begin [s] */
  double limit_s; /**< then all are ended [s] */
  bool (*work)(CrewMember *me, GError **error);
  const void *task; /**< for @ref work, which knows its type */
} CrewJob;

/**
 * Run @p job->work in @p job->n new processes and wait for all of them.
 * @param time_s  filled with job->n_times times: from the common begin until the last
 *                process was done [s]
 * @return false with the first process's error, or SIM_ERROR_IO if one crashed or they took
 *         too long
 */
bool crew_run(const CrewJob *job, double *time_s, GError **error);

/* In a process of the crew. */

/** Wait for the others. @return false if one of them has failed: give up */
bool crew_meet(const CrewMember *me);

/** Wait for the others, and begin time number @p index with them. */
bool crew_begin(const CrewMember *me, guint index);

/** Done with time number @p index. */
void crew_end(const CrewMember *me, guint index);
