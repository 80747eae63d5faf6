#include "sim/scenario/catalogue.h"

#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

/* Written by glib-compile-resources. */
extern GResource *catalogue_get_resource(void);
extern void catalogue_register_resource(void);

const char *const catalogue_kinds[] = { "gpu", "model", "network", "node", NULL };

static GResource *resource(void)
{
  if (catalogue_get_resource() == NULL)
    catalogue_register_resource();
  return catalogue_get_resource();
}

const char *catalogue_text(const char *kind, const char *name, gsize *length)
{
  g_autofree char *path = g_strdup_printf("/stepcast/%s/%s.json", kind, name);
  g_autoptr(GBytes) bytes =
    strchr(name, '/') != NULL
      ? NULL
      : g_resource_lookup_data(resource(), path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

  /* The bytes lie in the program itself and outlive the GBytes. */
  return bytes == NULL ? NULL : g_bytes_get_data(bytes, length);
}

static int compare(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

char **catalogue_names(const char *kind)
{
  g_autofree char *path = g_strconcat("/stepcast/", kind, NULL);
  char **names =
    g_resource_enumerate_children(resource(), path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

  if (names == NULL)
    return g_new0(char *, 1);
  for (char **name = names; *name != NULL; name++)
    if (g_str_has_suffix(*name, ".json"))
      (*name)[strlen(*name) - strlen(".json")] = '\0';
  qsort(names, g_strv_length(names), sizeof *names, compare);
  return names;
}
