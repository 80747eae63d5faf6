/**
 * @file problems.h
 * @brief Texts as messages quote them, and what is wrong with them.
 */
#pragma once

#include "sim/scenario/document.h"

/** A text that messages point into. Counted references. */
typedef struct {
  guint number; /**< order in which the texts were read */
  char *name;   /**< "scenarios/x.json", "--set cluster.nodes=0" */
  char *shown;  /**< the text as the user wrote it, valid UTF-8 */
  bool is_flat; /**< a setting: its name says it all, no line and column */
  char *origin; /**< who vouches for its figures, for a catalogue entry; else NULL */
} Text;

Text *text_ref(Text *text);
void text_unref(Text *text);

/** Where the byte @p offset stands; both count from 1, columns in characters. */
void text_position(const Text *text, gsize offset, guint *line, guint *column);

/** Note a problem. @p key may be ""; @p cause is copied. */
void problems_add(Problems *problems, Text *text, gsize offset, const char *key,
                  const char *cause);
