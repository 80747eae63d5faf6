/**
 * @file simt_host.h
 * @brief Run a kernel without a GPU: the threads of a block are fibers of this thread.
 *
 * A fiber runs until it meets a barrier, a ballot or an exchange, or ends; blocks run one
 * after the other. A test oracle: thousands of times slower than a GPU.
 */
#pragma once

#include "calibrate/gpu/kernels.h"

#include <glib.h>

/** Which thread of a block runs first: a kernel that lacks a barrier gives different
 *  results in different orders. */
typedef enum { SIMT_FORWARD, SIMT_BACKWARD } SimtOrder;

/** "onebit_encode". */
const char *simt_kernel_name(KernelId kernel);

/**
 * Run @p launch, whose arguments point to host memory.
 * @return false with SIM_ERROR_FAULT if its threads wait for each other for ever, such as
 *         at a barrier that not all of them reach
 */
bool simt_host_launch(const KernelLaunch *launch, SimtOrder order, GError **error);
