/**
 * @file netns_cluster.h
 * @brief The namespaces, their bridge, cables and shapers.
 *
 * Each namespace lives in a process that does nothing and dies with its parent, and has no
 * name: whatever ends the program, the kernel takes the cluster down. Nothing of it is ever
 * in the namespace of the machine itself.
 */
#pragma once

#include "calibrate/backend/netns.h"

#include <sys/types.h>

/** tbf's bucket: what an idle cable lets pass at once, at least a frame. 16 kB leave the
 *  kernel's timer half a millisecond at 100 Mbit/s [B] */
#define NETNS_BURST_B 16000
/** tbf's queue: more than any test has in flight, so that nothing is lost [B] */
#define NETNS_QUEUE_B 4000000

/** Ranks go before what else runs on the machine: a step that waits for a CPU looks like a
 *  slow wire. */
#define NETNS_NICE (-20)

typedef struct NetnsCluster NetnsCluster;

/** @return NULL with SIM_ERROR_DEVICE if this machine or user cannot. Transfer: caller. */
NetnsCluster *netns_cluster_new(const NetnsParams *params, GError **error);
void netns_cluster_free(NetnsCluster *cluster);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NetnsCluster, netns_cluster_free)

guint netns_cluster_n(const NetnsCluster *cluster);

/** The process that holds the namespaces of host @p host. */
pid_t netns_cluster_pid(const NetnsCluster *cluster, guint host);

/** Move the calling process (a forked one) to host @p host, with its host name. */
bool netns_cluster_enter(const NetnsCluster *cluster, guint host, GError **error);

/** IPv4 address of a host, in host byte order: 198.18.0.10 and on, of the range that is
 *  set apart for benchmarks (RFC 2544). */
guint32 netns_address(guint host);
/** The same as text. Transfer: caller frees. */
char *netns_address_text(guint host);
