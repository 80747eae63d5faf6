#include "calibrate/backend/crew.h"

#include "sim/base/registry.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_B 256
#define GLANCE_S 0.1 /* how often somebody who waits looks whether all are well */

/* In memory that all share, before the members' own. */
struct CrewBoard {
  guint n, n_times, spin;
  double lead_s;
  _Atomic guint arrived, round; /* of the meeting that comes next */
  _Atomic guint failed;
  int code; /* of the first error, with its message */
  char message[MESSAGE_B];
  double times[]; /* [s] begin of each time, then the end of each by rank */
};

static double now_s(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sleep_until(double when_s)
{
  const struct timespec when = { .tv_sec = (time_t)when_s,
                                 .tv_nsec =
                                   (long)(1e9 * (when_s - (double)(time_t)when_s)) };

  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
    continue;
}

static double *begin_of(CrewBoard *board, guint index)
{
  return &board->times[index];
}

static double *end_of(CrewBoard *board, guint index, guint rank)
{
  return &board->times[board->n_times + index * board->n + rank];
}

static void fail(CrewBoard *board, const GError *error)
{
  guint none = 0;

  if (!atomic_compare_exchange_strong(&board->failed, &none, 1))
    return;
  board->code = error->domain == SIM_ERROR ? error->code : SIM_ERROR_IO;
  g_strlcpy(board->message, error->message, MESSAGE_B);
}

static bool wait_for_round(CrewBoard *board, guint round)
{
  const struct timespec glance = { .tv_nsec = (long)(1e9 * GLANCE_S) };

  for (guint i = 0; i < board->spin; i++)
    if (atomic_load(&board->round) != round)
      return true;
  while (atomic_load(&board->round) == round) {
    if (atomic_load(&board->failed))
      return false;
    syscall(SYS_futex, &board->round, FUTEX_WAIT, round, &glance, NULL, 0);
  }
  return true;
}

/* @p begin_s: what the last to arrive sets to the moment at which all begin; NULL: none. */
static bool meet(CrewBoard *board, double *begin_s)
{
  const guint round = atomic_load(&board->round);

  if (atomic_fetch_add(&board->arrived, 1) + 1 < board->n)
    return wait_for_round(board, round);
  if (begin_s != NULL)
    *begin_s = now_s() + board->lead_s;
  atomic_store(&board->arrived, 0);
  atomic_fetch_add(&board->round, 1);
  syscall(SYS_futex, &board->round, FUTEX_WAKE, G_MAXINT, NULL, NULL, 0);
  return true;
}

bool crew_meet(const CrewMember *me)
{
  return meet(me->board, NULL);
}

bool crew_begin(const CrewMember *me, guint index)
{
  double *begin_s = begin_of(me->board, index);

  if (!meet(me->board, begin_s))
    return false;
  if (me->board->lead_s > 0)
    sleep_until(*begin_s);
  return true;
}

void crew_end(const CrewMember *me, guint index)
{
  *end_of(me->board, index, me->rank) = now_s();
}

/* The life of a member; never returns. */
static void serve(const CrewJob *job, CrewBoard *board, guint8 *shared, guint rank)
{
  CrewMember me = {
    .rank = rank, .n = job->n, .shared = shared, .task = job->task, .board = board
  };
  g_autoptr(GError) error = NULL;

  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_TIMERSLACK, 1);
  const bool done = job->work(&me, &error);
  if (!done && error != NULL)
    fail(board, error);
  _exit(done ? 0 : 1);
}

/* Has one of @p pids ended otherwise than well? Those that ended become 0. The error of one
 * that could say what was wrong came first. */
static bool reap(pid_t *pids, guint n, CrewBoard *board, int options)
{
  for (guint i = 0; i < n; i++) {
    int status = 0;
    if (pids[i] == 0 || waitpid(pids[i], &status, options) != pids[i])
      continue;
    pids[i] = 0;
    if (status != 0) {
      g_autoptr(GError) error =
        g_error_new(SIM_ERROR, SIM_ERROR_IO, "measuring process %u %s %d", i,
                    WIFSIGNALED(status) ? "was ended by signal" : "stopped with status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
      fail(board, error);
    }
  }
  return atomic_load(&board->failed) != 0;
}

/* All have closed their ends of the pipe, or one has failed, or it took too long. */
static void watch(const CrewJob *job, pid_t *pids, int pipe_end, CrewBoard *board)
{
  const double until_s = now_s() + job->limit_s;
  struct pollfd wait = { .fd = pipe_end, .events = POLLIN };

  while (poll(&wait, 1, (int)(1e3 * GLANCE_S)) <= 0) {
    if (reap(pids, job->n, board, WNOHANG))
      break;
    if (now_s() > until_s) {
      g_autoptr(GError) error =
        g_error_new(SIM_ERROR, SIM_ERROR_IO, "took longer than %g s", job->limit_s);
      fail(board, error);
      break;
    }
  }
  for (guint i = 0; i < job->n; i++)
    if (pids[i] != 0 && atomic_load(&board->failed))
      kill(pids[i], SIGKILL);
  reap(pids, job->n, board, 0);
}

static bool start(const CrewJob *job, CrewBoard *board, guint8 *shared, pid_t *pids,
                  GError **error)
{
  const pid_t parent = getpid();
  int ends[2];

  if (pipe(ends) != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "cannot open a pipe: %s",
                g_strerror(errno));
    return false;
  }
  fflush(NULL);
  for (guint rank = 0; rank < job->n; rank++) {
    pids[rank] = fork();
    if (pids[rank] == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ends[0]);
      if (getppid() == parent) /* else it died before we asked to be told */
        serve(job, board, shared, rank);
      _exit(1);
    }
    if (pids[rank] < 0) {
      g_autoptr(GError) cause =
        g_error_new(SIM_ERROR, SIM_ERROR_IO, "cannot start process %u of %u: %s", rank + 1,
                    job->n, g_strerror(errno));
      pids[rank] = 0;
      fail(board, cause);
      break;
    }
  }
  close(ends[1]);
  watch(job, pids, ends[0], board);
  close(ends[0]);
  return true;
}

static bool collect(CrewBoard *board, double *time_s, GError **error)
{
  if (atomic_load(&board->failed)) {
    g_set_error_literal(error, SIM_ERROR, board->code, board->message);
    return false;
  }
  for (guint i = 0; i < board->n_times; i++) {
    time_s[i] = 0;
    for (guint rank = 0; rank < board->n; rank++)
      time_s[i] = MAX(time_s[i], *end_of(board, i, rank) - *begin_of(board, i));
  }
  return true;
}

bool crew_run(const CrewJob *job, double *time_s, GError **error)
{
  const gsize page_B = (gsize)sysconf(_SC_PAGESIZE);
  const gsize times_B = sizeof(double) * job->n_times * (1 + job->n);
  const gsize board_B = (sizeof(CrewBoard) + times_B + page_B - 1) / page_B * page_B;
  g_autofree pid_t *pids = g_new0(pid_t, job->n);
  guint8 *memory = mmap(NULL, board_B + job->shared_B, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  if (memory == MAP_FAILED) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "cannot share %zu B of memory: %s",
                board_B + job->shared_B, g_strerror(errno));
    return false;
  }
  CrewBoard *board = (CrewBoard *)(void *)memory;
  board->n = job->n;
  board->n_times = job->n_times;
  board->spin = job->spin;
  board->lead_s = job->lead_s;
  const bool done =
    start(job, board, memory + board_B, pids, error) && collect(board, time_s, error);
  munmap(memory, board_B + job->shared_B);
  return done;
}
