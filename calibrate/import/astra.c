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
#include "calibrate/import/workload.h"

#include <math.h>
#include <string.h>

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
  ImportWorkload *workload;
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

static void add_layer(AstraJob *job, const AstraLayer *layer)
{
  import_workload_add(job->workload, layer->word[0], layer->forward * job->unit_s,
                      (layer->input_gradient + layer->weight_gradient + layer->update) *
                        job->unit_s);
  if (is_gradient_exchange(layer->word[9]) && layer->weight_gradient_B > 0)
    import_workload_add_tensor(job->workload, "weight",
                               ceil(layer->weight_gradient_B / VALUE_B));
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
  imported->scenario =
    import_workload_render(job->workload, input, "a batch of the workload file", "fp32");
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
  g_autoptr(ImportWorkload) workload = import_workload_new();
  job.workload = workload;
  return read_job(input, &job, imported, error);
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
