/**
 * @file start.h
 * @brief SimGrid itself: its configuration, and the platform that it is given.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/** Once per process. */
void start_simgrid(void);

/** @return false with SIM_ERROR_IO */
bool start_on_platform(const char *xml, gsize length, GError **error);
