/**
 * @file options.h
 * @brief What all commands' options have in common.
 */
#pragma once

#include "sim/command/command.h"

/**
 * Take the options out of @p argv, leaving the operands. "--help" prints the command's
 * help to @p out and sets @p is_done.
 * @param entries  ends with G_OPTION_ENTRY_NULL; NULL if the command has none
 * @return false with SIM_ERROR_USAGE
 */
bool options_parse(const Command *command, const GOptionEntry *entries, int *argc,
                   char ***argv, GString *out, bool *is_done, GError **error);

/** False with SIM_ERROR_USAGE unless @p argc - 1 operands are at least @p min and at most
 *  @p max. @param what  the operands: "FILE..." */
bool options_check_count(const Command *command, int argc, int min, int max,
                         const char *what, GError **error);

/** nccl-tests' sizes (8, 128K, 8G, binary) or ours ("64 MiB"): whole bytes.
 *  @return false with SIM_ERROR_USAGE that names @p option */
bool options_parse_size(const Command *command, const char *option, const char *text,
                        double *size_B, GError **error);
