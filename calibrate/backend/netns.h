/**
 * @file netns.h
 * @brief A really measured cluster without a second machine: hosts in network namespaces,
 *        joined by a bridge, whose links are shaped to a rate.
 *
 * What takes time there is the wire: shapers (tbf) on both ends of every cable. The hosts'
 * CPUs are shared, so the packets per second must stay within what they carry.
 */
#pragma once

#include "calibrate/backend.h"

#define NETNS_MAX_HOSTS 64

typedef struct {
  guint n;           /**< hosts, 2..NETNS_MAX_HOSTS */
  double rate_Bps;   /**< of every cable, each way [B/s] */
  guint64 mtu_B;     /**< [B] */
  guint64 largest_B; /**< message of the largest cell [B] */
  bool mpi;          /**< Open MPI's all-reduces too */
  char *mpi_program; /**< path of stepcast-mpi; NULL: looked for beside the program */
  bool force;        /**< more packets than the CPUs carry */
  bool quick;        /**< 64 KiB, 256 KiB, ... only */
} NetnsParams;

extern const BackendOps backend_netns;

/**
 * Packets that two cores carry at most while times stay within 3 % of the wire's. Measured
 * on 2 cores of an AMD EPYC, Linux 6.18: rings of 8 at 2 to 66 thousand packets/s; 11
 * thousand took 1.01 to 1.03 times their closed form, 33 thousand 1.08 to 1.10 [1/s]
 */
#define NETNS_PACKETS_PER_S 12000.0

/** Packets per second when all cables are full: n rate / mtu. */
double netns_packets_per_s(const NetnsParams *params);

/** Do @p n_cores carry that? False with SIM_ERROR_USAGE that says what would fit, unless
 *  @p params->force. */
bool netns_check_budget(const NetnsParams *params, guint n_cores, GError **error);

/** Payload bytes that a cable carries per second: a full frame is mtu + 14 bytes to the
 *  shaper, of which IP and TCP with timestamps take 52. */
double netns_goodput_Bps(const NetnsParams *params);

/** "netns 100mbit mtu 9000": the place of its samples. Transfer: caller frees. */
char *netns_place(const NetnsParams *params);
