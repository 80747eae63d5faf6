#include "calibrate/backend/spawn.h"

#include "sim/base/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_RUN 127 /* what shells say where a program cannot be run */
#define MOST_SAID (1u << 20)
#define GLANCE_US 500

/* fork and exec, where posix_spawn would do, because the program shall die with us. */
static void become(const Spawn *spawn, int out, pid_t parent)
{
  g_autoptr(GError) error = NULL;
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  if (getppid() != parent)
    _exit(CANNOT_RUN);
  if (spawn->prepare == NULL || spawn->prepare(spawn->data, &error)) {
    if (spawn->argv == NULL)
      _exit(0);
    execvp(spawn->argv[0], (char *const *)spawn->argv);
  }
  dprintf(STDERR_FILENO, "%s", error != NULL ? error->message : g_strerror(errno));
  _exit(CANNOT_RUN);
}

/* Reads until the program has closed its end. @return false if that took too long */
static bool listen_to(int in, gint64 until_us, GString *said)
{
  struct pollfd wait = { .fd = in, .events = POLLIN };
  char bytes[4096];

  for (;;) {
    const gint64 left_us = until_us - g_get_monotonic_time();
    if (left_us <= 0)
      return false;
    if (poll(&wait, 1, (int)(left_us / 1000 + 1)) <= 0)
      continue;
    const ssize_t n = read(in, bytes, sizeof bytes);
    if (n == 0 || (n < 0 && errno != EINTR))
      return true;
    if (n > 0 && said->len < MOST_SAID)
      g_string_append_len(said, bytes, n);
  }
}

/* It may have closed its ends and live on. */
static bool wait_for(pid_t pid, gint64 until_us, int *status)
{
  while (waitpid(pid, status, WNOHANG) == 0) {
    if (g_get_monotonic_time() > until_us)
      return false;
    g_usleep(GLANCE_US);
  }
  return true;
}

static bool judge(const Spawn *spawn, bool in_time, int status, const GString *said,
                  GError **error)
{
  g_autofree char *line =
    spawn->argv == NULL ? g_strdup("set-up") : g_strjoinv(" ", (char **)spawn->argv);
  g_autofree char *words = g_strstrip(g_strdup(said->str));

  if (in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return true;
  if (!in_time)
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: took longer than %g s", line,
                spawn->limit_s);
  else if (WIFSIGNALED(status))
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: was ended by signal %d", line,
                WTERMSIG(status));
  else
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: %s", line,
                *words == '\0' ? "failed" : words);
  return false;
}

bool spawn_run(const Spawn *spawn, char **said, GError **error)
{
  g_autoptr(GString) text = g_string_new(NULL);
  const pid_t parent = getpid();
  int ends[2], status = 0;

  if (pipe2(ends, O_CLOEXEC) != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "no pipe: %s", g_strerror(errno));
    return false;
  }
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0)
    become(spawn, ends[1], parent);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "no process: %s", g_strerror(errno));
    return false;
  }
  const gint64 until_us = g_get_monotonic_time() + (gint64)(1e6 * spawn->limit_s);
  const bool in_time =
    listen_to(ends[0], until_us, text) && wait_for(pid, until_us, &status);
  close(ends[0]);
  if (!in_time) {
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
  if (!judge(spawn, in_time, status, text, error))
    return false;
  if (said != NULL)
    *said = g_string_free(g_steal_pointer(&text), FALSE);
  return true;
}
