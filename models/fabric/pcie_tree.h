/**
 * @file pcie_tree.h
 * @brief The PCIe side of a node, which every fabric has: how GPUs reach the NICs.
 *
 *     socket 0 ======== socket 1        HOST, one link each way per pair of sockets
 *      |    |            |    |           PCIE, one each way
 *     sw   sw           sw   sw
 *     |||  |||          |||  |||          PCIE, one each way
 *     GGN  GGN          GGN  GGN
 *
 * GPUs hang on the switches in order, switches on the sockets in order, and NICs are
 * spread evenly over the switches, or hang on a socket's root ports. Latencies are 0: the
 * hop latencies of the communication libraries, measured between kernels, contain them.
 */
#pragma once

#include "models/fabric.h"

/** The keys a fabric shares with the others; a member of its params struct. */
typedef struct {
  double pcie_rate_Bps;
  guint gpus_per_switch;
  guint sockets;
  double socket_rate_Bps;
  double host_rate_Bps;
  guint nic_path; /* NicPath */
} PcieParams;

/** Where a NIC hangs, seen from the GPUs of its part of the tree. */
typedef enum { NIC_ON_SWITCH, NIC_ON_SOCKET, NIC_ON_NEXT_SOCKET } NicPath;

/** "pix", "phb", "sys", as NCCL calls the path. */
extern const char *const pcie_nic_path_names[];

/** The rows of PcieParams for a params struct @p params_type with such a member @p pcie. */
// clang-format off
#define PCIE_PARAMS(params_type, pcie)                                                       \
  { .key = "pcie_rate", .type = PARAM_RATE,                                                  \
    .offset = offsetof(params_type, pcie.pcie_rate_Bps), .min = 1e6, .max = 1e15,            \
    .help = "what one PCIe port carries in each direction" },                                \
  { .key = "gpus_per_switch", .type = PARAM_COUNT,                                           \
    .offset = offsetof(params_type, pcie.gpus_per_switch), .fallback = "1", .min = 1, .max = 1024, \
    .help = "GPUs behind one PCIe switch or root port",                                      \
    .origin = "assumed: every GPU has a port of its own" },                                  \
  { .key = "sockets", .type = PARAM_COUNT, .offset = offsetof(params_type, pcie.sockets),    \
    .fallback = "1", .min = 1, .max = 16,                                                    \
    .help = "CPU sockets that the PCIe switches are spread over",                            \
    .origin = "assumed: one socket" },                                                       \
  { .key = "socket_rate", .type = PARAM_RATE,                                                \
    .offset = offsetof(params_type, pcie.socket_rate_Bps), .fallback = "10 GB/s", .min = 1e6, \
    .max = 1e15, .help = "what crosses from one CPU socket to another, in each direction",   \
    .origin = "nccl 2.30.7 graph/topo.h, two Skylake sockets" },                             \
  { .key = "host_rate", .type = PARAM_RATE,                                                  \
    .offset = offsetof(params_type, pcie.host_rate_Bps), .fallback = "7.8 GB/s", .min = 1e6, \
    .max = 1e15,                                                                             \
    .help = "what GPUs copy through one socket's memory together; without peer access",      \
    .origin = "2 x 3.9 GB/s: all-reduce bus bandwidth of 2 A40 without peer access" },       \
  { .key = "nic_path", .type = PARAM_NAME, .offset = offsetof(params_type, pcie.nic_path),   \
    .names = pcie_nic_path_names, .fallback = "pix",                                         \
    .help = "NICs hang on the GPUs' switches, on the same sockets or on the next ones",      \
    .origin = "assumed: as near as can be" }
// clang-format on

typedef struct PcieTree PcieTree;

/** FabricOps.uses() of fabrics whose GPUs have peer access. */
bool pcie_uses_with_p2p(const void *params, const char *key);

/** False with SIM_ERROR_VALUE if the parameters do not fit one another. */
bool pcie_params_check(const PcieParams *params, GError **error);

/**
 * Draw the links of the tree into @p graph and say which GPU is nearest to which NIC.
 * @param through_host  GPUs have no peer access: draw the memory they copy through
 * Transfer: caller frees with pcie_tree_free().
 */
PcieTree *pcie_tree_new(const PcieParams *params, NodeGraph *graph, bool through_host);
void pcie_tree_free(PcieTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PcieTree, pcie_tree_free)

/** Do switches hold several GPUs and several NICs? */
bool pcie_tree_switches_have_nics(const PcieTree *tree);

/** Append the links of the way from @p src_gpu to @p dst_gpu to @p path: the shortest, or
 *  by way of host memory. */
void pcie_tree_route(const PcieTree *tree, guint src_gpu, guint dst_gpu, GArray *path);

/** Lay these ways between all GPUs. */
void pcie_tree_set_gpu_routes(const PcieTree *tree, NodeGraph *graph);

/** Lay the ways between host memory and every GPU and NIC: their own port, and that of
 *  their switch where there is one above. */
void pcie_tree_set_host_ways(const PcieTree *tree, NodeGraph *graph);

/**
 * Lay all routes between GPUs and NICs, after those between GPUs. A GPU away from the NIC
 * that has an NVLink route to the GPU nearest to it hands its data over there (NCCL's PXN,
 * on by default since 2.12), so that neither the root ports nor the ports of other GPUs
 * carry it. Where the NIC is further away than it may reach GPU memory from, data goes up
 * into the memory of the GPU's socket and down again to the NIC, so that a switch that both
 * hang on carries it twice.
 */
void pcie_tree_set_nic_routes(const PcieTree *tree, NodeGraph *graph);
