#include "sim/scenario/import_simgrid_links.h"

#include <string.h>

/* More than the largest clusters have; each takes some hundred bytes. */
#define MAX_HOSTS (1u << 18)

/* "0-3,7" */
static bool count_radical(const Platform *self, const XmlElement *element, guint *n_hosts,
                          GError **error)
{
  const char *text = xml_require(self->file, element, "radical", error);

  if (text == NULL)
    return false;
  g_auto(GStrv) ranges = g_strsplit(text, ",", -1);
  guint64 n = 0;
  for (guint i = 0; ranges[i] != NULL; i++) {
    g_auto(GStrv) ends = g_strsplit(ranges[i], "-", -1);
    const guint n_ends = g_strv_length(ends);
    guint64 first = 0, last = 0;
    if (n_ends < 1 || n_ends > 2 ||
        !g_ascii_string_to_unsigned(ends[0], 10, 0, MAX_HOSTS, &first, NULL) ||
        !g_ascii_string_to_unsigned(ends[n_ends - 1], 10, first, MAX_HOSTS, &last, NULL))
      return import_blame(error, self->file, element->line,
                          "radical=\"%s\" is no list of ranges such as \"0-3,7\"", text);
    n += last - first + 1;
  }
  if (n > MAX_HOSTS)
    return import_blame(error, self->file, element->line, "more than %u hosts in a cluster",
                        MAX_HOSTS);
  *n_hosts = (guint)n;
  return true;
}

/* What all hosts of a cluster share, and what each has. */
typedef struct {
  guint n_hosts;
  double rate_Bps, latency_s;
  Policy policy;
  bool has_backbone, has_limiter;
  double backbone_Bps, backbone_s, limiter_Bps;
  Policy backbone_policy;
} Cluster;

static bool read_cluster(const Platform *self, const XmlElement *element, Cluster *cluster,
                         GError **error)
{
  static const char *const known[] = { "id",           "prefix",      "suffix",
                                       "radical",      "speed",       "core",
                                       "bw",           "lat",         "sharing_policy",
                                       "bb_bw",        "bb_lat",      "bb_sharing_policy",
                                       "limiter_link", "loopback_bw", "loopback_lat",
                                       "router_id",    "topology",    NULL };
  const char *topology = xml_get(element, "topology");

  if (topology != NULL && strcmp(topology, "FLAT") != 0)
    return import_blame(error, self->file, element->line,
                        "topology=\"%s\" is not read: say \"topology\": \"fat_tree\", "
                        "\"torus\" or \"dragonfly\" in the scenario",
                        topology);
  cluster->has_backbone = xml_get(element, "bb_bw") != NULL;
  cluster->has_limiter = xml_get(element, "limiter_link") != NULL;
  return platform_check_attributes(self, element, known, error) &&
         count_radical(self, element, &cluster->n_hosts, error) &&
         platform_read_rate(self, element, "bw", &cluster->rate_Bps, error) &&
         platform_read_latency(self, element, "lat", &cluster->latency_s, error) &&
         platform_read_policy(self, element, "sharing_policy", SPLITDUPLEX,
                              &cluster->policy, error) &&
         (!cluster->has_limiter || platform_read_rate(self, element, "limiter_link",
                                                      &cluster->limiter_Bps, error)) &&
         (!cluster->has_backbone ||
          (platform_read_rate(self, element, "bb_bw", &cluster->backbone_Bps, error) &&
           platform_read_latency(self, element, "bb_lat", &cluster->backbone_s, error) &&
           platform_read_policy(self, element, "bb_sharing_policy", SHARED,
                                &cluster->backbone_policy, error)));
}

/* A star: every host over its link, and the backbone on the way, to the hub and back. */
bool platform_add_cluster(Platform *self, const XmlElement *element, GError **error)
{
  Cluster cluster = { 0 };
  Wire backbone = { 0 };

  if (!read_cluster(self, element, &cluster, error))
    return false;
  const guint hub = network_graph_add_vertex(self->graph, true);
  if (cluster.has_backbone)
    backbone = platform_add_wire(self, cluster.backbone_Bps, cluster.backbone_s,
                                 cluster.backbone_policy);
  for (guint i = 0; i < cluster.n_hosts; i++) {
    const guint host = network_graph_add_vertex(self->graph, false);
    const Wire wire =
      platform_add_wire(self, cluster.rate_Bps, cluster.latency_s, cluster.policy);
    guint out[3], in[2], n_out = 0, n_in = 0;
    if (cluster.has_limiter)
      out[n_out++] = in[n_in++] =
        platform_add_wire(self, cluster.limiter_Bps, 0, SHARED).up;
    out[n_out++] = wire.up;
    in[n_in++] = wire.down;
    if (cluster.has_backbone)
      out[n_out++] = backbone.up;
    network_graph_add_edge(self->graph, host, hub, out, n_out);
    network_graph_add_edge(self->graph, hub, host, in, n_in);
    network_graph_add_port(self->graph, host,
                           cluster.policy == SPLITDUPLEX ? cluster.rate_Bps : 0);
  }
  return true;
}
