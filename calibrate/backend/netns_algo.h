/**
 * @file netns_algo.h
 * @brief The collectives that members of a mesh run, each spelt out in messages.
 */
#pragma once

#include "calibrate/backend/mesh.h"

/** What a member works with. */
typedef struct {
  const Mesh *mesh;
  guint rank, n;
  float *values;  /**< its message; becomes the result */
  gsize n_values; /**< of the message */
  float *space;   /**< n times the message, to receive in */
} AlgoCall;

typedef struct {
  const char *probe;   /**< "all_reduce", "incast" */
  const char *name;    /**< as `stepcast list collective` has it; "" for incast */
  const char *variant; /**< "servers=1"; "" */
  bool powers_only;    /**< only where ranks are a power of two */

  /** One call. Root and all-reduces leave the sum of all messages in values. */
  bool (*run)(const AlgoCall *call, GError **error);

  /** Does @p rank hold the sum afterwards? */
  bool (*has_sum)(guint rank);

  /** Closed form on idle cables, without latency: messages that one cable carries, one way,
   *  per message. */
  double (*load)(guint n);
} Algo;

extern const Algo *const algo_table[]; /**< NULL-terminated */
