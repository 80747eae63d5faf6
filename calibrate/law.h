/**
 * @file law.h
 * @brief What a fit found: a formula, its parameters with 95 % intervals, and how well it
 *        holds.
 */
#pragma once

#include "calibrate/sample.h"

typedef enum {
  LAW_PIECEWISE,  /**< segments alpha + beta size; between measured sizes the knots */
  LAW_FLOOR,      /**< max(floor_s, alpha_s + s_per_unit size) */
  LAW_SATURATION, /**< size / peak_per_s (1 + (half / size)^sharpness) */
  LAW_HOPS,       /**< launch_s + steps and bytes per kind of link, see fit_hops() */
  LAW_CONTENTION, /**< idle_s / (1 - share_per_unit size) */
} LawForm;
#define LAW_N_FORMS 5

/** "piecewise", ...; NULL-terminated. */
extern const char *const law_form_names[];

/** A number and the interval that holds it with 95 %. */
typedef struct {
  double value, low, high;
} Estimate;

typedef struct {
  double from, to; /**< sizes, inclusive, in units of the axis */
  guint n_points;
  Estimate alpha_s;
  Estimate s_per_unit; /**< seconds per byte, operation or count */
} LawSegment;

typedef struct {
  char *name; /**< with its unit: "launch_s", "peak_per_s" */
  Estimate estimate;
} LawParameter;

/** A number of segments that was tried. */
typedef struct {
  guint n_segments;
  double bic;
  double rms;    /**< of the relative residuals */
  double cv_rms; /**< of every second size, predicted from the others */
} LawCandidate;

typedef struct {
  double size, time_s;
} LawKnot;

/** How well it holds; residuals are relative to the time. */
typedef struct {
  guint n_points, n_outliers;
  double rms, median, max;
  double autocorrelation;     /**< lag 1 over the sizes; above 0.6 something is missing */
  double cv_median;           /**< knots of every second size against the others */
  double cv_rms, cv_last_rms; /**< the segments: every second size; the last four */
} LawFit;

typedef struct {
  char *id;    /**< from the key, unique in a profile */
  Sample *key; /**< names the curve; times and size unset; ranks and nodes 0 where the
                    law holds for several */
  LawForm form;
  Source source;               /**< the key's */
  GArray *segments;            /**< of LawSegment, LAW_PIECEWISE only */
  GArray *parameters;          /**< of LawParameter, the other forms */
  GArray *candidates;          /**< of LawCandidate, LAW_PIECEWISE only */
  GArray *knots;               /**< of LawKnot: measured medians, made monotone */
  double knots_change;         /**< the most that monotony moved one, relative */
  double valid_from, valid_to; /**< sizes */
  guint nodes_from, nodes_to;  /**< measured */
  LawFit fit;
} Law;

Law *law_new(const Sample *key, LawForm form);
void law_free(Law *law);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Law, law_free)

void law_add_parameter(Law *law, const char *name, Estimate estimate);
/** NULL if it has none of that name. */
const Estimate *law_parameter(const Law *law, const char *name);

/** Time at @p size on @p ranks and @p nodes (0: the key's): inside the measured range the
 *  knots of a LAW_PIECEWISE, outside its last or first segment [s]. */
double law_time_s(const Law *law, double size, guint ranks, guint nodes);

/** The formula alone, without knots [s]. */
double law_formula_s(const Law *law, double size, guint ranks, guint nodes);
