/**
 * @file iperf3.c
 * @brief JSON of iperf3 -J: what a TCP or UDP stream sustained.
 *
 * One sample: the bytes that arrived and the seconds they took, over all streams; loss,
 * retransmissions and the mean round trip of the senders are facts.
 *
 * Source: esnet/iperf src/iperf_api.c, iperf3 manual page.
 */
#include "calibrate/import/json.h"

#include <string.h>

#define LIMIT_B ((gsize)64 << 20)

static bool iperf3_recognises(const char *head)
{
  return head[strspn(head, " \t\r\n")] == '{' && strstr(head, "\"test_start\"") != NULL &&
         strstr(head, "\"num_streams\"") != NULL;
}

static const cJSON *at(const cJSON *json, const char *first, const char *second)
{
  return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, first),
                                          second);
}

static void add_number(Imported *imported, const char *name, const cJSON *item)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (cJSON_IsNumber(item))
    imported_add_fact(imported, name,
                      g_ascii_formatd(text, sizeof text, "%.9g", item->valuedouble));
}

/* The mean over the streams' senders. */
static void add_round_trip(Imported *imported, const cJSON *streams)
{
  double sum_us = 0;
  guint n = 0;
  const cJSON *stream;
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  cJSON_ArrayForEach(stream, streams)
  {
    const cJSON *mean = at(stream, "sender", "mean_rtt");
    if (cJSON_IsNumber(mean) && mean->valuedouble > 0) {
      sum_us += mean->valuedouble;
      n++;
    }
  }
  if (n > 0)
    imported_add_fact(imported, "mean_round_trip_us",
                      g_ascii_formatd(text, sizeof text, "%.9g", sum_us / n));
}

static bool is_positive(const cJSON *item)
{
  return cJSON_IsNumber(item) && item->valuedouble > 0;
}

/* The first of them that is there. */
static const cJSON *first_of(const cJSON *const items[], guint n)
{
  for (guint i = 0; i < n; i++)
    if (items[i] != NULL)
      return items[i];
  return NULL;
}

static bool read_sum(const ImportJson *file, const cJSON *json, Imported *imported,
                     GError **error)
{
  const char *protocol = cJSON_GetStringValue(
    cJSON_GetObjectItemCaseSensitive(at(json, "start", "test_start"), "protocol"));
  const bool is_udp = protocol != NULL && strcmp(protocol, "UDP") == 0;
  const cJSON *end = cJSON_GetObjectItemCaseSensitive(json, "end");
  const cJSON *sum = at(json, "end", is_udp ? "sum" : "sum_received");
  const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(sum, "seconds");
  const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(sum, "bytes");
  const cJSON *streams =
    cJSON_GetObjectItemCaseSensitive(at(json, "start", "test_start"), "num_streams");

  if (!is_positive(seconds) || !is_positive(bytes)) {
    const cJSON *const wrong[] = { is_positive(seconds) ? bytes : seconds, sum, end };
    return import_json_fail(file, first_of(wrong, G_N_ELEMENTS(wrong)), error,
                            "the end of the test does not say how many %s; "
                            "did the test fail?",
                            is_positive(seconds) ? "bytes" : "seconds");
  }
  Sample *sample = sample_new(is_udp ? "udp_stream" : "tcp_stream");
  g_autofree char *variant = g_strdup_printf(
    "streams=%u", cJSON_IsNumber(streams) ? (guint)CLAMP(streams->valuedouble, 1, 1e6) : 1);
  sample_set(&sample->library, "iperf3");
  sample_set(&sample->place, "net");
  sample_set(&sample->variant, variant);
  sample->ranks = 2;
  sample->nodes = 2;
  sample->size = bytes->valuedouble;
  sample->median_s = seconds->valuedouble;
  sample->n = 1;
  g_ptr_array_add(imported->samples, sample);
  return true;
}

static bool iperf3_read(ImportInput *input, const ImportOptions *options G_GNUC_UNUSED,
                        Imported *imported, GError **error)
{
  g_autoptr(ImportJson) file = import_json_new(input, LIMIT_B, error);
  const cJSON *json = NULL;

  if (file == NULL || !import_json_next(file, &json, error))
    return false;
  if (!cJSON_IsObject(json))
    return import_json_fail(file, json, error, "expected an object: { ... }");
  const cJSON *failure = cJSON_GetObjectItemCaseSensitive(json, "error");
  if (cJSON_IsString(failure))
    return import_json_fail(file, failure, error, "iperf3 failed: %s",
                            failure->valuestring);
  if (!read_sum(file, json, imported, error))
    return false;
  add_number(imported, "tcp_mss_B", at(json, "start", "tcp_mss_default"));
  add_number(imported, "retransmits",
             cJSON_GetObjectItemCaseSensitive(at(json, "end", "sum_sent"), "retransmits"));
  add_number(imported, "lost_percent",
             cJSON_GetObjectItemCaseSensitive(at(json, "end", "sum"), "lost_percent"));
  add_round_trip(imported, at(json, "end", "streams"));
  return true;
}

const ImporterOps importer_iperf3 = {
  .info = {
    .name = "iperf3",
    .summary = "JSON of iperf3 -J",
    .source = "esnet/iperf src/iperf_api.c",
  },
  .recognises = iperf3_recognises,
  .read = iperf3_read,
};
