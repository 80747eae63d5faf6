/** @file svg.h  @brief The parts of the picture; see svg.c for the page. */
#pragma once

#include "models/result.h"

#define SVG_WIDTH 1000.0
#define SVG_LEFT 172.0  /**< where the time axis begins */
#define SVG_RIGHT 976.0 /**< where it ends */

/** From seconds since the start of an iteration to the page. */
typedef struct {
  double scale; /**< pixels per second */
  double longest_s;
} TimeAxis;

double svg_x(const TimeAxis *axis, double time_s);

/** Vertical lines at round times from @p top to @p bottom. */
void svg_grid(GString *out, const TimeAxis *axis, double top, double bottom);

/** What the lines stand for, with their base line at @p y. */
void svg_ticks(GString *out, const TimeAxis *axis, double y);

/** What a span shows. */
typedef enum {
  LOOK_FORWARD,
  LOOK_BACKWARD,
  LOOK_COMPUTE,
  LOOK_TRANSFER,
  LOOK_STAGE,
  LOOK_N
} Look;

extern const char *const svg_look_classes[];
extern const char *const svg_look_titles[];

Look svg_look(const Span *span);

/** Lanes of the last measured iteration of @p result from @p y down: its tracks, then the
 *  use of the links. @return where they end */
double svg_lanes(GString *out, const TimeAxis *axis, const Result *result, double y);

/** The height that svg_lanes() will take. */
double svg_lanes_height(const Result *result);
