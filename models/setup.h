/**
 * @file setup.h
 * @brief Everything a forecast needs, read and checked: what a scenario becomes.
 */
#pragma once

#include "models/calibration.h"
#include "models/cluster.h"
#include "models/compression.h"
#include "models/grouping.h"
#include "models/library.h"
#include "models/strategy.h"
#include "models/workload.h"

typedef struct {
  guint iterations; /**< measured, >= 1 */
  guint warmup;     /**< run before them and not counted */
  guint seed;
  guint replicas; /**< repetitions with other draws, >= 1 */
} RunSpec;

extern const ParamSpec run_params[];

/** What becomes of a scenario that does not fit into the GPUs' memory. */
typedef enum { MEMORY_REFUSE, MEMORY_WARN } MemoryCheck;

typedef struct {
  guint check; /**< MemoryCheck */
} MemorySpec;

extern const ParamSpec memory_params[];

/** A number of the forecast that a reader may want to doubt. */
typedef struct {
  char *name;   /**< its place in the scenario: "cluster.nic.rate" */
  char *value;  /**< as a user writes it */
  char *source; /**< "scenario FILE", a catalogue's source, "assumed: ..." */
  bool assumed; /**< nobody measured or published it for this hardware */
} Constant;

/** An array that owns its constants. Transfer: caller unrefs. */
GArray *constants_new(void);
/** Append a copy. */
void constants_add(GArray *constants, const Constant *constant);

typedef struct {
  char *name;
  ClusterSpec cluster;
  Grouping grouping;
  Model *model; /**< owned */
  WorkloadSpec workload;
  ComputeSpec compute;
  const StrategyOps *strategy;
  void *strategy_params; /**< owned */
  const LibraryOps *library;
  void *library_params; /**< owned */
  const CodecOps *codec;
  void *codec_params; /**< owned */
  CompressionSpec compression;
  RunSpec run;
  MemorySpec memory;
  GArray *constants;  /**< of Constant; owned */
  GArray *curves;     /**< of CalibrationCurve; owned */
  char *idle_profile; /**< a profile of which nothing here is taken; NULL: none */
} Setup;

/** Does the forecast depend on @p constant ("cluster.transport.rto"), the rest being what
 *  it is? @param network  is there anything between nodes at all? */
bool setup_uses(const Setup *setup, const char *constant, bool network);

/** The cluster with the library's rules of its ways. Shallow: borrows what @p setup owns.
 */
ClusterSpec setup_cluster(const Setup *setup);

/** Codec "none". */
Setup *setup_new(void);
void setup_free(Setup *setup);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Setup, setup_free)
