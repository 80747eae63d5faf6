/**
 * @file compression.h
 * @brief A codec at work on a workload: which gradients it encodes, what a unit becomes.
 *
 * Tensors that the rules leave alone, and those that the codec would not shrink, travel in
 * an all-reduce of their own, as they are: their type differs from that of a message. A
 * unit is then a row of collectives, each with the work before it, and work at the end.
 *
 * With nodes_per_rack only what leaves a rack of so many nodes is encoded: its GPUs
 * reduce-scatter gradients as they are; each encodes its part of the rack's sum for the
 * GPUs with its place in the other racks, decodes what they made of it, and the rack
 * gathers the parts. A rule of operators: intra-rack links have room, uplinks do not.
 *
 * Where encoding happens is the strategy's to say: each tensor alone before it is queued,
 * so that schedules see messages (Horovod), or all of a bucket at once (DDP).
 */
#pragma once

#include "models/codec.h"
#include "models/collective.h"
#include "models/move.h"
#include "models/workload.h"

/** "compression" of a scenario, without the codec's own keys. */
typedef struct {
  guint64 min_size_B;      /**< smaller gradients are left alone */
  guint skip_first_layers; /**< of the layers with tensors, those nearest to the input */
  guint skip_last_layers;  /**< those nearest to the output */
  guint nodes_per_rack; /**< COMPRESS_UNITS: only what crosses racks is encoded; 0: all */
  double kernel_launch_s;
  guint cpu_threads;   /**< COMPRESS_PIECES: of a host or server that work on a piece */
  double cpu_rate_Bps; /**< and what one of them moves */
} CompressionSpec;

/** Rules; and what encodes, where that is the GPU, or the CPU (COMPRESS_PIECES). */
extern const ParamSpec compression_params[];
extern const ParamSpec compression_gpu_params[];
extern const ParamSpec compression_cpu_params[];

/** Where a strategy encodes. */
typedef enum {
  COMPRESS_NOTHING, /**< the strategy takes no codec */
  COMPRESS_TENSORS, /**< each tensor alone, before the schedule sees it */
  COMPRESS_UNITS,   /**< all tensors of a unit at once, where its "encode" stage is */
  COMPRESS_PIECES,  /**< each piece of a tensor on the host's CPU; the server decodes every
                         push, adds, encodes the sum, and every host decodes that */
} CompressionPlace;

typedef struct Compression Compression;

typedef struct {
  const CodecOps *codec;
  const void *params; /**< the codec's; borrowed as long as the Compression */
  const CompressionSpec *spec;
  CompressionPlace place;
  guint n_workers;
  guint n_nodes;
} CompressionConfig;

/**
 * NULL for the codec "none", where pieces are pushed to nobody, on one node, and where
 * nothing leaves the rack. The workload must outlive it. Transfer: caller frees with
 * compression_free().
 */
Compression *compression_new(const CompressionConfig *config, const Workload *workload,
                             const GpuSpec *gpu);
void compression_free(Compression *compression);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Compression, compression_free)

/**
 * Can the codec encode what the rules let through, each tensor where it stands alone, all
 * of them together where buckets are encoded; and is there any?
 * @return false with SIM_ERROR_VALUE that names what it cannot encode, and the remedy
 */
bool compression_check(const Compression *compression, GError **error);

/** OR of the CollKind that units may become. */
guint compression_kinds(const Compression *compression);

/** The uncompressed gradients, then a codec's rounds, or the three of racks. */
#define COMPRESSION_MAX_ROUNDS (2 + CODEC_MAX_ROUNDS)

typedef struct {
  CollKind kind;
  Move move;     /**< in place of the kind's collective; MOVE_N: none */
  double size_B; /**< of the collective: what all ranks have when it is done */
  double work_s; /**< of the codec before it [s] */
} CompressionRound;

/** What a unit becomes. */
typedef struct {
  double encode_s; /**< before the first round */
  guint n_rounds;
  CompressionRound rounds[COMPRESSION_MAX_ROUNDS];
  double decode_s;  /**< after the last */
  double message_B; /**< what one worker has to say in all rounds */
  double buffer_B;  /**< for the messages of the largest round as they arrive */
} Encoding;

/** Of the gradients (guint32, indices into the workload's) that travel together. */
Encoding compression_encode(const Compression *compression, const GArray *gradients);

/** The same for one gradient. */
Encoding compression_encode_one(const Compression *compression, guint32 gradient);

/**
 * The same for one of @p n_parts equal pieces of a gradient that was encoded as a whole
 * (COMPRESS_TENSORS): every round carries its part.
 */
Encoding compression_encode_part(const Compression *compression, guint32 gradient,
                                 guint n_parts);

/** COMPRESS_PIECES: of @p size_B bytes of a gradient, which takes no rounds. */
Encoding compression_encode_piece(const Compression *compression, guint32 gradient,
                                  double size_B);

/** Is a sum of messages the message of the sum, in a single round? Then any way to sum them
 *  will do, in place of the codec's own. */
bool compression_is_plain_sum(const Compression *compression);

/** Does what it sends in a later round depend on all of an earlier one? Then a message
 *  cannot travel in pieces. */
bool compression_is_stepwise(const Compression *compression);

/** OR of 1 << Move that units may take; 0 unless racks are told apart. */
guint compression_moves(const Compression *compression);

/** The codec's name. Borrowed. */
const char *compression_codec(const Compression *compression);

/** Do the rules and the codec take this gradient? */
bool compression_takes(const Compression *compression, guint32 gradient);

/** Where it encodes. */
CompressionPlace compression_place(const Compression *compression);

/**
 * The workload as schedules see it with COMPRESS_TENSORS: gradients are as large as their
 * messages. Shares all else with the original, which must outlive it.
 * Transfer: caller frees with compression_workload_free().
 */
Workload *compression_workload_new(const Compression *compression);
void compression_workload_free(Workload *workload);

/** Does the codec work on what exists only after backward? */
bool compression_after_backward(const Compression *compression);

/** Kept on each GPU between iterations; a host keeps what it encodes [B]. */
double compression_state_B(const Compression *compression);

/** Share of the iterations, the first ones, that send full gradients. */
double compression_warmup_share(const Compression *compression);

/** Do tensors whose shape nobody states take part in a codec that depends on it? */
bool compression_assumes_shapes(const Compression *compression);
