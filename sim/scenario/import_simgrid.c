/**
 * @file import_simgrid.c
 * @brief A platform of SimGrid: one flat cluster, or one zone of hosts, links and routes.
 *
 * Hosts become the NICs of the cluster, in the order of the file; what they compute is not
 * read. In a zone "Full" only the routes of the file lead anywhere; in "Floyd" and
 * "Dijkstra" paths of least links go over hosts and routers. A SHARED link is one for both
 * directions, a SPLITDUPLEX one for each, and FATPIPE gives every flow its whole rate.
 *
 * Source: SimGrid 3.32, docs/source/Platform.rst, src/kernel/xml, src/kernel/routing.
 */
#include "sim/scenario/import_simgrid_links.h"

#include <string.h>

static void platform_clear(Platform *self)
{
  network_graph_unref(self->graph);
  g_hash_table_unref(self->vertices);
  g_hash_table_unref(self->wires);
  g_hash_table_unref(self->edges);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Platform, platform_clear)

/* ---- zones ------------------------------------------------------------------------- */

static bool add_vertex(Platform *self, const XmlElement *element, GError **error)
{
  const char *id = xml_require(self->file, element, "id", error);

  if (id == NULL)
    return false;
  const guint vertex = network_graph_add_vertex(self->graph, self->forwards);
  if (!g_hash_table_insert(self->vertices, g_strdup(id), GUINT_TO_POINTER(vertex + 1)))
    return import_blame(error, self->file, element->line, "a second \"%s\"", id);
  if (xml_is(element, "host"))
    network_graph_add_port(self->graph, vertex, 0);
  return true;
}

static bool add_link(Platform *self, const XmlElement *element, GError **error)
{
  static const char *const known[] = { "id", "bandwidth", "latency", "sharing_policy",
                                       NULL };
  const char *id = xml_require(self->file, element, "id", error);
  double rate_Bps = 0, latency_s = 0;
  Policy policy = SHARED;

  if (id == NULL || !platform_check_attributes(self, element, known, error) ||
      !platform_read_rate(self, element, "bandwidth", &rate_Bps, error) ||
      !platform_read_latency(self, element, "latency", &latency_s, error) ||
      !platform_read_policy(self, element, "sharing_policy", SHARED, &policy, error))
    return false;
  const Wire wire = platform_add_wire(self, rate_Bps, latency_s, policy);
  if (!g_hash_table_insert(self->wires, g_strdup(id), g_memdup2(&wire, sizeof wire)))
    return import_blame(error, self->file, element->line, "a second link \"%s\"", id);
  return true;
}

static bool find_end(const Platform *self, const XmlElement *route, const char *key,
                     guint *vertex, GError **error)
{
  const char *id = xml_require(self->file, route, key, error);
  const guint found =
    id == NULL ? 0 : GPOINTER_TO_UINT(g_hash_table_lookup(self->vertices, id));

  if (id != NULL && found == 0)
    return import_blame(error, self->file, route->line,
                        "%s=\"%s\" does not exist: no host or router has that id", key, id);
  *vertex = found - 1;
  return id != NULL;
}

/* Append the links of @p element, a link_ctn, to the ways there and back. */
static bool add_step(const Platform *self, const XmlElement *element, GArray *there,
                     GArray *back, GError **error)
{
  const char *direction = xml_get(element, "direction");
  const char *id = NULL;

  if (!xml_is(element, "link_ctn"))
    return import_blame(error, self->file, element->line, "<%s> is not known in a <route>",
                        element->name);
  id = xml_require(self->file, element, "id", error);
  if (id == NULL)
    return false;
  const Wire *wire = g_hash_table_lookup(self->wires, id);
  if (wire == NULL)
    return import_blame(error, self->file, element->line, "link \"%s\" does not exist", id);
  const bool up = g_strcmp0(direction, "UP") == 0, down = g_strcmp0(direction, "DOWN") == 0;
  if (direction != NULL && !up && !down && strcmp(direction, "NONE") != 0)
    return import_blame(error, self->file, element->line,
                        "direction=\"%s\" is neither UP, DOWN nor NONE", direction);
  if ((wire->policy == SPLITDUPLEX) != (up || down))
    return import_blame(error, self->file, element->line,
                        wire->policy == SPLITDUPLEX
                          ? "link \"%s\" is SPLITDUPLEX: it needs direction UP or DOWN"
                          : "link \"%s\" has no direction: only SPLITDUPLEX has",
                        id);
  g_array_append_val(there, *(up ? &wire->up : &wire->down));
  g_array_prepend_val(back, *(up ? &wire->down : &wire->up));
  return true;
}

static bool add_edge(Platform *self, const XmlElement *route, guint src, guint dst,
                     const GArray *links, GError **error)
{
  if (!g_hash_table_add(self->edges, g_strdup_printf("%u %u", src, dst)))
    return import_blame(error, self->file, route->line,
                        "a second route from \"%s\" to \"%s\", or back",
                        xml_get(route, "src"), xml_get(route, "dst"));
  network_graph_add_edge(self->graph, src, dst, &g_array_index(links, guint, 0),
                         links->len);
  return true;
}

static bool add_route(Platform *self, const XmlElement *route, GError **error)
{
  static const char *const known[] = { "src", "dst", "symmetrical", NULL };
  const char *symmetrical = xml_get(route, "symmetrical");
  g_autoptr(GArray) there = g_array_new(FALSE, FALSE, sizeof(guint));
  g_autoptr(GArray) back = g_array_new(FALSE, FALSE, sizeof(guint));
  guint src = 0, dst = 0;

  if (!platform_check_attributes(self, route, known, error) ||
      !find_end(self, route, "src", &src, error) ||
      !find_end(self, route, "dst", &dst, error))
    return false;
  if (symmetrical != NULL && g_ascii_strcasecmp(symmetrical, "YES") != 0 &&
      g_ascii_strcasecmp(symmetrical, "NO") != 0)
    return import_blame(error, self->file, route->line,
                        "symmetrical=\"%s\" is neither YES nor NO", symmetrical);
  for (guint i = 0; i < route->children->len; i++)
    if (!add_step(self, xml_child(route, i), there, back, error))
      return false;
  if (there->len == 0)
    return import_blame(error, self->file, route->line, "a route without links");
  if (src == dst)
    return true; /* within the host: no part of the network */
  const bool both = symmetrical == NULL || g_ascii_strcasecmp(symmetrical, "YES") == 0;
  return add_edge(self, route, src, dst, there, error) &&
         (!both || add_edge(self, route, dst, src, back, error));
}

static bool is_one_of(const XmlElement *element, const char *const *names)
{
  return g_strv_contains(names, element->name);
}

/* Hosts, routers and links first: a route may stand before them. */
static bool add_zone(Platform *self, const XmlElement *zone, GError **error)
{
  static const char *const vertices[] = { "host", "router", NULL };
  static const char *const silent[] = { "prop", "route", NULL };

  for (guint i = 0; i < zone->children->len; i++) {
    const XmlElement *child = xml_child(zone, i);
    if (is_one_of(child, vertices)) {
      if (!add_vertex(self, child, error))
        return false;
    } else if (xml_is(child, "link")) {
      if (!add_link(self, child, error))
        return false;
    } else if (!is_one_of(child, silent)) {
      return import_blame(error, self->file, child->line,
                          "<%s> in a zone cannot be represented", child->name);
    }
  }
  for (guint i = 0; i < zone->children->len; i++)
    if (xml_is(xml_child(zone, i), "route") && !add_route(self, xml_child(zone, i), error))
      return false;
  return true;
}

/* ---- platform ---------------------------------------------------------------------- */

/* The one zone or cluster of @p element; zones around it are unwrapped. */
static const XmlElement *find_zone(const ImportFile *file, const XmlElement *element,
                                   GError **error)
{
  static const char *const zones[] = { "zone", "cluster", NULL };
  static const char *const silent[] = { "prop", "config", NULL };
  const XmlElement *found = NULL;
  guint n_others = 0;

  for (guint i = 0; i < element->children->len; i++) {
    const XmlElement *child = xml_child(element, i);
    if (is_one_of(child, zones) && found != NULL) {
      import_blame(error, file, child->line,
                   "a second zone or cluster: only one can be represented");
      return NULL;
    }
    if (is_one_of(child, zones))
      found = child;
    else
      n_others += !is_one_of(child, silent);
  }
  if (found == NULL && xml_is(element, "zone"))
    return element;
  if (found == NULL || n_others > 0) {
    import_blame(error, file, element->line,
                 found == NULL ? "no <zone> and no <cluster>"
                               : "a zone inside a zone of hosts and links "
                                 "cannot be represented");
    return NULL;
  }
  return xml_is(found, "cluster") ? found : find_zone(file, found, error);
}

static bool read_routing(Platform *self, const XmlElement *zone, GError **error)
{
  static const char *const shortest[] = { "Floyd", "Dijkstra", "DijkstraCache", NULL };
  const char *routing = xml_require(self->file, zone, "routing", error);

  if (routing == NULL)
    return false;
  self->forwards = g_strv_contains(shortest, routing);
  return self->forwards || strcmp(routing, "Full") == 0 ||
         import_blame(error, self->file, zone->line,
                      "routing=\"%s\" cannot be represented; Full, Floyd and Dijkstra can",
                      routing);
}

static bool check_root(const ImportFile *file, const XmlElement *root, GError **error)
{
  const char *version = xml_get(root, "version");

  if (!xml_is(root, "platform"))
    return import_blame(error, file, root->line,
                        "begins with <%s>: a platform of SimGrid begins with <platform>",
                        root->name);
  return (version != NULL && (strcmp(version, "4") == 0 || strcmp(version, "4.1") == 0)) ||
         import_blame(error, file, root->line,
                      "version %s of the format is not known, only 4 and 4.1 are",
                      version == NULL ? "none" : version);
}

static bool read_platform(Platform *self, const XmlElement *root, GError **error)
{
  g_autoptr(GError) cause = NULL;

  if (!check_root(self->file, root, error))
    return false;
  const XmlElement *zone = find_zone(self->file, root, error);
  if (zone == NULL)
    return false;
  if (xml_is(zone, "cluster")
        ? !platform_add_cluster(self, zone, error)
        : !read_routing(self, zone, error) || !add_zone(self, zone, error))
    return false;
  if (!network_graph_seal(self->graph, &cause))
    return import_blame(error, self->file, zone->line, "%s", cause->message);
  return true;
}

NetworkGraph *import_simgrid_network(const ImportFile *file, GError **error)
{
  g_autoptr(XmlElement) root = xml_parse(file, error);
  g_auto(Platform) self = {
    .file = file,
    .graph = network_graph_new(),
    .vertices = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
    .wires = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
    .edges = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
  };

  return root != NULL && read_platform(&self, root, error) ? g_steal_pointer(&self.graph)
                                                           : NULL;
}
