/**
 * @file compression_params.c
 * @brief The keys of "compression" beside the codec's own.
 */
#include "models/strategy.h"

const ParamSpec compression_params[] = {
  { .key = "min_size",
    .type = PARAM_BYTES,
    .offset = offsetof(CompressionSpec, min_size_B),
    .fallback = "0 B",
    .help = "smaller gradients are sent as they are",
    .origin = "pytorch's and horovod's compression takes all; byteps: 64 KiB" },
  { .key = "skip_first_layers",
    .type = PARAM_COUNT,
    .offset = offsetof(CompressionSpec, skip_first_layers),
    .fallback = "0",
    .help = "layers with tensors, from the input, that are sent as they are",
    .origin = "all layers" },
  { .key = "skip_last_layers",
    .type = PARAM_COUNT,
    .offset = offsetof(CompressionSpec, skip_last_layers),
    .fallback = "0",
    .help = "layers with tensors, from the output, that are sent as they are",
    .origin = "all layers" },
  PARAM_END,
};

const ParamSpec compression_gpu_params[] = {
  { .key = "nodes_per_rack",
    .type = PARAM_COUNT,
    .offset = offsetof(CompressionSpec, nodes_per_rack),
    .fallback = "0",
    .max = 1e6,
    .help = "encode only what leaves a rack of so many nodes in a row; 0: all",
    .origin = "all, as pytorch's and horovod's compression" },
  { .key = "kernel_launch",
    .type = PARAM_SECONDS,
    .offset = offsetof(CompressionSpec, kernel_launch_s),
    .fallback = STRATEGY_KERNEL_LAUNCH,
    .max = 1,
    .help = "time of a short kernel in a stream; encoding takes one or more",
    .origin = STRATEGY_KERNEL_LAUNCH_ORIGIN },
  PARAM_END,
};

const ParamSpec compression_cpu_params[] = {
  { .key = "cpu_threads",
    .type = PARAM_COUNT,
    .offset = offsetof(CompressionSpec, cpu_threads),
    .fallback = "4",
    .min = 1,
    .max = 4096,
    .help = "of a host, and of a server, that encode and decode where a CPU does it",
    .origin = "assumed: BYTEPS_THREADPOOL_SIZE must be set" },
  { .key = "cpu_rate",
    .type = PARAM_RATE,
    .offset = offsetof(CompressionSpec, cpu_rate_Bps),
    .fallback = "2 GB/s",
    .min = 1e6,
    .max = 1e13,
    .help =
      "what one of these threads moves; signs take two passes to encode, one to decode",
    .origin = "assumed: 0.6 to 1.3 GB/s of signs on one core of a small shared VM" },
  PARAM_END,
};
