/**
 * @file observed.h
 * @brief What collectives took of late, over what was predicted, by size.
 */
#pragma once

#include <glib.h>

typedef struct Observed Observed;

/** Nothing is measured yet. Transfer: caller frees with g_free(). */
Observed *observed_new(void);

/** Measured over predicted time of messages of about @p size_B bytes; 1 if not measured. */
double observed_slowdown(const Observed *observed, double size_B);

/** A message of @p size_B bytes took @p ratio times what was predicted. */
void observed_add(Observed *observed, double size_B, double ratio);
