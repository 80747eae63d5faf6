#include "models/transport/path.h"

#include <string.h>

bool path_uses(const PathParams *path, bool gpu_direct, const char *key)
{
  if (strcmp(key, "copy_rate") == 0)
    return !path->zero_copy;
  if (strcmp(key, "copy_latency") == 0 || strcmp(key, "host_memory") == 0)
    return !gpu_direct;
  return true;
}

double transport_copy_s(const TransportMessages *messages, double message_B)
{
  if (!(messages->near_Bps > 0) || message_B > (double)messages->small_B)
    return 0;
  if (message_B <= (double)messages->near_limit_B)
    return message_B / messages->near_Bps;
  return messages->slow_s + message_B / messages->slow_Bps;
}

double path_goodput(const PathParams *path, double goodput)
{
  return goodput * (1 - path->background);
}

double path_latency_s(const PathParams *path, double latency_s)
{
  return latency_s * (1 - path->offload_saves);
}

double path_rtt_s(const PathParams *path, double latency_s, const TransportLink *link)
{
  const guint n_cables = 2; /* from the sender to the switch, from it to the receiver */

  if (path->rtt_s > 0)
    return path->rtt_s;
  return 2 * (path_latency_s(path, latency_s) + link->network_latency_s +
              n_cables * path->fec_latency_s);
}

double path_host_memory_Bps(const PathParams *path)
{
  const guint n_crossings = path->zero_copy ? 2 : 4;
  return path->host_memory_Bps / n_crossings;
}
