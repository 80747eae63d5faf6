#include "calibrate/gpu/child.h"

#include "sim/base/registry.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* More than any answer: what fills it without a line's end is no answer. */
#define UNREAD_MAX (1u << 20)

struct Child {
  GPid pid;
  int socket;      /* a socket and no pipe: writing to a dead child raises no signal */
  GString *unread; /* received, up to the last line that was looked at */
};

Child *child_start(const char *const *argv, const char *const *environment, GError **error)
{
  int ends[2];
  GPid pid = 0;

  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "no socket: %s", g_strerror(errno));
    return NULL;
  }
  const bool started =
    g_spawn_async_with_fds(NULL, (char **)argv, (char **)environment,
                           G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                           NULL, &pid, ends[1], ends[1], -1, error);
  close(ends[1]);
  if (!started) {
    close(ends[0]);
    return NULL;
  }
  Child *child = g_new0(Child, 1);
  *child = (Child){ .pid = pid, .socket = ends[0], .unread = g_string_new(NULL) };
  return child;
}

void child_free(Child *child)
{
  if (child == NULL)
    return;
  close(child->socket);
  kill(child->pid, SIGKILL);
  while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
    continue;
  g_spawn_close_pid(child->pid);
  g_string_free(child->unread, TRUE);
  g_free(child);
}

static bool send_line(Child *child, const char *line, GError **error)
{
  g_autofree char *text = g_strconcat(line, "\n", NULL);
  const size_t size_B = strlen(text);

  /* Questions are short: they fit the socket's buffer, or nobody reads them. */
  if (send(child->socket, text, size_B, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size_B)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "the child process has ended");
  return false;
}

/* The next whole line that is an answer; NULL if there is none yet. */
static char *take_answer(GString *unread)
{
  const char *end;

  while ((end = strchr(unread->str, '\n')) != NULL) {
    const gsize length = (gsize)(end - unread->str);
    g_autofree char *line = g_strndup(unread->str, length);
    g_string_erase(unread, 0, (gssize)length + 1);
    if (g_str_has_prefix(line, CHILD_MARK))
      return g_strdup(g_strstrip(line + strlen(CHILD_MARK)));
  }
  return NULL;
}

/* Returns false if nothing came in time, or nothing will. */
static bool receive(Child *child, gint64 end_us, double limit_s, GError **error)
{
  struct pollfd wait = { .fd = child->socket, .events = POLLIN };
  const gint64 left_us = end_us - g_get_monotonic_time();
  char piece[4096];
  ssize_t n_B = 0;

  if (left_us <= 0 || poll(&wait, 1, (int)(left_us / 1000) + 1) == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO,
                "no answer within %g s: the child process was killed", limit_s);
    return false;
  }
  n_B = recv(child->socket, piece, sizeof piece, MSG_DONTWAIT);
  if (n_B < 0 && (errno == EINTR || errno == EAGAIN))
    return true;
  if (n_B <= 0 || child->unread->len + (gsize)n_B > UNREAD_MAX) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO,
                n_B <= 0 ? "the child process has ended"
                         : "the child process talks too much");
    return false;
  }
  for (ssize_t i = 0; i < n_B; i++)
    g_string_append_c(child->unread, piece[i] == '\0' ? '?' : piece[i]);
  return true;
}

char *child_ask(Child *child, const char *line, double limit_s, GError **error)
{
  const gint64 end_us = g_get_monotonic_time() + (gint64)(limit_s * 1e6);
  char *answer = NULL;

  if (line != NULL && !send_line(child, line, error))
    return NULL;
  while ((answer = take_answer(child->unread)) == NULL)
    if (!receive(child, end_us, limit_s, error))
      return NULL;
  return answer;
}
