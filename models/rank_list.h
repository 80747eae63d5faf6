/**
 * @file rank_list.h
 * @brief Ranks as people list them: "0-7, 12, 16-30:2".
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/**
 * @param n_ranks  ranks that there are
 * @return GArray of guint, ascending; NULL with SIM_ERROR_VALUE if the text is no list, or
 *         names a rank that is not there, or one twice. Transfer: caller unrefs.
 */
GArray *rank_list_parse(const char *text, guint n_ranks, GError **error);

/** The number at @p at, which moves behind it; false if there is none. */
bool rank_list_number(const char **at, guint *number);
