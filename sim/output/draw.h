/**
 * @file draw.h
 * @brief SVG primitives: two decimals, escaped texts, one style sheet.
 *
 * Classes: see the style sheet in draw.c.
 */
#pragma once

#include <glib.h>

typedef enum { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END } Anchor;

/** Append what stands before the shapes of a picture of @p width x @p height. */
void draw_begin(GString *out, double width, double height);
void draw_end(GString *out);

void draw_rect(GString *out, const char *class, double x, double y, double width,
               double height);
void draw_line(GString *out, const char *class, double x1, double y1, double x2, double y2);

/** @p y is the base line. What is not UTF-8 or cannot stand in XML is replaced. */
void draw_text(GString *out, const char *class, Anchor anchor, double x, double y,
               const char *text);

/** Append "COMMAND x y" to the data of a path. */
void draw_path_to(GString *path, char command, double x, double y);
void draw_path(GString *out, const char *class, const GString *path);

/** A rectangle with a title, which browsers show under the pointer. */
void draw_titled_rect(GString *out, const char *class, double x, double y, double width,
                      double height, const char *title);

/** Width that @p text takes at @p size, near enough to decide whether it fits. */
double draw_text_width(const char *text, double size);
