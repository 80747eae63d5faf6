/**
 * @file show.h
 * @brief Numbers and words for people: few digits, fitting units, even columns.
 *
 * Every char * returned is the caller's to free.
 */
#pragma once

#include "models/result.h"

#define SHOW_WIDTH 98 /**< columns that a report may take */

char *show_time(double time_s);  /**< "214.3 ms" */
char *show_bytes(double size_B); /**< "97.5 MiB" */
char *show_share(double share);  /**< "62.1 %" */
char *show_ratio(double ratio);  /**< "1.32 x" */

/** At most @p digits significant digits, thousands apart: "477,900". */
char *show_number(double number, guint digits);

/** Is @p name one of topology_tier_names? */
bool show_is_tier(const char *name);

/** What people call the links of a tier: "NICs". @p name is one of topology_tier_names;
 *  another name stands for itself. Borrowed. */
const char *show_tier(const char *name);

/** @p text without control characters, which a terminal would obey; "?" for NULL. */
char *show_plain(const char *text);

/** Append @p text, filled up with blanks to @p width columns on its right or left. */
void show_left(GString *out, const char *text, guint width);
void show_right(GString *out, const char *text, guint width);

/** Append @p text as lines of at most SHOW_WIDTH columns, each after @p indent blanks. */
void show_paragraph(GString *out, guint indent, const char *text);

/** The same for a line that already has @p indent columns. */
void show_hanging(GString *out, guint indent, const char *text);

/** Shares of an iteration that add up to 1. */
typedef struct {
  double alone;   /**< computing while no gradient is in flight, at most */
  double hidden;  /**< computing while gradients are in flight, at least */
  double exposed; /**< not computing */
} TimeSplit;

TimeSplit show_time_split(const Result *result);

/** The result of the highest throughput; the first of equals. */
const Result *show_best(const Result *const *results, guint n);
