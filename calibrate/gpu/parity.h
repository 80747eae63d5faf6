/**
 * @file parity.h
 * @brief Do the kernels compute on the GPU what they compute on the host, bit by bit?
 */
#pragma once

#include "calibrate/gpu/load.h"

/**
 * Run every kernel on both and compare what they wrote. Where atomic operations decide the
 * order, what was written is compared as a set.
 * @param out  a line for each case: "ok" or what differs first
 * @return false with SIM_ERROR_FAULT if any differs, SIM_ERROR_IO if the GPU refuses
 */
bool gpu_parity(const Gpu *gpu, GString *out, GError **error);
