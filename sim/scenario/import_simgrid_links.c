#include "sim/scenario/import_simgrid_links.h"

#include "sim/base/units.h"

#include <string.h>

/* Faster and slower links than anybody builds. */
#define MAX_RATE_BPS 1e15
#define MAX_LATENCY_S 1.0

static const char *const policy_names[] = { "SHARED", "SPLITDUPLEX", "FATPIPE", NULL };

bool platform_check_attributes(const Platform *self, const XmlElement *element,
                               const char *const *known, GError **error)
{
  for (guint i = 0; element->keys[i] != NULL; i++)
    if (!g_strv_contains(known, element->keys[i]))
      return import_blame(error, self->file, element->line,
                          "\"%s\" of <%s> cannot be represented", element->keys[i],
                          element->name);
  return true;
}

bool platform_read_rate(const Platform *self, const XmlElement *element, const char *key,
                        double *rate_Bps, GError **error)
{
  const char *text = xml_require(self->file, element, key, error);
  g_autoptr(GError) cause = NULL;

  if (text == NULL)
    return false;
  if (!units_parse_rate(text, rate_Bps, &cause))
    return import_blame(error, self->file, element->line, "%s: %s", key, cause->message);
  return (*rate_Bps > 0 && *rate_Bps <= MAX_RATE_BPS) ||
         import_blame(error, self->file, element->line, "%s: %s is no rate of a link", key,
                      text);
}

bool platform_read_latency(const Platform *self, const XmlElement *element, const char *key,
                           double *latency_s, GError **error)
{
  const char *text = xml_get(element, key);
  g_autoptr(GError) cause = NULL;

  *latency_s = 0; /* SimGrid's default */
  if (text == NULL)
    return true;
  if (!units_parse_seconds(text, latency_s, &cause))
    return import_blame(error, self->file, element->line, "%s: %s", key, cause->message);
  return (*latency_s >= 0 && *latency_s <= MAX_LATENCY_S) ||
         import_blame(error, self->file, element->line, "%s: %s is no latency of a link",
                      key, text);
}

bool platform_read_policy(const Platform *self, const XmlElement *element, const char *key,
                          Policy fallback, Policy *policy, GError **error)
{
  const char *text = xml_get(element, key);

  *policy = fallback;
  if (text == NULL)
    return true;
  for (guint i = 0; policy_names[i] != NULL; i++)
    if (strcmp(text, policy_names[i]) == 0) {
      *policy = (Policy)i;
      return true;
    }
  return import_blame(
    error, self->file, element->line,
    "%s=\"%s\" cannot be represented; SHARED, SPLITDUPLEX and FATPIPE can", key, text);
}

Wire platform_add_wire(Platform *self, double rate_Bps, double latency_s, Policy policy)
{
  Wire wire = { .policy = policy };

  wire.up = network_graph_add_link(self->graph, rate_Bps, latency_s, policy != FATPIPE);
  wire.down = policy != SPLITDUPLEX
                ? wire.up
                : network_graph_add_link(self->graph, rate_Bps, latency_s, true);
  return wire;
}
