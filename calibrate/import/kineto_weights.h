/**
 * @file kineto_weights.h
 * @brief The parameters of operators, by the shapes that a trace records.
 */
#pragma once

#include "calibrate/import/kineto_events.h"

/** Of one call. */
typedef struct {
  double weight, bias; /**< values; 0: none, or not recorded */
  char type;           /**< first letter of the type's name without "c10::"; 0 unknown */
} KinetoWeights;

/** Does the operator @p name have parameters among its inputs? */
bool kineto_has_weights(const char *name);

/** What @p event's shapes say of them. */
KinetoWeights kineto_weights(const KinetoEvent *event);
