/**
 * @file transport.h
 * @brief From a nominal NIC to what an application gets.
 */
#pragma once

#include "models/cluster.h"
#include "models/flow.h"

/** What a transport runs over. */
typedef struct {
  double nic_rate_Bps;      /**< nominal, of one NIC and direction [B/s] */
  double network_latency_s; /**< of the cables and one switch between two NICs [s] */
} TransportLink;

/** When many senders overflow the buffer before one receiver; see transport_incast_share().
 */
typedef struct {
  double window_B;  /**< what one sender has in flight [B] */
  double bdp_B;     /**< what the path itself holds: rate x round trip [B] */
  double buffer_B;  /**< of the switch port; INFINITY: nothing is ever lost there [B] */
  double timeout_s; /**< before a sender that lost its whole window goes on [s] */
} TransportIncast;

/** What the CPUs have to do for each message between GPUs, beyond its latency. All 0:
 *  nothing that counts. */
typedef struct {
  double gap_s;            /**< least time between two large messages of one GPU [s] */
  double large_Bps;        /**< what one large message moves at; 0: no limit [B/s] */
  guint64 small_B;         /**< messages up to here are small */
  guint64 near_limit_B;    /**< those are copied to the GPU: by the CPU up to here */
  double near_Bps;         /**< that fast; 0: nothing is copied [B/s] */
  double slow_s, slow_Bps; /**< and else so [s] [B/s] */
} TransportMessages;

/** What a CPU copies for a small message of @p message_B bytes [s]. */
double transport_copy_s(const TransportMessages *messages, double message_B);

typedef struct {
  double goodput;      /**< payload share of the line rate, 0..1 */
  double flow_cap_Bps; /**< limit of what one GPU sends to another through one NIC, over all
                            of its connections; INFINITY if none [B/s] */
  guint n_paths;       /**< connections that it is spread over, >= 1; hashed multipath gives
                            each a path of its own */
  double message_latency_s;   /**< added to every inter-node message [s] */
  double link_latency_s;      /**< added to every cable and link between switches [s] */
  double retransmission_rate; /**< share of the packets sent that had been sent before */
  bool gpu_direct;            /**< NICs read and write GPU memory */
  double host_memory_Bps; /**< else: bytes that may pass through the memory of one socket
                               on their way between GPUs and NICs [B/s] */
  TransportMessages messages;
  TransportIncast incast;
} TransportEffect;

struct TransportOps {
  ModuleInfo info;

  /** Do the parameters fit one another? For what ParamSpec cannot say. May be NULL. */
  bool (*check)(const void *params, GError **error);

  /** Does @p key make a difference, the other parameters being what they are? NULL: all
   *  do. */
  bool (*uses)(const void *params, const char *key);

  /** Pure. Required. */
  TransportEffect (*apply)(const void *params, const TransportLink *link);
};

extern const ModuleInfo *const transport_table[];
extern const TransportOps transport_tcp;
extern const TransportOps transport_rdma;
extern const TransportOps transport_cxi;

/** Where there is no network: takes nothing, limits nothing. */
TransportEffect transport_none(void);

/**
 * What @p n_senders that send to one receiver at once get of its link, as a share.
 *
 *     goodput = n D / (n D / B + R T),  R = 3.5 min(n, 10) timeouts T during n D bytes
 *
 * if n windows overflow the path and the switch's buffer, else 1.
 * Source: Y. Chen, R. Griffith, J. Liu, R. H. Katz, A. D. Joseph, "Understanding TCP incast
 * throughput collapse in datacenter networks", WREN 2009. They measured at 1 Gbit/s; as
 * many timeouts per byte on faster links are assumed.
 *
 * @param link_Bps  what the receiver's link carries, > 0 [B/s]
 */
double transport_incast_share(const TransportIncast *incast, guint n_senders,
                              double link_Bps);

/** Give the flows of @p set that meet at a receiver whose buffer overflows their part of
 *  what is left as their limit; flows of one receiver end together. */
void transport_limit_incast(const TransportIncast *incast, const Link *links, FlowSet *set);
