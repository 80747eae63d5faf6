/**
 * @file command.h
 * @brief The commands of the program: one file and one row each.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
  const char *name;    /**< "run" */
  const char *summary; /**< one line for --help */
  const char *usage;   /**< what follows the name: "FILE... [-o PATH]..." */

  /**
   * Do it. @p argv [0] is the name of the command; options are the command's own
   * (GOptionContext, which prints the help).
   * @param out  results for stdout; printed only if it succeeds
   * @return false with SIM_ERROR_USAGE if the command line is wrong (exit code 2),
   *         SIM_ERROR_FAULT if we are (3), any other error if the input is (1)
   */
  bool (*run)(int argc, char **argv, GString *out, GError **error);
} Command;

/** Talk to the person at the terminal (stderr) while a command works; main.c's. */
void command_say(const char *text);

/** NULL-terminated, in the order --help shows them. */
extern const Command *const command_table[];

extern const Command command_run;
extern const Command command_collective;
extern const Command command_export;
extern const Command command_check;
extern const Command command_show;
extern const Command command_calibrate;
extern const Command command_list;
extern const Command command_help;
