/**
 * @file merge_keys.h
 * @brief Keys of strategies that plan by the cost of an all-reduce: given, or fitted.
 */
#pragma once

#include "models/strategy.h"

typedef struct {
  double startup_s;
  double rate_Bps; /**< 0: fitted */
} MergeKeys;

/** Their rows, for a params struct of type @p Type with MergeKeys as @c merge. */
#define MERGE_KEYS(Type)                                                                   \
  { .key = "startup",                                                                      \
    .type = PARAM_SECONDS,                                                                 \
    .offset = offsetof(Type, merge.startup_s),                                             \
    .fallback = "0 s",                                                                     \
    .min = 0,                                                                              \
    .max = 3600,                                                                           \
    .help = "an all-reduce takes this + size / rate; only with rate; 0: fitted",           \
    .origin = "MG-WFBP profiling.py: fitted before training" },                            \
  {                                                                                        \
    .key = "rate", .type = PARAM_RATE, .offset = offsetof(Type, merge.rate_Bps),           \
    .fallback = "0 B/s", .min = 0, .max = 1e15,                                            \
    .help = "bytes of message per second of all-reduce, to plan by; 0: fitted",            \
    .origin = "MG-WFBP profiling.py: fitted before training"                               \
  }

MergeRule merge_keys_rule(const MergeKeys *keys);
