/**
 * @file export_iteration.h
 * @brief One iteration of a training job as GOAL text.
 */
#pragma once

#include "models/setup.h"

/**
 * Simulate one measured iteration and append it: when what was ready and sent as it was
 * here, every message of every collective.
 * @return false with SIM_ERROR_VALUE if it has too many messages, or is none that can be
 *         told so; or the engine's error
 */
bool export_iteration(const Setup *setup, GString *out, GError **error);
