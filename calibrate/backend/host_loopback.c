/**
 * @file host_loopback.c
 * @brief TCP through the loopback: what the kernel's stack takes without any wire.
 *
 * One process sends, another answers: with as many bytes (ping-pong, of which half counts),
 * or with one byte when it has heard all (stream). TCP_NODELAY, buffers as the system has
 * them.
 */
#include "calibrate/backend/crew.h"
#include "calibrate/backend/host.h"
#include "sim/base/registry.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STREAM "stream"
#define HALF_RTT "half_rtt"
#define PATIENCE_S 10 /* then a silent socket is given up */
#define LIMIT_S 120.0
#define TICK_B 65536.0 /* a time covers at least so many bytes each way ... */
#define MOST_CALLS 50  /* ... or so many round trips */

typedef struct {
  double size_B;
  bool stream;
  guint n_calls; /* round trips that make one time */
  guint n_times;
} Loopback;

void host_loopback_cells(const HostParams *params, GPtrArray *cells)
{
  g_autoptr(Sample) like = sample_new("loopback");
  const double largest_B = (double)params->largest_B;

  sample_set(&like->library, "tcp");
  sample_set(&like->place, "loopback");
  like->ranks = 2;
  sample_set(&like->variant, HALF_RTT);
  host_add_sizes(cells, like, 8, MIN(0x1p20, largest_B), params->quick);
  sample_set(&like->variant, STREAM);
  host_add_sizes(cells, like, MIN(0x1p20, largest_B), MIN(0x1p26, largest_B),
                 params->quick);
}

static bool fail(GError **error, const char *what)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "loopback: %s: %s", what, g_strerror(errno));
  return false;
}

static void set_up(int file)
{
  const int on = 1;
  const struct timeval patience = { .tv_sec = PATIENCE_S };

  setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

static bool send_all(int file, guint8 *bytes, gsize n)
{
  while (n > 0) {
    const ssize_t sent = send(file, bytes, n, MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    bytes += sent;
    n -= (gsize)sent;
  }
  return true;
}

static bool receive_all(int file, guint8 *bytes, gsize n)
{
  return n == 0 || recv(file, bytes, n, MSG_WAITALL) == (ssize_t)n;
}

/* Rank 0 listens and tells its port through the shared memory. */
static bool listen_here(const CrewMember *me, int *listener, GError **error)
{
  struct sockaddr_in address = { .sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t length = sizeof address;

  *listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (*listener < 0)
    return fail(error, "socket");
  set_up(*listener);
  if (bind(*listener, (struct sockaddr *)&address, length) != 0 ||
      listen(*listener, 1) != 0 ||
      getsockname(*listener, (struct sockaddr *)&address, &length) != 0)
    return fail(error, "listen");
  memcpy(me->shared, &address, sizeof address);
  return true;
}

static bool connect_pair(const CrewMember *me, int *file, GError **error)
{
  struct sockaddr_in address;
  int listener = -1;

  if (me->rank == 0 && !listen_here(me, &listener, error))
    return false;
  if (!crew_meet(me))
    return false;
  memcpy(&address, me->shared, sizeof address);
  if (me->rank == 0) {
    *file = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    close(listener);
  } else {
    *file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*file >= 0 && connect(*file, (struct sockaddr *)&address, sizeof address) != 0)
      return fail(error, "connect");
  }
  if (*file < 0)
    return fail(error, "connect");
  set_up(*file);
  return true;
}

static bool one_call(const CrewMember *me, const Loopback *task, int file, guint8 *bytes)
{
  const gsize size_B = (gsize)task->size_B, answer_B = task->stream ? 1 : size_B;

  return me->rank == 0
           ? send_all(file, bytes, size_B) && receive_all(file, bytes, answer_B)
           : receive_all(file, bytes, size_B) && send_all(file, bytes, answer_B);
}

static bool work(CrewMember *me, GError **error)
{
  const Loopback *task = me->task;
  g_autofree guint8 *bytes = g_malloc((gsize)task->size_B);
  int file = -1;

  memset(bytes, 1, (gsize)task->size_B);
  if (!connect_pair(me, &file, error))
    return false;
  if (!one_call(me, task, file, bytes)) /* pages and windows are there then */
    return fail(error, "first call");
  for (guint i = 0; i < task->n_times; i++) {
    if (!crew_begin(me, i))
      return false;
    for (guint call = 0; call < task->n_calls; call++)
      if (!one_call(me, task, file, bytes))
        return fail(error, "call");
    if (me->rank == 0)
      crew_end(me, i);
  }
  close(file);
  return true;
}

bool host_loopback_measure(const Sample *cell, double *time_s, guint n, GError **error)
{
  const bool stream = strcmp(cell->variant, STREAM) == 0;
  const Loopback task = {
    .size_B = cell->size,
    .stream = stream,
    .n_calls = stream ? 1 : (guint)CLAMP(TICK_B / cell->size, 1, MOST_CALLS),
    .n_times = n,
  };
  const CrewJob job = { .n = 2,
                        .n_times = n,
                        .shared_B = sizeof(struct sockaddr_in),
                        .limit_s = LIMIT_S,
                        .work = work,
                        .task = &task };

  if (!crew_run(&job, time_s, error))
    return false;
  for (guint i = 0; i < n; i++)
    time_s[i] /= task.n_calls * (stream ? 1 : 2);
  return true;
}
