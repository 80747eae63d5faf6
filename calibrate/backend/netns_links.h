/**
 * @file netns_links.h
 * @brief Bridge, cables and shapers, laid by `ip` and `tc` inside the namespaces of holding
 *        processes.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct {
  double rate_Bps; /**< of each cable and way [B/s] */
  guint mtu_B;     /**< [B] */
  guint n;         /**< hosts */
} NetnsLinks;

/** A bridge without spanning tree in the namespace of @p bridge. */
bool netns_links_bridge(pid_t bridge, GError **error);

/** The cable of host number @p host: one end in the bridge, the other its eth0, both shaped
 *  on their way out, neither with segmentation offload. */
bool netns_links_cable(const NetnsLinks *links, pid_t bridge, pid_t holder, guint host,
                       GError **error);

/** Addresses, neighbours, congestion control of host number @p host. */
bool netns_links_host(const NetnsLinks *links, pid_t holder, guint host, GError **error);

/** Move the calling process to a namespace of @p pid: "net", "uts". */
bool netns_enter(pid_t pid, const char *kind, GError **error);
