#include "calibrate/backend/mesh.h"

#include "sim/base/registry.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT 5201      /* of every rank; namespaces keep them apart */
#define SILENCE_S 30.0 /* then whoever says nothing is given up */

static bool fail(GError **error, const char *what, guint peer)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s rank %u: %s", what, peer,
              g_strerror(errno));
  return false;
}

static struct sockaddr_in address_at(guint32 address)
{
  return (struct sockaddr_in){ .sin_family = AF_INET,
                               .sin_port = htons(PORT),
                               .sin_addr.s_addr = htonl(address) };
}

static bool listen_at(guint32 address, guint n, int *listener)
{
  const struct sockaddr_in name = address_at(address);
  const struct timeval patience = { .tv_sec = (time_t)SILENCE_S };
  const int on = 1;

  *listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return *listener >= 0 &&
         setsockopt(*listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
         setsockopt(*listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
         bind(*listener, (const struct sockaddr *)&name, sizeof name) == 0 &&
         listen(*listener, (int)n) == 0;
}

/* Blocking, with the limits of SO_SNDTIMEO, which connect() heeds too. */
static int ring_up(guint32 address)
{
  const struct sockaddr_in name = address_at(address);
  const struct timeval patience = { .tv_sec = (time_t)SILENCE_S };
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (file < 0 ||
      setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0)
    return file;
  if (connect(file, (const struct sockaddr *)&name, sizeof name) == 0)
    return file;
  close(file);
  return -1;
}

static bool make_ready(int file)
{
  const int on = 1;
  int flags = 1;

  return setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
         setsockopt(file, SOL_SOCKET, SO_KEEPALIVE, &flags, sizeof flags) == 0;
}

/* The caller says its rank first. */
static bool ring_up_lower(Mesh *mesh, guint32 (*address_of)(guint), GError **error)
{
  const guint8 rank = (guint8)mesh->me->rank;

  for (guint peer = 0; peer < mesh->me->rank; peer++) {
    const int file = mesh->peers[peer] = ring_up(address_of(peer));
    if (file < 0 || send(file, &rank, 1, MSG_NOSIGNAL) != 1 || !make_ready(file))
      return fail(error, "cannot connect to", peer);
  }
  return true;
}

static bool hear_higher(Mesh *mesh, int listener, GError **error)
{
  for (guint n = mesh->me->rank + 1; n < mesh->me->n; n++) {
    const int file = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    guint8 peer = 0;
    if (file < 0 || recv(file, &peer, 1, MSG_WAITALL) != 1 || peer >= mesh->me->n ||
        !make_ready(file))
      return fail(error, "no call from", n);
    mesh->peers[peer] = file;
  }
  return true;
}

bool mesh_open(Mesh *mesh, const CrewMember *me, guint32 (*address_of)(guint rank),
               GError **error)
{
  int listener = -1;

  mesh->me = me;
  for (guint peer = 0; peer < MESH_MAX; peer++)
    mesh->peers[peer] = -1;
  if (!listen_at(address_of(me->rank), me->n, &listener))
    return fail(error, "cannot listen as", me->rank);
  const bool done = crew_meet(me) && ring_up_lower(mesh, address_of, error) &&
                    hear_higher(mesh, listener, error);
  close(listener);
  return done;
}

void mesh_close(Mesh *mesh)
{
  for (guint peer = 0; peer < MESH_MAX; peer++)
    if (mesh->peers[peer] >= 0)
      close(mesh->peers[peer]);
}

/* As far as the kernel lets it go now. */
static bool advance(const Mesh *mesh, Transfer *transfer, GError **error)
{
  const int file = mesh->peers[transfer->peer];

  while (transfer->n > 0) {
    const ssize_t n =
      transfer->outward
        ? send(file, transfer->bytes, transfer->n, MSG_NOSIGNAL | MSG_DONTWAIT)
        : recv(file, transfer->bytes, transfer->n, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
      return true;
    if (n <= 0)
      return fail(error, transfer->outward ? "cannot send to" : "nothing comes from",
                  transfer->peer);
    transfer->bytes += n;
    transfer->n -= (gsize)n;
  }
  return true;
}

static bool advance_all(const Mesh *mesh, Transfer *transfers, guint *n, GError **error)
{
  guint n_left = 0;

  for (guint i = 0; i < *n; i++) {
    if (!advance(mesh, &transfers[i], error))
      return false;
    if (transfers[i].n > 0)
      transfers[n_left++] = transfers[i];
  }
  *n = n_left;
  return true;
}

bool mesh_exchange(const Mesh *mesh, Transfer *transfers, guint n, GError **error)
{
  struct pollfd waits[2 * MESH_MAX];

  g_return_val_if_fail(n <= G_N_ELEMENTS(waits), false);
  while (advance_all(mesh, transfers, &n, error)) {
    if (n == 0)
      return true;
    for (guint i = 0; i < n; i++)
      waits[i] = (struct pollfd){ .fd = mesh->peers[transfers[i].peer],
                                  .events = transfers[i].outward ? POLLOUT : POLLIN };
    if (poll(waits, n, (int)(1e3 * SILENCE_S)) == 0) {
      errno = ETIMEDOUT;
      return fail(error, "waiting for", transfers[0].peer);
    }
  }
  return false;
}
