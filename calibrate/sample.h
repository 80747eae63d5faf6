/**
 * @file sample.h
 * @brief What was timed, and the summary of its repetitions: the common currency of probes,
 *        importers, fits and profiles.
 *
 * Probes that run here and logs that others bring end in the same rows, so that everything
 * after them (fitting, profiles, plots) need not know where a number comes from.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/** What the size of a cell counts. */
typedef enum {
  SAMPLE_BYTES, /**< message or buffer [B] */
  SAMPLE_FLOPS, /**< floating-point operations */
  SAMPLE_COUNT, /**< calls, CTAs, connections: the probe says what */
} SampleAxis;

/** Where numbers come from. */
typedef enum {
  SOURCE_MEASURED, /**< here */
  SOURCE_IMPORTED, /**< from a log that somebody else wrote */
  SOURCE_PRESET,
  SOURCE_EXTRAPOLATED,
} Source;

/** "measured", "imported", "preset", "extrapolated"; NULL-terminated. */
extern const char *const source_names[];

/** Why a cell deserves less trust; bits. */
typedef enum {
  SAMPLE_NOISY = 1 << 0,          /**< more than a tenth of its repetitions were rejected */
  SAMPLE_CLOCKS_UNKNOWN = 1 << 1, /**< nobody watched the clocks of the GPU */
  SAMPLE_THROTTLED = 1 << 2,      /**< power cap, heat or hardware slowed the GPU */
  SAMPLE_BUSY = 1 << 3,           /**< other work ran on the device */
  SAMPLE_SKEW = 1 << 4,           /**< the time includes waiting for the slowest rank */
  SAMPLE_ROUNDED = 1 << 5,        /**< printed with so few digits that rounding shows */
  SAMPLE_FAILED = 1 << 6,         /**< it ran out of time or crashed; the time is nothing */
  SAMPLE_IMPLAUSIBLE = 1 << 7,    /**< contradicts itself, such as algbw != size / time */
} SampleFlags;

/**
 * One cell of a sweep. Texts are never NULL: "" where they do not apply.
 * Names of probes: collectives as in scenarios ("all_reduce", "send_recv", ...), "memcpy",
 * "reduce", "cast", "onebit_encode", "onebit_decode", "topk_encode", "randomk_encode",
 * "h2d", "d2h", "d2d", "launch", "gemm", "loopback", "contention", ...
 */
typedef struct {
  char *probe;
  char *library; /**< "nccl 2.28.9", "openmpi 4.1.4", "stepcast"; who did the work */
  char *algo;    /**< "ring", "tree", "radix"; "" if it was the library's own choice */
  char *proto;   /**< "ll", "ll128", "simple", "eager" */
  char *dtype;   /**< "fp32", "bf16" */
  char *regime;  /**< "cold", "warm": what the caches held */
  char *place;   /**< "cpu", "gpu", "nvlink", "pcie", "net", "netns 100mbit mtu 9000" */
  char *variant; /**< whatever else tells two cells apart: "ctas=8", "pinned", "in_place" */
  guint ranks;   /**< ranks that took part; 1 for what one device does alone */
  guint nodes;   /**< nodes they ran on, >= 1 */
  SampleAxis axis;
  double size;       /**< on that axis, >= 0 */
  double median_s;   /**< of the repetitions that were kept, > 0 unless SAMPLE_FAILED */
  double mad_s;      /**< median absolute deviation, >= 0; 0 if unknown */
  double min_s;      /**< 0 if unknown */
  double p95_s;      /**< 0 if unknown */
  guint n;           /**< repetitions kept; 1 for a row of a log that says only its mean */
  guint n_rejected;  /**< outliers: |t - median| > 5 x 1.4826 x MAD */
  double run_spread; /**< (max - min) / median of the medians of separate passes, 0..; 0 if
                          there was one pass */
  guint flags;       /**< SampleFlags */
  Source source;
} Sample;

Sample *sample_new(const char *probe);
Sample *sample_copy(const Sample *sample); /**< transfer: caller frees */
void sample_free(Sample *sample);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sample, sample_free)

/** Replace one text field: sample_set(&s->dtype, "fp32"). NULL means "". */
void sample_set(char **field, const char *text);

/** A GPtrArray that frees its Samples. Transfer: g_ptr_array_unref(). */
GPtrArray *sample_list_new(void);

/**
 * Fill median, MAD, min, p95, n and n_rejected from @p n >= 1 repetitions.
 * The rule of rejection is above, with a MAD of at least a thousandth of the median, since
 * clocks tick; more than a tenth rejected sets SAMPLE_NOISY.
 * @param time_s  repetitions in any order; left as they were [s]
 */
void sample_summarise(Sample *sample, const double *time_s, guint n);

/** "bytes", "flops", "count". Borrowed. */
const char *sample_axis_name(SampleAxis axis);
/** "noisy|busy"; "" for none. Transfer: caller frees. */
char *sample_flag_names(guint flags, const char *separator);
/** 0 if nothing is called so. */
guint sample_flag_of(const char *name);

/** Do two cells belong to one curve: everything equal but the size and its times? */
bool sample_same_curve(const Sample *a, const Sample *b);

/** By every text and number that names the cell, then by size: a total order, so that files
 *  do not depend on the order of measurement. */
int sample_compare(const Sample *a, const Sample *b);

/** The samples as CSV with a header line, times in seconds with 9 digits. */
void sample_write_csv(const GPtrArray *samples, GString *out);
