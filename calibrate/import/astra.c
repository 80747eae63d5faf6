/**
 * @file astra.c
 * @brief Text workloads of ASTRA-sim and SimAI (AICB), as a part of a scenario.
 *
 * The first line names the parallelism, the second counts layers; a layer is 12 columns:
 * name, dependency, forward time, collective, bytes, the same of input gradients and of
 * weight gradients, update time. Weight gradients' all-reduces (data parallelism) become
 * tensors, times become measured times of layers. The unit of the times is nowhere in the
 * file (SimAI writes ns, others us), so the user says it. Collectives of other dimensions
 * cannot be represented: refused, or left out where the user says so.
 *
 * Source: astra-sim/astra-sim 1.0 workload format; aliyun/SimAI, aliyun/aicb.
 */
#include "calibrate/import.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

#define N_COLUMNS 12
#define N_LAYERS_MAX 100000
#define TIME_MAX 1e15 /* in the file's unit */
#define BYTES_MAX 1e15
#define VALUE_B 4 /* gradients are taken for fp32 */

static const char *const policies[] = {
  "DATA", "MICRO", "MODEL", "HYBRID_", NULL,
};

/** One line of the file. */
typedef struct {
  char *word[N_COLUMNS];
  double forward, input_gradient, weight_gradient, update; /* times, file's unit */
  double forward_B, input_gradient_B, weight_gradient_B;
} AstraLayer;

/** The part of the scenario as it grows. */
typedef struct {
  cJSON *layers, *times; /* of the model, of the compute section */
  GHashTable *n_named;   /* how often a name was used */
  double unit_s;
  bool only_gradients;
} AstraJob;

static bool astra_recognises(const char *head)
{
  const char *second = strchr(head, '\n');
  bool is_known = false;

  for (guint i = 0; policies[i] != NULL; i++)
    is_known |= g_str_has_prefix(head, policies[i]);
  if (!is_known || second == NULL)
    return false;
  second++;
  const gsize n = strspn(second, "0123456789");
  return n > 0 && strchr(" \t\r\n", second[n]) != NULL && strchr(second, '\n') != NULL;
}

static bool read_amount(const char *text, double max, double *value)
{
  char *end = NULL;

  *value = g_ascii_strtod(text, &end);
  return end != text && *end == '\0' && *value >= 0 && *value <= max;
}

static bool parse_layer(char *line, AstraLayer *layer)
{
  char *rest = NULL;
  guint n = 0;

  for (char *word = strtok_r(line, " \t", &rest); word != NULL;
       word = strtok_r(NULL, " \t", &rest)) {
    if (n == N_COLUMNS)
      return false;
    layer->word[n++] = word;
  }
  return n == N_COLUMNS && read_amount(layer->word[2], TIME_MAX, &layer->forward) &&
         read_amount(layer->word[4], BYTES_MAX, &layer->forward_B) &&
         read_amount(layer->word[5], TIME_MAX, &layer->input_gradient) &&
         read_amount(layer->word[7], BYTES_MAX, &layer->input_gradient_B) &&
         read_amount(layer->word[8], TIME_MAX, &layer->weight_gradient) &&
         read_amount(layer->word[10], BYTES_MAX, &layer->weight_gradient_B) &&
         read_amount(layer->word[11], TIME_MAX, &layer->update);
}

static bool moves(const char *collective, double size_B)
{
  return strcmp(collective, "NONE") != 0 && size_B > 0;
}

/* Is it the exchange of gradients among data-parallel ranks? */
static bool is_gradient_exchange(const char *collective)
{
  return strcmp(collective, "ALLREDUCE") == 0 || strcmp(collective, "ALLREDUCE_DP") == 0 ||
         strcmp(collective, "REDUCESCATTER") == 0;
}

static bool check_others(const AstraLayer *layer, const AstraJob *job, ImportInput *input,
                         GError **error)
{
  const bool forward = moves(layer->word[3], layer->forward_B);
  const bool input_gradient = moves(layer->word[6], layer->input_gradient_B);
  const bool weight = moves(layer->word[9], layer->weight_gradient_B) &&
                      !is_gradient_exchange(layer->word[9]);

  if (job->only_gradients || !(forward || input_gradient || weight))
    return true;
  return import_fail(
    input, error,
    "%s has a %s beyond the exchange of gradients, which a scenario cannot "
    "hold; --only-gradients leaves such out",
    layer->word[0],
    forward          ? layer->word[3]
    : input_gradient ? layer->word[6]
                     : layer->word[9]);
}

/* Dots group layers in models, and names repeat in these files: "attention.2". */
static char *unique_name(AstraJob *job, const char *name)
{
  g_autofree char *plain = g_strdelimit(g_utf8_make_valid(name, -1), ".", '_');
  const guint n = GPOINTER_TO_UINT(g_hash_table_lookup(job->n_named, plain)) + 1;

  g_hash_table_insert(job->n_named, g_strdup(plain), GUINT_TO_POINTER(n));
  return n == 1 ? g_steal_pointer(&plain) : g_strdup_printf("%s_%u", plain, n);
}

static void add_time(cJSON *row, const char *key, double time_s)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *text =
    g_strdup_printf("%s us", g_ascii_formatd(number, sizeof number, "%.9g", time_s * 1e6));

  cJSON_AddStringToObject(row, key, text);
}

static void add_layer(AstraJob *job, const AstraLayer *layer)
{
  g_autofree char *name = unique_name(job, layer->word[0]);
  cJSON *model = cJSON_CreateObject(), *row = cJSON_CreateObject();

  cJSON_AddStringToObject(model, "name", name);
  if (is_gradient_exchange(layer->word[9]) && layer->weight_gradient_B > 0) {
    cJSON *tensor = cJSON_CreateObject();
    cJSON_AddStringToObject(tensor, "name", "weight");
    cJSON_AddNumberToObject(tensor, "values", ceil(layer->weight_gradient_B / VALUE_B));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(model, "tensors"), tensor);
  }
  cJSON_AddItemToArray(job->layers, model);
  cJSON_AddStringToObject(row, "name", name);
  add_time(row, "forward", layer->forward * job->unit_s);
  add_time(row, "backward",
           (layer->input_gradient + layer->weight_gradient + layer->update) * job->unit_s);
  cJSON_AddItemToArray(job->times, row);
}

static bool read_layers(ImportInput *input, guint64 n_layers, AstraJob *job, GError **error)
{
  for (guint64 i = 0; i < n_layers; i++) {
    const char *line;
    AstraLayer layer;
    if (!import_next_line(input, &line, error))
      return false;
    if (line == NULL)
      return import_fail(input, error,
                         "%" G_GUINT64_FORMAT " layers are announced, %" G_GUINT64_FORMAT
                         " are there",
                         n_layers, i);
    g_autofree char *copy = g_strdup(line);
    if (!parse_layer(copy, &layer))
      return import_fail(input, error,
                         "a layer is 12 columns: name, dependency, and thrice a time (the "
                         "collective and its bytes behind it), then the update time");
    if (!check_others(&layer, job, input, error))
      return false;
    add_layer(job, &layer);
  }
  return true;
}

/* {"workload": {"model": {...}, "compute": {"layers": [...]}}}. Transfer: caller frees. */
static char *render(AstraJob *job, ImportInput *input)
{
  g_autoptr(cJSON) root = cJSON_CreateObject();
  g_autofree char *base = g_path_get_basename(import_name(input));
  g_autofree char *source = g_strdup_printf("imported from %s", base);
  cJSON *workload = cJSON_AddObjectToObject(root, "workload");
  cJSON *model = cJSON_AddObjectToObject(workload, "model");

  cJSON_AddStringToObject(model, "name", base);
  cJSON_AddStringToObject(model, "sample", "a batch of the workload file");
  cJSON_AddStringToObject(model, "source", source);
  cJSON_AddItemToObject(model, "layers", g_steal_pointer(&job->layers));
  cJSON_AddStringToObject(workload, "precision", "fp32");
  cJSON_AddItemToObject(cJSON_AddObjectToObject(workload, "compute"), "layers",
                        g_steal_pointer(&job->times));
  char *text = cJSON_Print(root);
  char *copy = g_strconcat(text, "\n", NULL);
  cJSON_free(text);
  return copy;
}

static bool read_job(ImportInput *input, AstraJob *job, Imported *imported, GError **error)
{
  const char *line;

  if (!import_next_line(input, &line, error))
    return false;
  imported_add_fact(imported, "workload", line == NULL ? "" : line);
  if (!import_next_line(input, &line, error))
    return false;
  const guint64 n_layers = line == NULL ? 0 : g_ascii_strtoull(line, NULL, 10);
  if (n_layers == 0 || n_layers > N_LAYERS_MAX)
    return import_fail(input, error, "the second line is the number of layers, 1 to %d",
                       N_LAYERS_MAX);
  if (!read_layers(input, n_layers, job, error))
    return false;
  imported_note(
    imported, input,
    "gradients are taken for fp32: what is sent is exact, the memory of weights "
    "need not be");
  imported->scenario = render(job, input);
  return true;
}

static bool astra_read(ImportInput *input, const ImportOptions *options, Imported *imported,
                       GError **error)
{
  AstraJob job = { .unit_s = options->time_unit_s,
                   .only_gradients = options->only_gradients };

  if (job.unit_s <= 0)
    return import_fail(
      input, error,
      "the file does not say the unit of its times: --time-unit ns (SimAI, "
      "AICB) or --time-unit us (Chakra's converter reads it so)");
  job.layers = cJSON_CreateArray();
  job.times = cJSON_CreateArray();
  job.n_named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  const bool done = read_job(input, &job, imported, error);
  cJSON_Delete(job.layers);
  cJSON_Delete(job.times);
  g_hash_table_unref(job.n_named);
  return done;
}

const ImporterOps importer_astra = {
  .info = {
    .name = "astra",
    .summary = "text workloads of ASTRA-sim and SimAI: a part of a scenario",
    .source = "astra-sim 1.0 workload format; aliyun/SimAI, aliyun/aicb",
  },
  .recognises = astra_recognises,
  .read = astra_read,
};
