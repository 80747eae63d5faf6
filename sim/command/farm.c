#include "sim/command/farm.h"

#include "sim/base/registry.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child sends: one byte that says whether it succeeded ('+') or the code of its
 * error, then the answer or the message. */
#define SUCCEEDED '+'
#define FIRST_ERROR '0'

typedef struct {
  guint task;
  pid_t pid; /* 0: free */
  int pipe;
} Child;

typedef struct {
  const Farm *farm;
  Child *children;
  GPtrArray *answers; /* of GString, by task */
  GError **errors;    /* by task */
  guint n_started, n_done;
} Round;

static void write_all(int file, const char *bytes, gsize length)
{
  while (length > 0) {
    const ssize_t n = write(file, bytes, length);
    if (n < 0 && errno != EINTR)
      return;
    bytes += MAX(n, 0);
    length -= (gsize)MAX(n, 0);
  }
}

static void work_here(const Farm *farm, guint task, int file)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GString) out = g_string_new(NULL);

  g_string_append_c(out, SUCCEEDED);
  if (!farm->work(task, farm->data, out, &error)) {
    const int code = error->domain == SIM_ERROR ? error->code : SIM_ERROR_IO;
    g_string_printf(out, "%c%s", FIRST_ERROR + code, error->message);
  }
  write_all(file, out->str, out->len);
}

static bool start(Round *round, Child *child, GError **error)
{
  int ends[2];

  fflush(NULL);
  if (pipe(ends) != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "cannot open a pipe: %s",
                g_strerror(errno));
    return false;
  }
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody waits for the answer of an orphan */
    close(ends[0]);
    work_here(round->farm, round->n_started, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  if (pid < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "cannot start a worker: %s",
                g_strerror(errno));
    close(ends[0]);
    return false;
  }
  *child = (Child){ .task = round->n_started++, .pid = pid, .pipe = ends[0] };
  return true;
}

/* The child has closed its pipe: what did it say? */
static void finish(Round *round, Child *child)
{
  GString *answer = g_ptr_array_index(round->answers, child->task);
  GError **error = &round->errors[child->task];
  int status = 0;

  close(child->pipe);
  while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
    continue;
  if (WIFSIGNALED(status))
    g_set_error(error, SIM_ERROR, SIM_ERROR_FAULT,
                "a simulation was ended by signal %d (%s)", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
  else if (WEXITSTATUS(status) != 0 || answer->len == 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_FAULT, "a simulation stopped with status %d",
                WEXITSTATUS(status));
  else if (answer->str[0] != SUCCEEDED)
    g_set_error_literal(error, SIM_ERROR, answer->str[0] - FIRST_ERROR, answer->str + 1);
  else
    g_string_erase(answer, 0, 1);
  child->pid = 0;
  round->n_done++;
  if (round->farm->progress != NULL)
    round->farm->progress(round->n_done, round->farm->n_tasks, round->farm->data);
}

static void receive(Round *round, Child *child)
{
  char bytes[65536];
  const ssize_t n = read(child->pipe, bytes, sizeof bytes);

  if (n > 0)
    g_string_append_len(g_ptr_array_index(round->answers, child->task), bytes, n);
  else if (n == 0 || errno != EINTR)
    finish(round, child);
}

static void wait_for_some(Round *round)
{
  const guint n = round->farm->n_workers;
  g_autofree struct pollfd *waits = g_new0(struct pollfd, n);

  for (guint i = 0; i < n; i++)
    waits[i] =
      (struct pollfd){ .fd = round->children[i].pid == 0 ? -1 : round->children[i].pipe,
                       .events = POLLIN };
  if (poll(waits, n, -1) < 0)
    return;
  for (guint i = 0; i < n; i++)
    if (waits[i].revents != 0)
      receive(round, &round->children[i]);
}

static bool start_some(Round *round, GError **error)
{
  for (guint i = 0; i < round->farm->n_workers; i++)
    if (round->children[i].pid == 0 && round->n_started < round->farm->n_tasks &&
        !start(round, &round->children[i], error))
      return false;
  return true;
}

static void free_answer(gpointer answer)
{
  g_string_free(answer, TRUE);
}

GPtrArray *farm_run(const Farm *farm, GError **error)
{
  g_autofree Child *children = g_new0(Child, farm->n_workers);
  g_autofree GError **errors = g_new0(GError *, farm->n_tasks);
  g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(free_answer);
  Round round = {
    .farm = farm, .children = children, .answers = answers, .errors = errors
  };
  GError *first = NULL;

  for (guint i = 0; i < farm->n_tasks; i++)
    g_ptr_array_add(answers, g_string_new(NULL));
  while (round.n_done < farm->n_tasks && start_some(&round, &first))
    wait_for_some(&round);
  while (round.n_done < round.n_started) /* after a failed start */
    wait_for_some(&round);
  for (guint i = 0; i < farm->n_tasks; i++) {
    if (first == NULL)
      first = g_steal_pointer(&errors[i]);
    g_clear_error(&errors[i]);
  }
  if (first == NULL)
    return g_steal_pointer(&answers);
  g_propagate_error(error, first);
  return NULL;
}
