/**
 * @file codec.h
 * @brief How gradients are written shorter: bytes, work, and how they are added up.
 *
 * A codec says what one worker's message holds and what it costs to write and read it.
 * What it does to accuracy is never simulated: info.note quotes what others published.
 * To add one: write models/codec/NAME.c and list it in table.c.
 *
 * Time is work on a device: memory moved and kernels launched one after another. The work
 * of encoding is counted in passes; one pass moves the values once, as encoders are bound
 * by memory: passes * n_values * element_B bytes. Every codec states its passes and where
 * they come from; a scenario may give others ("encode_passes"), such as measured ones.
 */
#pragma once

#include "models/cluster.h"

/** Values that are encoded together: a tensor, or all of a bucket. */
typedef struct {
  double n_values;
  double element_B; /**< of a gradient [B] */
  double n_rows;    /**< of the matrix that a tensor is: its first dimension; as many as
                         values for a vector, 0 if nobody says */
  guint n_workers;
} CodecInput;

/** What a device has to do. */
typedef struct {
  double moved_B; /**< read and written in its memory [B] */
  double flops;
  double n_kernels; /**< launched one after another */
} CodecWork;

/** What does it. */
typedef struct {
  double memory_Bps;
  double flops; /**< fp32 [FLOP/s] */
  double launch_s;
} CodecDevice;

/** n_kernels * launch_s + max(moved_B / memory_Bps, flops / peak) [s] */
double codec_work_s(const CodecWork *work, const CodecDevice *device);

/** Append @p more, which follows. */
void codec_work_add(CodecWork *work, CodecWork more);

/** How messages become a sum. */
typedef enum {
  CODEC_SUM,     /**< a sum of messages is the message of the sum: all-reduce each round */
  CODEC_GATHER,  /**< it is not: all-gather all messages, every worker adds them up */
  CODEC_SCATTER, /**< all-to-all to the worker that sums a part, all-gather of the sums */
} CodecExchange;

/** Rounds of messages that follow one another, at most. */
#define CODEC_MAX_ROUNDS 2

typedef struct {
  ModuleInfo info;
  guint n_rounds;      /**< 2 of a CODEC_SCATTER, 1 of a CODEC_GATHER */
  bool by_tensor;      /**< encodes each tensor on its own even if a bucket holds several */
  bool after_backward; /**< encodes what is only known when backward has ended */

  /** Does @p params make sense together? For what ParamSpec cannot say. May be NULL. */
  bool (*check)(const void *params, GError **error);

  /** Is it worth it, for a tensor that the rules let through? NULL: always.
   *  @return false to leave the tensor as it is */
  bool (*encodes)(const void *params, const CodecInput *input);

  /** The reason why a tensor cannot be encoded as asked ("k of 100 ..."), or NULL.
   *  May be NULL. Transfer: caller frees. */
  char *(*refuses)(const void *params, const CodecInput *input);

  /** Required. */
  CodecExchange (*exchange)(const void *params);

  /** One worker's message in @p round [B]. Required. */
  double (*wire_B)(const void *params, const CodecInput *input, guint round);

  /** Work before @p round. Required. */
  CodecWork (*encode)(const void *params, const CodecInput *input, guint round);

  /** Work after the last round, whatever arrives then. Required. */
  CodecWork (*decode)(const void *params, const CodecInput *input);

  /** Kept from one iteration to the next, such as what was not sent [B]. NULL: none. */
  double (*state_B)(const void *params, const CodecInput *input);

  /** Share of the iterations, the first ones, that send full gradients. NULL: none. */
  double (*warmup_share)(const void *params);
} CodecOps;

extern const ModuleInfo *const codec_table[];
extern const CodecOps codec_none;
extern const CodecOps codec_fp16;
extern const CodecOps codec_bf16;
extern const CodecOps codec_onebit;
extern const CodecOps codec_topk;
extern const CodecOps codec_randomk;
extern const CodecOps codec_qsgd;
extern const CodecOps codec_terngrad;
extern const CodecOps codec_powersgd;
extern const CodecOps codec_onebit_adam;

/** Kernels that pass over the values: @p passes of them, rounded up, each a kernel. */
CodecWork codec_passes(const CodecInput *input, double passes);

/**
 * Error feedback: what a message leaves out is added to the next gradient. A pass each to
 * read the gradient, to read what was left out, and to write what is left out now.
 * S. P. Karimireddy et al., "Error Feedback Fixes SignSGD and other Gradient Compression
 * Schemes", ICML 2019, algorithm 1.
 */
#define CODEC_FEEDBACK_PASSES 3

/** Memory of what was left out, in fp32 like the sum it goes into [B]. */
double codec_feedback_B(const CodecInput *input);

/** Least that a GPU's memory moves for one value somewhere: a sector of 32 B. CUDA C++
 *  Best Practices Guide, "Coalesced Access to Global Memory" [B]. */
#define CODEC_SECTOR_B 32

/** @p n values packed @p bits each into whole 32-bit words [B]. */
double codec_packed_B(double n, double bits);

/** The row of "encode_passes" for a params struct of type @p Type. */
#define CODEC_PASSES_ROW(Type, default_, origin_)                                          \
  {                                                                                        \
    .key = "encode_passes", .type = PARAM_NUMBER, .offset = offsetof(Type, encode_passes), \
    .fallback = default_, .min = 0, .max = 1000,                                           \
    .help = "times that encoding moves all values through memory, without feedback",       \
    .origin = origin_                                                                      \
  }

#define CODEC_FEEDBACK_ROW(Type, default_, origin_)                                        \
  {                                                                                        \
    .key = "error_feedback", .type = PARAM_BOOL, .offset = offsetof(Type, error_feedback), \
    .fallback = default_,                                                                  \
    .help = "add what a message leaves out to the next gradient; takes memory",            \
    .origin = origin_                                                                      \
  }

#define CODEC_WARMUP_ROW(Type, default_, origin_)                                          \
  {                                                                                        \
    .key = "warmup_share", .type = PARAM_FRACTION, .offset = offsetof(Type, warmup_share), \
    .fallback = default_, .min = 0, .max = 1,                                              \
    .help = "share of the iterations, the first ones, that send full gradients",           \
    .origin = origin_                                                                      \
  }
