/**
 * @file transport.h
 * @brief From a nominal NIC to what an application gets.
 */
#pragma once

#include "models/cluster.h"

typedef struct {
  double goodput;           /**< payload share of the line rate, 0..1 */
  double flow_cap_Bps;      /**< limit of one connection; INFINITY if none [B/s] */
  double message_latency_s; /**< added to every inter-node message [s] */
  bool gpu_direct;          /**< NICs read and write GPU memory */
} TransportEffect;

struct TransportOps {
  ModuleInfo info;
  /** Pure. Required. */
  TransportEffect (*apply)(const void *params, double nic_rate_Bps);
};

extern const ModuleInfo *const transport_table[];
extern const TransportOps transport_tcp;
extern const TransportOps transport_rdma;
