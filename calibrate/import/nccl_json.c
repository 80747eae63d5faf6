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
#include "calibrate/import/json.h"
#include "calibrate/import/nccl_table.h"

#include <string.h>

/** What reading one file needs. */
typedef struct {
  ImportInput *input;
  ImportJson *json;
  const ImportOptions *options;
  NcclTable *table;
  Imported *imported;
} Reading;

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

static void read_half(const ImportJson *file, const cJSON *json, const char *alg,
                      const char *bus, NcclHalf *half)
{
  const cJSON *time = member(json, "time");

  if (time == NULL)
    time = member(json, "cpu_time");
  half->place = import_json_place(file, time == NULL ? json : time);
  half->is_there = cJSON_IsObject(json);
  half->time_is_read = cJSON_IsNumber(time) && time->valuedouble > 0;
  half->time_us = half->time_is_read ? time->valuedouble : 0;
  half->has_rates =
    number_of(json, alg, &half->algbw_GBps) && number_of(json, bus, &half->busbw_GBps);
  half->algbw_slack_GBps = half->busbw_slack_GBps = RATE_SLACK_GBps;
  half->is_wrong = number_of(json, "nwrong", &half->n_wrong) && half->n_wrong >= 1;
  half->n_digits = N_DIGITS_JSON;
}

/* NULL, or what is wrong with it in @p bad; such rows are counted. */
static const char *read_row(const cJSON *json, NcclRow *row, const cJSON **bad)
{
  const cJSON *type = member(json, "type"), *size = member(json, "size");

  row->dtype = cJSON_IsString(type) ? nccl_dtype(type->valuestring) : NULL;
  *bad = row->dtype == NULL ? type : size;
  if (*bad == NULL)
    *bad = json;
  if (row->dtype == NULL)
    return type == NULL ? "a result without type; left out"
                        : "no type that is known; the result is left out";
  if (!number_of(json, "size", &row->size_B) || row->size_B < 0)
    return size == NULL ? "a result without size; left out"
                        : "no size; the result is left out";
  return NULL;
}

static void leave_out(const Reading *reading, const cJSON *item, const char *why)
{
  reading->imported->n_unreadable++;
  imported_note_at(reading->imported, reading->input,
                   import_json_place(reading->json, item), "%s", why);
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

static void read_results(const Reading *reading, const cJSON *results)
{
  const cJSON *result;

  cJSON_ArrayForEach(result, results)
  {
    NcclRow row = { .size_B = 0 };
    const cJSON *bad = NULL;
    const char *why = read_row(result, &row, &bad);
    if (why != NULL) {
      leave_out(reading, bad, why);
      continue;
    }
    read_half(reading->json, member(result, "out_of_place"), "alg_bw", "bus_bw",
              &row.half[0]);
    read_half(reading->json, member(result, "in_place"), "alg_bw", "bus_bw", &row.half[1]);
    if (row.size_B > 0)
      g_array_append_val(reading->table->rows, row);
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

static bool finish(const Reading *reading, GError **error)
{
  return nccl_table_finish(reading->table, reading->input, reading->options,
                           reading->imported, error);
}

/* NULL, or what makes the object no result, in @p bad. */
static const char *read_rccl_head(const cJSON *json, const char **probe, guint *n_ranks,
                                  const cJSON **bad)
{
  const cJSON *name = member(json, "name"), *gpus = member(json, "gpus");

  *probe = probe_of_rccl(cJSON_GetStringValue(name));
  *bad = *probe == NULL ? name : gpus;
  if (*bad == NULL)
    *bad = json;
  if (*probe == NULL)
    return "no name of a collective that is known; the object is left out";
  if (!cJSON_IsNumber(gpus) || !(gpus->valuedouble >= 1) ||
      gpus->valuedouble > NCCL_RANKS_MAX)
    return "no number of GPUs; the object is left out";
  *n_ranks = (guint)gpus->valuedouble;
  return NULL;
}

/* One object of rccl-tests: another collective or number of GPUs begins another table. */
static bool read_rccl(const Reading *reading, const cJSON *json, GError **error)
{
  NcclTable *table = reading->table;
  const char *probe = NULL;
  const cJSON *bad = NULL;
  guint n_ranks = 0;
  double in_place = 0;
  NcclRow row = { .size_B = 0 };
  const char *why = read_rccl_head(json, &probe, &n_ranks, &bad);

  if (why == NULL)
    why = read_row(json, &row, &bad);
  if (why != NULL) {
    leave_out(reading, bad, why);
    return true;
  }
  if ((table->probe != probe || table->n_ranks != n_ranks) && !finish(reading, error))
    return false;
  table->probe = probe;
  table->n_ranks = n_ranks;
  number_of(json, "inPlace", &in_place);
  read_half(reading->json, json, "algBw", "busBw", &row.half[in_place > 0]);
  if (row.size_B > 0)
    g_array_append_val(table->rows, row);
  return true;
}

static bool read_object(const Reading *reading, const cJSON *json, GError **error)
{
  if (!cJSON_IsObject(json))
    return import_json_fail(reading->json, json, error,
                            "no JSON object of nccl-tests or rccl-tests");
  if (member(json, "results") == NULL)
    return read_rccl(reading, json, error);
  if (!finish(reading, error))
    return false;
  read_head(json, reading->table, reading->imported);
  read_results(reading, member(json, "results"));
  return true;
}

/* Object after object, whatever stands between them; the first that is none is refused. */
static bool read_objects(const Reading *reading, GError **error)
{
  const cJSON *json = NULL;

  for (;;) {
    if (!import_json_next(reading->json, &json, error))
      return false;
    if (json == NULL)
      return finish(reading, error);
    if (!read_object(reading, json, error))
      return false;
  }
}

static bool nccl_json_read(ImportInput *input, const ImportOptions *options,
                           Imported *imported, GError **error)
{
  g_autoptr(ImportJson) json = import_json_new(input, LIMIT_B, error);
  NcclTable table;

  if (json == NULL)
    return false;
  nccl_table_init(&table);
  const bool done =
    read_objects(&(Reading){ input, json, options, &table, imported }, error);
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
