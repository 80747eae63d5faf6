/**
 * @file measure.c
 * @brief Wall time and peak memory of commands, measured in turn: measure ROUNDS FILE
 *
 * FILE holds one command a line, "NAME<tab>ARGUMENT ARGUMENT ..." (split at blanks). Every
 * round runs each command once, so that a slow moment of the machine strikes all alike; the
 * best of the rounds is printed as "NAME<tab>seconds<tab>MiB". What the commands say is
 * dropped.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_COMMANDS = 64, MAX_ARGUMENTS = 64, MAX_LINE = 4096 };

typedef struct {
  char line[MAX_LINE]; /* cut into name and arguments */
  char *arguments[MAX_ARGUMENTS];
  double best_s;
  double peak_MiB;
} Command;

static double now_s(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Cut a line up; the name is arguments[0] until it is run. */
static void command_split(Command *command)
{
  char *rest = NULL;
  int n = 0;

  for (char *word = strtok_r(command->line, " \t\n", &rest);
       word != NULL && n < MAX_ARGUMENTS - 1; word = strtok_r(NULL, " \t\n", &rest))
    command->arguments[n++] = word;
  command->arguments[n] = NULL;
}

static int command_run(Command *command)
{
  const double began_s = now_s();
  const pid_t child = fork();

  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    execv(command->arguments[1], command->arguments + 1);
    _exit(127);
  }
  int status = 0;
  struct rusage use;
  if (child < 0 || wait4(child, &status, 0, &use) < 0 || status != 0) {
    fprintf(stderr, "measure: %s failed\n", command->arguments[0]);
    return 1;
  }
  const double took_s = now_s() - began_s;
  const double peak_MiB = (double)use.ru_maxrss / 1024.0; /* Linux counts KiB */
  if (command->best_s == 0 || took_s < command->best_s)
    command->best_s = took_s;
  if (peak_MiB > command->peak_MiB)
    command->peak_MiB = peak_MiB;
  return 0;
}

int main(int argc, char **argv)
{
  static Command commands[MAX_COMMANDS];
  int n = 0, bad = 0;
  FILE *file = argc == 3 ? fopen(argv[2], "r") : NULL;

  if (file == NULL) {
    fprintf(stderr, "usage: measure ROUNDS FILE\n");
    return 2;
  }
  while (n < MAX_COMMANDS && fgets(commands[n].line, MAX_LINE, file) != NULL) {
    command_split(&commands[n]);
    if (commands[n].arguments[0] != NULL && commands[n].arguments[1] != NULL)
      n++;
  }
  fclose(file);
  for (long round = strtol(argv[1], NULL, 10); round > 0 && bad == 0; round--)
    for (int i = 0; i < n; i++)
      bad |= command_run(&commands[i]);
  for (int i = 0; i < n && bad == 0; i++)
    printf("%s\t%.4f\t%.1f\n", commands[i].arguments[0], commands[i].best_s,
           commands[i].peak_MiB);
  return bad;
}
