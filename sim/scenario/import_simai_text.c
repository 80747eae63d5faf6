#include "sim/scenario/import_simai_text.h"

#include "sim/base/units.h"

#include <math.h>
#include <string.h>

/* Faster and slower links than anybody builds. */
#define MAX_RATE_BPS 1e15
#define MAX_LATENCY_S 1.0

void simai_clear(Simai *self)
{
  g_free(self->kinds);
  if (self->cables != NULL)
    g_array_unref(self->cables);
}

/* ---- reading ----------------------------------------------------------------------- */

/* The words of a line; @p text is moved behind it. */
static char **next_words(const char **text)
{
  const char *end = strchr(*text, '\n');
  const gsize length = end == NULL ? strlen(*text) : (gsize)(end - *text);
  g_autofree char *line = g_strndup(*text, length);
  g_auto(GStrv) parts = g_strsplit_set(line, " \t\r", -1);
  GPtrArray *words = g_ptr_array_new();

  for (guint i = 0; parts[i] != NULL; i++)
    if (*parts[i] != '\0')
      g_ptr_array_add(words, g_strdup(parts[i]));
  g_ptr_array_add(words, NULL);
  *text += length + (end != NULL);
  return (char **)g_ptr_array_free(words, FALSE);
}

static bool parse_count(const Simai *self, guint line, const char *word, const char *what,
                        guint *out, GError **error)
{
  guint64 number = 0;

  if (!g_ascii_string_to_unsigned(word, 10, 0, G_MAXINT32, &number, NULL))
    return import_blame(error, self->file, line, "\"%s\" is not %s", word, what);
  *out = (guint)number;
  return true;
}

static bool parse_header(Simai *self, const char *const *words, GError **error)
{
  static const char layout[] =
    "expected \"nodes gpus_per_server nvswitches switches links GPU_TYPE\"";
  guint *const fields[] = { &self->n_vertices, &self->gpus_per_node, &self->n_nvswitches,
                            &self->n_switches, &self->n_links };

  if (g_strv_length((char **)words) != G_N_ELEMENTS(fields) + 1)
    return import_blame(error, self->file, 1, "%s", layout);
  for (guint i = 0; i < G_N_ELEMENTS(fields); i++)
    if (!parse_count(self, 1, words[i], "a number", fields[i], error))
      return false;
  /* Every vertex has a line of its own or shares one: a longer list was cut off. */
  if (self->n_vertices > self->file->length || self->n_links > self->file->length)
    return import_blame(error, self->file, 1,
                        "the file is too short for %u nodes and %u "
                        "links",
                        self->n_vertices, self->n_links);
  const guint64 n_switches = (guint64)self->n_nvswitches + self->n_switches;
  if (n_switches >= self->n_vertices)
    return import_blame(error, self->file, 1,
                        "%u nodes leave no GPU beside %" G_GUINT64_FORMAT " switches",
                        self->n_vertices, n_switches);
  self->n_gpus = self->n_vertices - (guint)n_switches;
  if (self->gpus_per_node == 0 || self->n_gpus % self->gpus_per_node != 0)
    return import_blame(error, self->file, 1, "%u GPUs do not fill servers of %u",
                        self->n_gpus, self->gpus_per_node);
  return true;
}

static bool parse_switches(Simai *self, const char *const *words, GError **error)
{
  const guint n = self->n_nvswitches + self->n_switches;

  if (g_strv_length((char **)words) != n)
    return import_blame(error, self->file, 2, "%u switches are listed, line 1 says %u",
                        g_strv_length((char **)words), n);
  self->kinds = g_new0(guint8, self->n_vertices);
  for (guint i = 0; i < n; i++) {
    guint vertex = 0;
    if (!parse_count(self, 2, words[i], "the number of a switch", &vertex, error))
      return false;
    if (vertex < self->n_gpus || vertex >= self->n_vertices)
      return import_blame(error, self->file, 2,
                          "switch %u does not exist: switches are %u to %u, GPUs below",
                          vertex, self->n_gpus, self->n_vertices - 1);
    if (self->kinds[vertex] != KIND_GPU)
      return import_blame(error, self->file, 2, "switch %u twice", vertex);
    self->kinds[vertex] = i < self->n_nvswitches ? KIND_NVSWITCH : KIND_SWITCH;
  }
  return true;
}

static bool parse_ends(const Simai *self, const char *const *words, Cable *cable,
                       GError **error)
{
  for (guint i = 0; i < 2; i++) {
    if (!parse_count(self, cable->line, words[i], "the number of a GPU or switch",
                     &cable->ends[i], error))
      return false;
    if (cable->ends[i] >= self->n_vertices)
      return import_blame(error, self->file, cable->line,
                          "%u does not exist: the file has 0 to %u", cable->ends[i],
                          self->n_vertices - 1);
  }
  return cable->ends[0] != cable->ends[1] ||
         import_blame(error, self->file, cable->line, "%u is linked to itself",
                      cable->ends[0]);
}

static bool parse_cable(Simai *self, guint line, const char *const *words, GError **error)
{
  Cable cable = { .line = line };
  double error_rate = -1;
  g_autoptr(GError) cause = NULL;

  if (g_strv_length((char **)words) != 5)
    return import_blame(error, self->file, line,
                        "expected \"src dst rate latency error_rate\"");
  if (!parse_ends(self, words, &cable, error))
    return false;
  if (!units_parse_rate(words[2], &cable.rate_Bps, &cause) ||
      !units_parse_seconds(words[3], &cable.latency_s, &cause) ||
      !units_parse_number(words[4], &error_rate, &cause))
    return import_blame(error, self->file, line, "%s", cause->message);
  if (cable.rate_Bps <= 0 || cable.rate_Bps > MAX_RATE_BPS)
    return import_blame(error, self->file, line, "%s is no rate of a link", words[2]);
  if (cable.latency_s < 0 || cable.latency_s > MAX_LATENCY_S)
    return import_blame(error, self->file, line, "%s is no latency of a link", words[3]);
  if (fpclassify(error_rate) != FP_ZERO)
    return import_blame(error, self->file, line,
                        "an error rate of %s cannot be represented; only 0 can", words[4]);
  g_array_append_val(self->cables, cable);
  return true;
}

static bool parse_cables(Simai *self, const char *text, GError **error)
{
  for (guint line = 3; *text != '\0'; line++) {
    g_auto(GStrv) words = next_words(&text);
    if (*words == NULL)
      continue;
    if (self->cables->len == self->n_links)
      return import_blame(error, self->file, line, "line 1 says %u links; here is one more",
                          self->n_links);
    if (!parse_cable(self, line, (const char *const *)words, error))
      return false;
  }
  return self->cables->len == self->n_links ||
         import_blame(error, self->file, 0, "line 1 says %u links; the file has %u",
                      self->n_links, self->cables->len);
}

/* ---- sense ------------------------------------------------------------------------- */

const Cable *simai_cable_at(const Simai *self, guint index)
{
  return &g_array_index(self->cables, Cable, index);
}

/* The vertex of @p kind at one end of @p cable, or G_MAXUINT. */
guint simai_end_of(const Simai *self, const Cable *cable, Kind kind)
{
  for (guint i = 0; i < 2; i++)
    if (self->kinds[cable->ends[i]] == kind)
      return cable->ends[i];
  return G_MAXUINT;
}

bool simai_is_nvlink(const Simai *self, const Cable *cable)
{
  return simai_end_of(self, cable, KIND_NVSWITCH) != G_MAXUINT;
}

static bool check_cables(const Simai *self, GError **error)
{
  g_autofree guint *node_of = g_new(guint, self->n_vertices); /* of NVSwitches */

  memset(node_of, 0xff, self->n_vertices * sizeof *node_of);
  for (guint i = 0; i < self->cables->len; i++) {
    const Cable *cable = simai_cable_at(self, i);
    const guint nvswitch = simai_end_of(self, cable, KIND_NVSWITCH),
                gpu = simai_end_of(self, cable, KIND_GPU);
    if (nvswitch == G_MAXUINT && self->kinds[cable->ends[0]] == KIND_GPU &&
        self->kinds[cable->ends[1]] == KIND_GPU)
      return import_blame(error, self->file, cable->line,
                          "GPUs linked to one another cannot be represented");
    if (nvswitch == G_MAXUINT)
      continue;
    if (gpu == G_MAXUINT)
      return import_blame(error, self->file, cable->line,
                          "an NVSwitch linked to a switch cannot be represented");
    const guint node = gpu / self->gpus_per_node;
    if (node_of[nvswitch] != G_MAXUINT && node_of[nvswitch] != node)
      return import_blame(error, self->file, cable->line,
                          "NVSwitch %u of server %u is linked to server %u too: cannot be "
                          "represented",
                          nvswitch, node_of[nvswitch], node);
    node_of[nvswitch] = node;
  }
  return true;
}

bool simai_parse(Simai *self, const ImportFile *file, GError **error)
{
  const char *text = file->text;
  g_auto(GStrv) header = next_words(&text);
  g_auto(GStrv) switches = next_words(&text);

  self->file = file;
  self->cables = g_array_new(FALSE, FALSE, sizeof(Cable));
  if (strlen(file->text) != file->length)
    return import_blame(error, file, 0, "has NUL bytes: it is no text");
  return parse_header(self, (const char *const *)header, error) &&
         parse_switches(self, (const char *const *)switches, error) &&
         parse_cables(self, text, error) && check_cables(self, error);
}
