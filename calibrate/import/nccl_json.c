/**
 * @file nccl_json.c
 * @brief JSON of nccl-tests (-J FILE) and rccl-tests (an object per line).
 *
 * nccl-tests: {"version", "args", "config": {"devices"}, "results": [{"size", "type",
 * "out_of_place": {"time", "alg_bw", "bus_bw", "nwrong"}, "in_place": {...}}]}; booleans
 * and NaN are text there. rccl-tests: {"algBw", "busBw", "gpus", "inPlace", "name", "size",
 * "time", "type"} per line. Times are microseconds, rates GB/s of 1e9 bytes.
 *
 * Source: NVIDIA/nccl-tests src/util.cu, ROCm/rccl-tests src/common.cu.
 */
#include "calibrate/import/nccl_table.h"

#include <cjson/cJSON.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(cJSON, cJSON_Delete)

#define LIMIT_B ((gsize)64 << 20)
/* JSON carries all digits; rates still have but two or so where they were printed. */
#define RATE_SLACK_GBps 0.005
#define N_DIGITS_JSON 6

static bool nccl_json_recognises(const char *head)
{
  const bool is_object = head[strspn(head, " \t\r\n")] == '{';

  return is_object &&
         ((strstr(head, "\"alg_bw\"") != NULL && strstr(head, "\"bus_bw\"") != NULL) ||
          (strstr(head, "\"algBw\"") != NULL && strstr(head, "\"busBw\"") != NULL) ||
          (strstr(head, "\"nccl_version\"") != NULL &&
           strstr(head, "\"devices\"") != NULL));
}

static const cJSON *member(const cJSON *object, const char *key)
{
  return cJSON_GetObjectItemCaseSensitive(object, key);
}

static bool number_of(const cJSON *object, const char *key, double *value)
{
  const cJSON *item = member(object, key);

  if (!cJSON_IsNumber(item))
    return false;
  *value = item->valuedouble;
  return *value == *value;
}

static void read_half(const cJSON *json, const char *alg, const char *bus, NcclHalf *half)
{
  half->is_there = cJSON_IsObject(json);
  half->time_is_read = (number_of(json, "time", &half->time_us) ||
                        number_of(json, "cpu_time", &half->time_us)) &&
                       half->time_us > 0;
  half->has_rates =
    number_of(json, alg, &half->algbw_GBps) && number_of(json, bus, &half->busbw_GBps);
  half->algbw_slack_GBps = half->busbw_slack_GBps = RATE_SLACK_GBps;
  half->is_wrong = number_of(json, "nwrong", &half->n_wrong) && half->n_wrong >= 1;
  half->n_digits = N_DIGITS_JSON;
}

/* Transfer: nothing; rows that are none are counted. */
static bool read_row(const cJSON *json, NcclRow *row)
{
  const char *type = cJSON_GetStringValue(member(json, "type"));

  row->dtype = type == NULL ? NULL : nccl_dtype(type);
  return row->dtype != NULL && number_of(json, "size", &row->size_B) && row->size_B >= 0;
}

static void read_devices(const cJSON *devices, NcclTable *table, Imported *imported)
{
  g_autoptr(GHashTable) hosts = g_hash_table_new(g_str_hash, g_str_equal);
  const cJSON *device;
  guint n = 0;

  cJSON_ArrayForEach(device, devices)
  {
    const char *host = cJSON_GetStringValue(member(device, "hostname"));
    const char *gpu = cJSON_GetStringValue(member(device, "device_info"));
    if (host != NULL)
      g_hash_table_add(hosts, (char *)host);
    if (gpu != NULL)
      imported_add_fact(imported, "gpu_name", gpu);
    n++;
  }
  table->n_ranks = MIN(n, NCCL_RANKS_MAX);
  table->n_hosts = g_hash_table_size(hosts);
}

/* The name of the test stands in its own command line. */
static void read_head(const cJSON *json, NcclTable *table, Imported *imported)
{
  const cJSON *args = member(json, "args"), *argument;
  const cJSON *version = member(json, "nccl_version");

  if (cJSON_IsString(args))
    table->probe = nccl_probe_of_program(args->valuestring);
  cJSON_ArrayForEach(argument, args)
  {
    if (cJSON_IsString(argument) && table->probe == NULL)
      table->probe = nccl_probe_of_program(argument->valuestring);
  }
  if (cJSON_IsNumber(version) || cJSON_IsString(version)) {
    g_autofree char *text = cJSON_IsString(version)
                              ? g_strconcat("NCCL version ", version->valuestring, NULL)
                              : g_strdup_printf("nccl-library=%.0f", version->valuedouble);
    g_autofree char *told = nccl_version_in(text);
    if (told != NULL) {
      table->library = g_strdup_printf("nccl %s", told);
      imported_add_fact(imported, "nccl_version", told);
    }
  }
  read_devices(member(member(json, "config"), "devices"), table, imported);
}

static void read_results(const cJSON *results, ImportInput *input, NcclTable *table,
                         Imported *imported)
{
  const cJSON *result;

  cJSON_ArrayForEach(result, results)
  {
    NcclRow row = { .line = 1 };
    if (!read_row(result, &row)) {
      imported->n_unreadable++;
      imported_note_at(imported, input, 1, "a result without size or type; left out");
      continue;
    }
    read_half(member(result, "out_of_place"), "alg_bw", "bus_bw", &row.half[0]);
    read_half(member(result, "in_place"), "alg_bw", "bus_bw", &row.half[1]);
    if (row.size_B > 0)
      g_array_append_val(table->rows, row);
  }
}

static const char *probe_of_rccl(const char *name)
{
  static const struct {
    const char *name, *probe;
  } names[] = {
    { "AllReduce", "all_reduce" },         { "AllGather", "all_gather" },
    { "ReduceScatter", "reduce_scatter" }, { "AlltoAll", "all_to_all" },
    { "Broadcast", "broadcast" },          { "Reduce", "reduce" },
    { "SendRecv", "send_recv" },
  };

  for (guint i = 0; name != NULL && i < G_N_ELEMENTS(names); i++)
    if (g_ascii_strcasecmp(names[i].name, name) == 0)
      return names[i].probe;
  return NULL;
}

/* One object of rccl-tests: another collective or number of GPUs begins another table. */
static bool read_rccl(const cJSON *json, ImportInput *input, const ImportOptions *options,
                      NcclTable *table, Imported *imported, GError **error)
{
  const char *probe = probe_of_rccl(cJSON_GetStringValue(member(json, "name")));
  double gpus, in_place = 0;
  NcclRow row = { .line = import_line_number(input) };

  if (probe == NULL || !number_of(json, "gpus", &gpus) || gpus < 1 ||
      gpus > NCCL_RANKS_MAX || !read_row(json, &row)) {
    imported->n_unreadable++;
    imported_note(imported, input, "an object that is no result; left out");
    return true;
  }
  if ((table->probe != probe || table->n_ranks != (guint)gpus) &&
      !nccl_table_finish(table, input, options, imported, error))
    return false;
  table->probe = probe;
  table->n_ranks = (guint)gpus;
  number_of(json, "inPlace", &in_place);
  read_half(json, "algBw", "busBw", &row.half[in_place > 0]);
  if (row.size_B > 0)
    g_array_append_val(table->rows, row);
  return true;
}

/* Object after object, whatever stands between them; the first that is none is refused. */
static bool read_objects(const char *text, ImportInput *input, const ImportOptions *options,
                         NcclTable *table, Imported *imported, GError **error)
{
  const char *at = text + strspn(text, " \t\r\n");

  while (*at != '\0') {
    const char *end = NULL;
    g_autoptr(cJSON) json = cJSON_ParseWithOpts(at, &end, false);
    if (!cJSON_IsObject(json) || end == at)
      return import_fail(input, error, "no JSON object of nccl-tests or rccl-tests");
    if (member(json, "results") != NULL) {
      if (!nccl_table_finish(table, input, options, imported, error))
        return false;
      read_head(json, table, imported);
      read_results(member(json, "results"), input, table, imported);
    } else if (!read_rccl(json, input, options, table, imported, error)) {
      return false;
    }
    at = end + strspn(end, " \t\r\n,");
  }
  return nccl_table_finish(table, input, options, imported, error);
}

static bool nccl_json_read(ImportInput *input, const ImportOptions *options,
                           Imported *imported, GError **error)
{
  g_autofree char *text = import_read_all(input, LIMIT_B, error);
  NcclTable table;

  if (text == NULL)
    return false;
  nccl_table_init(&table);
  const bool done = read_objects(text, input, options, &table, imported, error);
  nccl_table_clear(&table);
  return done;
}

const ImporterOps importer_nccl_json = {
  .info = {
    .name = "nccl_json",
    .summary = "JSON of nccl-tests (-J FILE) and rccl-tests",
    .source = "NVIDIA/nccl-tests src/util.cu; ROCm/rccl-tests src/common.cu",
  },
  .recognises = nccl_json_recognises,
  .read = nccl_json_read,
};
