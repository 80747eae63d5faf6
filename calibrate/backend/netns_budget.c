/** @file netns_budget.c  @brief What the cables of the namespaces carry, and the CPUs. */
#include "calibrate/backend/netns.h"

#define ETHERNET_B 14.0     /* header of a frame, as tbf counts it */
#define TCP_IP_B 52.0       /* IPv4 20, TCP 20, its timestamps 12 */
#define CORES_OF_BUDGET 2.0 /* see NETNS_PACKETS_PER_S */

double netns_packets_per_s(const NetnsParams *params)
{
  return params->n * params->rate_Bps / (double)params->mtu_B;
}

double netns_goodput_Bps(const NetnsParams *params)
{
  const double mtu_B = (double)params->mtu_B;
  return params->rate_Bps * (mtu_B - TCP_IP_B) / (mtu_B + ETHERNET_B);
}

bool netns_check_budget(const NetnsParams *params, guint n_cores, GError **error)
{
  const double most = NETNS_PACKETS_PER_S * n_cores / CORES_OF_BUDGET;
  const double wanted = netns_packets_per_s(params);

  if (params->force || wanted <= most)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
              "calibrate host: --netns %u --rate %.0fmbit --mtu %" G_GUINT64_FORMAT
              " makes %.0f packets/s; %u core%s carry %.0f: at most --rate %.0fkbit here, "
              "or --force",
              params->n, 8e-6 * params->rate_Bps, params->mtu_B, wanted, n_cores,
              n_cores == 1 ? "" : "s", most,
              8e-3 * most * (double)params->mtu_B / params->n);
  return false;
}

char *netns_place(const NetnsParams *params)
{
  return g_strdup_printf("netns %.4gmbit mtu %" G_GUINT64_FORMAT, 8e-6 * params->rate_Bps,
                         params->mtu_B);
}
