/**
 * @file library.h
 * @brief What chooses and runs collectives: NCCL, or a table of rules.
 */
#pragma once

#include "models/cluster.h"
#include "models/collective.h"
#include "models/transport.h"

/** What a library has decided for one size. */
typedef struct {
  const CollOps *collective;
  const char *protocol; /**< "simple", "ll", ...; "" where there is only one */
  double launch_s;      /**< once per collective [s] */
  CollTerms terms;      /**< of its phases */
  double n_channels;    /**< blocks that run on every GPU meanwhile; 0: none */
} LibraryChoice;

/** What it decides from. */
typedef struct {
  CollKind kind;
  guint n_nodes;
  guint ranks_per_node; /**< of the node with the most */
  bool nvlink;          /**< GPUs of a node speak NVLink, not PCIe */
  bool nvswitch;        /**< through switches, which can add and multicast if new */
  bool through_host;    /**< GPUs of a node copy through host memory */
  bool gpu_direct;      /**< NICs read and write GPU memory */
  PathType nic_path;    /**< how far the first NIC is from the GPU nearest to it */
  GpuArchitecture architecture;
  guint n_nics;             /**< of a node */
  double local_Bps;         /**< what the best connected GPU sends to others of its node */
  double node_Bps;          /**< what all NICs of a node carry in one direction */
  double message_latency_s; /**< the transport's, per inter-node message [s] */
  TransportMessages messages;
  /** The phases of one collective, as built for this cluster (GArray of CollPhase). */
  const GArray *(*phases_of)(const CollOps *collective, void *data);
  /** What messages of about @p size_B bytes took of late, over what was predicted on the
   *  idle cluster; 1 where nothing was measured. NULL: nothing ever is. */
  double (*slowdown_of)(const CollOps *collective, double size_B, void *data);
  const Link *links;
  guint n_links;
  void *data; /**< for phases_of and slowdown_of */
} LibraryCall;

/** A key, or element @p index of the list that it is. */
typedef struct {
  const char *key; /**< NULL: none in particular */
  guint index;     /**< LIBRARY_NO_ELEMENT: the key itself */
} LibraryPlace;
#define LIBRARY_NO_ELEMENT G_MAXUINT

typedef struct {
  ModuleInfo info;

  /** Does @p params make sense? For what ParamSpec cannot say (rules). May be NULL.
   *  @param place  what is at fault if not */
  bool (*check)(const void *params, LibraryPlace *place, GError **error);

  /** Does @p key make a difference, the other parameters being what they are? @param
   * network is there anything between nodes at all? NULL: all do. */
  bool (*uses)(const void *params, const char *key, bool network);

  /** What it makes of the ways inside a node. May be NULL. */
  void (*rule_paths)(const void *params, PathRules *rules);

  /** Which collectives choose() may name, appended to @p collectives
   *  (GPtrArray of const CollOps); none if messages of some size have no collective that
   *  can do what the call wants. Required. */
  void (*candidates)(const void *params, const LibraryCall *call, GPtrArray *collectives);

  /** Decide for a message of @p size_B bytes. Pure. Required. */
  LibraryChoice (*choose)(const void *params, const LibraryCall *call, double size_B);

  /** Memory of a GPU that it holds [B]. @p call has what cluster.h says, nominal rates and
   *  neither phases nor links. NULL: none. */
  double (*buffers_B)(const void *params, const LibraryCall *call);
} LibraryOps;

extern const ModuleInfo *const library_table[];
extern const LibraryOps library_nccl;
extern const LibraryOps library_gloo;
extern const LibraryOps library_mpi;
extern const LibraryOps library_rules;
extern const LibraryOps library_adaptive;
