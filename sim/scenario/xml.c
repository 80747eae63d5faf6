#include "sim/scenario/xml.h"

#include <string.h>

/* Deeper trees and longer lists of attributes are no descriptions of hardware. */
#define MAX_DEPTH 64
#define MAX_ATTRIBUTES 64

typedef struct {
  const ImportFile *file;
  XmlElement *root, *open;
  guint depth;
} Building;

static void free_element(void *data)
{
  XmlElement *element = data;

  g_free(element->name);
  g_strfreev(element->keys);
  g_strfreev(element->values);
  g_ptr_array_unref(element->children);
  g_free(element);
}

void xml_free(XmlElement *root)
{
  if (root != NULL)
    free_element(root);
}

/* GLib counts a line break as the first character of the line after it. */
static guint line_of(const GMarkupParseContext *context)
{
  int line = 0, column = 0;

  g_markup_parse_context_get_position((GMarkupParseContext *)context, &line, &column);
  return (guint)line - (line > 1 && column == 1);
}

static bool check_attributes(const Building *building, guint line, const char **keys,
                             GError **error)
{
  for (guint i = 0; keys[i] != NULL; i++) {
    if (i == MAX_ATTRIBUTES)
      return import_blame(error, building->file, line, "more than %d attributes",
                          MAX_ATTRIBUTES);
    for (guint j = 0; j < i; j++)
      if (strcmp(keys[i], keys[j]) == 0)
        return import_blame(error, building->file, line, "attribute \"%s\" twice", keys[i]);
  }
  return true;
}

static void start_element(GMarkupParseContext *context, const char *name, const char **keys,
                          const char **values, gpointer data, GError **error)
{
  Building *building = data;
  const guint line = line_of(context);

  if (!check_attributes(building, line, keys, error))
    return;
  if (building->open == NULL && building->root != NULL) {
    import_blame(error, building->file, line, "a second root element <%s>", name);
    return;
  }
  if (++building->depth > MAX_DEPTH) {
    import_blame(error, building->file, line, "more than %d elements deep", MAX_DEPTH);
    return;
  }
  XmlElement *element = g_new0(XmlElement, 1);
  *element = (XmlElement){ .name = g_strdup(name),
                           .keys = g_strdupv((char **)keys),
                           .values = g_strdupv((char **)values),
                           .children = g_ptr_array_new_with_free_func(free_element),
                           .parent = building->open,
                           .line = line };
  if (building->open == NULL)
    building->root = element;
  else
    g_ptr_array_add(building->open->children, element);
  building->open = element;
}

static void end_element(GMarkupParseContext *context G_GNUC_UNUSED,
                        const char *name G_GNUC_UNUSED, gpointer data,
                        GError **error G_GNUC_UNUSED)
{
  Building *building = data;

  building->open = building->open->parent;
  building->depth--;
}

static void read_text(GMarkupParseContext *context, const char *text, gsize length,
                      gpointer data, GError **error)
{
  const Building *building = data;

  for (gsize i = 0; i < length; i++)
    if (!g_ascii_isspace(text[i])) {
      import_blame(error, building->file, line_of(context), "text between the tags");
      return;
    }
}

static const GMarkupParser parser = {
  .start_element = start_element,
  .end_element = end_element,
  .text = read_text,
};

/* GLib begins with "Error on line 3 char 7: "; we say the line our way. */
static void blame_syntax(GError **error, const ImportFile *file,
                         const GMarkupParseContext *context, const GError *cause)
{
  const char *message = cause->message;
  const char *colon = strstr(message, ": ");

  if (g_str_has_prefix(message, "Error on line ") && colon != NULL)
    message = colon + 2;
  import_blame(error, file, line_of(context), "%s", message);
}

XmlElement *xml_parse(const ImportFile *file, GError **error)
{
  Building building = { .file = file };
  g_autoptr(GError) cause = NULL;
  g_autoptr(GMarkupParseContext) context =
    g_markup_parse_context_new(&parser, (GMarkupParseFlags)0, &building, NULL);

  if (g_markup_parse_context_parse(context, file->text, (gssize)file->length, &cause) &&
      g_markup_parse_context_end_parse(context, &cause) && building.root != NULL)
    return building.root;
  if (cause == NULL)
    import_blame(error, file, 1, "no element");
  else if (cause->domain == SIM_ERROR)
    g_propagate_error(error, g_steal_pointer(&cause));
  else
    blame_syntax(error, file, context, cause);
  xml_free(building.root);
  return NULL;
}

XmlElement *xml_child(const XmlElement *element, guint index)
{
  return g_ptr_array_index(element->children, index);
}

bool xml_is(const XmlElement *element, const char *name)
{
  return strcmp(element->name, name) == 0;
}

const char *xml_get(const XmlElement *element, const char *key)
{
  for (guint i = 0; element->keys[i] != NULL; i++)
    if (strcmp(element->keys[i], key) == 0)
      return element->values[i];
  return NULL;
}

const char *xml_require(const ImportFile *file, const XmlElement *element, const char *key,
                        GError **error)
{
  const char *value = xml_get(element, key);

  if (value == NULL)
    import_blame(error, file, element->line, "<%s> has no \"%s\"", element->name, key);
  return value;
}

bool xml_require_count(const ImportFile *file, const XmlElement *element, const char *key,
                       guint max, guint *out, GError **error)
{
  const char *value = xml_require(file, element, key, error);
  guint64 number = 0;

  if (value == NULL)
    return false;
  if (!g_ascii_string_to_unsigned(value, 10, 0, max, &number, NULL))
    return import_blame(error, file, element->line,
                        "%s=\"%s\" of <%s> is not a whole number of at most %u", key, value,
                        element->name, max);
  *out = (guint)number;
  return true;
}
