/**
 * @file host_kernel_lanes.h
 * @brief Eight floats at once, in the vector extensions of GCC and Clang.
 */
#pragma once

#include "calibrate/backend/host_kernel.h"

#include <string.h>

#define LANES 8

typedef float V8 __attribute__((vector_size(32)));
typedef guint32 V8u __attribute__((vector_size(32)));

#define SIGN_BIT                                                                           \
  ((V8u){ 1u << 31, 1u << 31, 1u << 31, 1u << 31, 1u << 31, 1u << 31, 1u << 31, 1u << 31 })
#define LANE_BIT ((V8u){ 1, 2, 4, 8, 16, 32, 64, 128 })

/* As macros and not functions: a function would be compiled for the instruction set of the
 * file and not for that of the kernel. */
#define load8(from)                                                                        \
  __extension__({                                                                          \
    V8 loaded_;                                                                            \
    memcpy(&loaded_, from, sizeof loaded_);                                                \
    loaded_;                                                                               \
  })
#define store8(to, vector)                                                                 \
  __extension__({                                                                          \
    const V8 stored_ = (vector);                                                           \
    memcpy(to, &stored_, sizeof stored_);                                                  \
  })
#define splat8(word)                                                                       \
  __extension__({                                                                          \
    const guint32 word_ = (word);                                                          \
    (V8u){ word_, word_, word_, word_, word_, word_, word_, word_ };                       \
  })

/** The bits of a float. */
#define bits_of(number)                                                                    \
  __extension__({                                                                          \
    const float number_ = (number);                                                        \
    guint32 bits_;                                                                         \
    memcpy(&bits_, &number_, sizeof bits_);                                                \
    bits_;                                                                                 \
  })
