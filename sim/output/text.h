/** @file text.h  @brief The parts of the report on the terminal; see output.h for its door.
 */
#pragma once

#include "models/result.h"

#define TEXT_BOLD "1"
#define TEXT_RED "31"
#define TEXT_GREEN "32"
#define TEXT_BLUE "34"

/** Append @p text, in the ANSI colour @p code if @p colour. */
void text_paint(GString *out, bool colour, const char *code, const char *text);

/** "[####===!!]": where the time of an iteration goes, in @p width characters. */
void text_bar(const Result *result, bool colour, guint width, GString *out);

/** Side by side: the numbers of several results and a sentence on each. */
void text_compare(const Result *const *results, guint n, bool colour, GString *out);

/** Where the constants come from, and which of them are assumed. */
void text_constants(const Result *const *results, guint n, GString *out);
