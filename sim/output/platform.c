#include "sim/output/platform.h"

#include "sim/base/registry.h"
#include "sim/base/rng.h"
#include "sim/output/emit.h"

#include <math.h>

/* Where nothing limits one connection: beyond any link. */
#define UNLIMITED_BPS 1e18

/* What programs compute on a host is not ours to say. */
#define HOST "  <host id=\"gpu%u\" speed=\"1Gf\"/>\n"

static void write_link(const char *name, guint number, double capacity_Bps,
                       double latency_s, GString *out)
{
  g_string_append_printf(out, "  <link id=\"%s%u\" bandwidth=\"", name, number);
  emit_double(out, capacity_Bps);
  g_string_append(out, "Bps\" latency=\"");
  emit_double(out, latency_s);
  g_string_append(out, "s\" sharing_policy=\"SHARED\"/>\n");
}

/* The fixed cost of a message, and the limit of its connection. */
static void write_alpha(const char *name, double cap_Bps, double alpha_s, GString *out)
{
  g_string_append_printf(out, "  <link id=\"%s\" bandwidth=\"", name);
  emit_double(out, isfinite(cap_Bps) ? cap_Bps : UNLIMITED_BPS);
  g_string_append(out, "Bps\" latency=\"");
  emit_double(out, alpha_s);
  g_string_append(out, "s\" sharing_policy=\"FATPIPE\"/>\n");
}

/* The rail whose NICs are nearest to the sender. */
static guint rail_of(const Topology *topology, guint gpu)
{
  const guint local = gpu % topology_gpus_per_node(topology);

  for (guint nic = 0; nic < topology_nics_per_node(topology); nic++)
    if (topology_nic_gpu(topology, nic) == local)
      return nic;
  return (guint)((guint64)local * topology_nics_per_node(topology) /
                 topology_gpus_per_node(topology));
}

static void write_route(const Topology *topology, guint src, guint dst, GArray *links,
                        GString *out)
{
  const guint n_gpus = topology_gpus_per_node(topology);
  const guint rail = rail_of(topology, src);

  g_array_set_size(links, 0);
  topology_route(topology, src, dst, rail, rng_hash(src, dst, rail), links);
  g_string_append_printf(
    out, "  <route src=\"gpu%u\" dst=\"gpu%u\" symmetrical=\"NO\"><link_ctn id=\"%s\"/>",
    src, dst, src / n_gpus == dst / n_gpus ? "local" : "net");
  for (guint i = 0; i < links->len; i++) {
    const guint32 link = g_array_index(links, guint32, i);
    g_string_append_printf(out, "<link_ctn id=\"%s%u\"/>",
                           topology_tier_names[topology_links(topology)[link].tier], link);
  }
  g_string_append(out, "</route>\n");
}

bool platform_render(const Topology *topology, double alpha_local_s, double alpha_net_s,
                     GString *out, GError **error)
{
  const guint n = topology_n_gpus(topology);
  const Link *link = topology_links(topology);
  g_autoptr(GArray) route = g_array_new(FALSE, FALSE, sizeof(guint32));

  if (n > PLATFORM_MAX_GPUS) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%u GPUs have too many routes for a file; at most %u", n,
                PLATFORM_MAX_GPUS);
    return false;
  }
  g_string_append(out, "<?xml version='1.0'?>\n"
                       "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                       "<platform version=\"4.1\">\n"
                       "<zone id=\"cluster\" routing=\"Full\">\n");
  for (guint gpu = 0; gpu < n; gpu++)
    g_string_append_printf(out, HOST, gpu);
  for (guint i = 0; i < topology_n_links(topology); i++)
    write_link(topology_tier_names[link[i].tier], i, link[i].capacity_Bps,
               link[i].latency_s, out);
  write_alpha("local", INFINITY, alpha_local_s, out);
  write_alpha("net", topology_flow_cap_Bps(topology), alpha_net_s, out);
  for (guint src = 0; src < n; src++)
    for (guint dst = 0; dst < n; dst++)
      if (src != dst)
        write_route(topology, src, dst, route, out);
  g_string_append(out, "</zone>\n</platform>\n");
  return true;
}
