/**
 * @file compute.h
 * @brief How long one GPU computes, layer by layer. A part of workload.c.
 */
#pragma once

#include "models/workload.h"

/**
 * Fill forward_s, backward_s, optimizer_s, layer_times, compute_source and
 * compute_is_assumed of @p workload, whose other fields are set.
 * @return false with SIM_ERROR_VALUE, see workload_new()
 */
bool compute_fill(Workload *workload, const ComputeSpec *compute, const GpuSpec *gpu,
                  GError **error);

/**
 * The same from @p layers (GArray of ComputeLayer) that together name every layer of the
 * model, itself or by a group around it, once; all but the sums and the optimiser.
 * @param weights  per layer of the model: how the time of a group divides among them
 */
bool compute_fill_measured(Workload *workload, const GArray *layers, const double *weights,
                           GError **error);
