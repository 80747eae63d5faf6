/**
 * @file nvidia_topo.c
 * @brief The matrix of nvidia-smi topo -m: who reaches whom over what.
 *
 * Cells are X, NV<links>, PIX, PXB, PHB, NODE or SYS, tabs between them. Facts: how many
 * GPUs and NICs, links per pair, and one line for each pair ("link GPU0 GPU1" is "NV12").
 * Cells may run together in public copies ("PIXNODE"): such a matrix is refused, not
 * guessed.
 *
 * Source: nvidia-smi manual page, topo -m.
 */
#include "calibrate/import.h"

#include <string.h>

#define N_DEVICES_MAX 64

typedef struct {
  char *device[N_DEVICES_MAX]; /* of the columns */
  guint n_devices;
  guint n_gpus, n_nics;
} Matrix;

static bool nvidia_topo_recognises(const char *head)
{
  return strstr(head, "GPU0") != NULL &&
         (strstr(head, "CPU Affinity") != NULL || strstr(head, "Legend:") != NULL);
}

static bool is_device(const char *name)
{
  return g_str_has_prefix(name, "GPU")
           ? g_ascii_isdigit(name[3])
           : g_str_has_prefix(name, "NIC") || g_str_has_prefix(name, "mlx") ||
               g_str_has_prefix(name, "irdma") || g_str_has_prefix(name, "efa");
}

static bool is_cell(const char *text)
{
  static const char *const kinds[] = { "X", "PIX", "PXB", "PHB", "NODE", "SYS" };

  if (g_str_has_prefix(text, "NV"))
    return text[2] != '\0' && strspn(text + 2, "0123456789") == strlen(text + 2);
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (strcmp(kinds[i], text) == 0)
      return true;
  return false;
}

static void read_header(Matrix *matrix, char **word)
{
  for (guint i = 0; word[i] != NULL && matrix->n_devices < N_DEVICES_MAX; i++) {
    g_autofree char *name = g_strstrip(g_strdup(word[i]));
    if (is_device(name))
      matrix->device[matrix->n_devices++] = g_steal_pointer(&name);
  }
}

/* A row of the matrix: its name, then a cell for each column. */
static bool read_row(Matrix *matrix, char **word, ImportInput *input, Imported *imported,
                     GError **error)
{
  g_autofree char *row = g_strstrip(g_strdup(word[0]));

  matrix->n_gpus += g_str_has_prefix(row, "GPU") ? 1 : 0;
  matrix->n_nics += g_str_has_prefix(row, "GPU") ? 0 : 1;
  for (guint i = 0; i < matrix->n_devices; i++) {
    if (word[i + 1] == NULL)
      return import_fail(input, error, "%s has %u cells for %u columns", row, i,
                         matrix->n_devices);
    g_autofree char *cell = g_strstrip(g_strdup(word[i + 1]));
    if (!is_cell(cell))
      return import_fail(input, error,
                         "'%s' between %s and %s is no kind of connection (X, NV1.., PIX, "
                         "PXB, PHB, NODE, SYS)",
                         cell, row, matrix->device[i]);
    if (strcmp(cell, "X") == 0 || strcmp(row, matrix->device[i]) >= 0)
      continue;
    g_autofree char *name = g_strdup_printf("link %s %s", row, matrix->device[i]);
    imported_add_fact(imported, name, cell);
  }
  return true;
}

static bool read_line(Matrix *matrix, const char *line, ImportInput *input,
                      Imported *imported, GError **error)
{
  g_auto(GStrv) word = g_strsplit(line, "\t", 0);

  if (word[0] == NULL || strchr(line, '\t') == NULL)
    return true;
  g_autofree char *first = g_strstrip(g_strdup(word[0]));
  if (matrix->n_devices == 0) {
    if (*first == '\0')
      read_header(matrix, word);
    return true;
  }
  return !is_device(first) || strchr(first, ':') != NULL ||
         read_row(matrix, word, input, imported, error);
}

static bool read_all(Matrix *matrix, ImportInput *input, Imported *imported, GError **error)
{
  for (;;) {
    const char *line;
    if (!import_next_line(input, &line, error))
      return false;
    if (line == NULL || g_str_has_prefix(line, "Legend"))
      break;
    if (!read_line(matrix, line, input, imported, error))
      return false;
  }
  if (matrix->n_gpus == 0)
    return import_fail(input, error, "no row of a GPU; are the tabs of the matrix kept?");
  g_autofree char *gpus = g_strdup_printf("%u", matrix->n_gpus);
  g_autofree char *nics = g_strdup_printf("%u", matrix->n_nics);
  imported_add_fact(imported, "gpus_per_node", gpus);
  imported_add_fact(imported, "nics_per_node", nics);
  return true;
}

static bool nvidia_topo_read(ImportInput *input, const ImportOptions *options G_GNUC_UNUSED,
                             Imported *imported, GError **error)
{
  Matrix matrix = { .n_devices = 0 };
  const bool done = read_all(&matrix, input, imported, error);

  for (guint i = 0; i < matrix.n_devices; i++)
    g_free(matrix.device[i]);
  return done;
}

const ImporterOps importer_nvidia_topo = {
  .info = {
    .name = "nvidia_topo",
    .summary = "the matrix of nvidia-smi topo -m",
    .source = "nvidia-smi manual page",
  },
  .recognises = nvidia_topo_recognises,
  .read = nvidia_topo_read,
};
