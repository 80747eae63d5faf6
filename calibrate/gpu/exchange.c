#include "calibrate/gpu/exchange.h"

#include "sim/base/registry.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const char *const collective_names[] = {
  [GPU_ALL_REDUCE] = "all_reduce", [GPU_REDUCE_SCATTER] = "reduce_scatter",
  [GPU_ALL_GATHER] = "all_gather", [GPU_BROADCAST] = "broadcast",
  [GPU_SEND_RECV] = "send_recv",   [GPU_ALL_TO_ALL] = "all_to_all",
};

const char *exchange_collective_name(GpuCollective collective)
{
  return collective_names[collective];
}

/* ---- the child --------------------------------------------------------------------- */

static bool say(int out, const char *text, GError **error)
{
  g_autofree char *line = g_strdup_printf("%s %s\n", CHILD_MARK, text);
  const char *rest = line;

  while (*rest != '\0') {
    const ssize_t n_B = write(out, rest, strlen(rest));
    if (n_B < 0 && errno != EINTR) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "nobody listens: %s", g_strerror(errno));
      return false;
    }
    rest += MAX(n_B, 0);
  }
  return true;
}

static bool say_fault(int out, const GpuFault *fault, GError **error)
{
  g_autofree char *line = g_strdup_printf("fault %d %s", (int)fault->kind, fault->text);

  return say(out, g_strdelimit(line, "\r\n", ' '), error);
}

static bool say_ready(const Gpu *gpu, int out, GError **error)
{
  GpuVersions versions;
  GpuDevice device;
  GpuFault fault = { 0 };
  guint64 buffer_B = G_MAXUINT64;
  guint n_nvlinks = 0;

  if (!gpu->plugin->versions(gpu->session, &versions, &fault))
    return say_fault(out, &fault, error);
  for (guint i = 0; i < versions.n_devices; i++) {
    if (!gpu->plugin->describe(gpu->session, i, &device, &fault))
      return say_fault(out, &fault, error);
    buffer_B = MIN(buffer_B, device.buffer_B);
    n_nvlinks = i == 0 ? device.n_nvlinks : n_nvlinks;
  }
  g_autofree char *line = g_strdup_printf("ready %" G_GUINT64_FORMAT " %u %u", buffer_B,
                                          versions.nccl, n_nvlinks);
  return say(out, line, error);
}

static bool read_count(const char *text, guint64 max, guint64 *value)
{
  return g_ascii_string_to_unsigned(text, 10, 0, max, value, NULL);
}

static bool parse_question(const char *line, GpuExchange *exchange, guint *n)
{
  g_auto(GStrv) word = g_strsplit(line, " ", -1);
  guint64 collective = 0, in_place = 0, count = 0;

  if (g_strv_length(word) != 4 || !read_count(word[0], GPU_COLLECTIVE_N - 1, &collective) ||
      !read_count(word[1], G_MAXUINT64, &exchange->size_B) ||
      !read_count(word[2], 1, &in_place) ||
      !read_count(word[3], EXCHANGE_REPETITIONS_MAX, &count) || count == 0)
    return false;
  exchange->collective = (GpuCollective)collective;
  exchange->in_place = in_place != 0;
  *n = (guint)count;
  return true;
}

static bool answer(const Gpu *gpu, const char *line, int out, GError **error)
{
  GpuExchange exchange;
  GpuFault fault = { GPU_FAULT_FAILED, "a question that nobody understands" };
  guint n = 0;
  uint32_t flags = 0;

  if (!parse_question(line, &exchange, &n))
    return say_fault(out, &fault, error);
  g_autofree double *time_s = g_new0(double, n);
  if (!gpu->plugin->exchange(gpu->session, &exchange, time_s, n, &flags, &fault))
    return say_fault(out, &fault, error);
  g_autoptr(GString) text = g_string_new(NULL);
  g_string_printf(text, "times %u", flags);
  for (guint i = 0; i < n; i++) {
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(text, " %s", g_ascii_dtostr(number, sizeof number, time_s[i]));
  }
  return say(out, text->str, error);
}

bool exchange_serve(const Gpu *gpu, int in, int out, GError **error)
{
  g_autoptr(GString) line = g_string_new(NULL);
  char byte = 0;
  ssize_t n_B = 0;

  if (!say_ready(gpu, out, error))
    return false;
  while ((n_B = read(in, &byte, 1)) == 1 || (n_B < 0 && errno == EINTR)) {
    if (n_B != 1)
      continue;
    if (byte != '\n') {
      g_string_append_c(line, byte);
      continue;
    }
    if (!answer(gpu, line->str, out, error))
      return false;
    g_string_truncate(line, 0);
  }
  return true;
}

bool exchange_refuse(const GError *why, int out, GError **error)
{
  const bool is_ours = why->domain == SIM_ERROR;
  GpuFault fault = { .kind = is_ours && why->code == SIM_ERROR_DEVICE ? GPU_FAULT_NO_DEVICE
                             : is_ours && why->code == SIM_ERROR_PLUGIN
                               ? GPU_FAULT_NO_LIBRARY
                               : GPU_FAULT_FAILED };

  g_strlcpy(fault.text, why->message, sizeof fault.text);
  return say_fault(out, &fault, error);
}

/* ---- the parent -------------------------------------------------------------------- */

/* "fault KIND TEXT" becomes the error; anything else is no answer. Returns false. */
static bool fail(const char *text, GError **error)
{
  GpuFault fault = { GPU_FAULT_FAILED, "" };
  guint64 kind = 0;
  g_auto(GStrv) word = g_strsplit(text, " ", 3);

  if (g_strv_length(word) != 3 || strcmp(word[0], "fault") != 0 ||
      !read_count(word[1], GPU_FAULT_FAILED, &kind)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "the child process says '%.60s'", text);
    return false;
  }
  fault.kind = (GpuFaultKind)kind;
  g_strlcpy(fault.text, word[2], sizeof fault.text);
  return gpu_fail(&fault, error);
}

bool exchange_await(Child *child, double limit_s, ExchangeReady *ready, GError **error)
{
  g_autofree char *text = child_ask(child, NULL, limit_s, error);
  guint64 nccl = 0, n_nvlinks = 0;

  if (text == NULL)
    return false;
  g_auto(GStrv) word = g_strsplit(text, " ", -1);
  if (g_strv_length(word) != 4 || strcmp(word[0], "ready") != 0 ||
      !read_count(word[1], G_MAXUINT64, &ready->buffer_B) ||
      !read_count(word[2], G_MAXUINT, &nccl) || !read_count(word[3], G_MAXUINT, &n_nvlinks))
    return fail(text, error);
  ready->nccl = (guint)nccl;
  ready->n_nvlinks = (guint)n_nvlinks;
  return true;
}

static bool parse_times(const char *text, double *time_s, guint n, uint32_t *flags)
{
  g_auto(GStrv) word = g_strsplit(text, " ", -1);
  guint64 seen = 0;

  if (g_strv_length(word) != n + 2 || strcmp(word[0], "times") != 0 ||
      !read_count(word[1], G_MAXUINT32, &seen))
    return false;
  for (guint i = 0; i < n; i++) {
    char *end = NULL;
    time_s[i] = g_ascii_strtod(word[i + 2], &end);
    if (end == word[i + 2] || *end != '\0' || !isfinite(time_s[i]))
      return false;
  }
  *flags |= (uint32_t)seen;
  return true;
}

bool exchange_ask(Child *child, const GpuExchange *exchange, double *time_s, guint n,
                  double limit_s, uint32_t *flags, bool *answered, GError **error)
{
  g_autofree char *line =
    g_strdup_printf("%d %" G_GUINT64_FORMAT " %d %u", (int)exchange->collective,
                    exchange->size_B, exchange->in_place, n);
  g_autofree char *text = child_ask(child, line, limit_s, error);

  *answered = text != NULL;
  if (text == NULL)
    return false;
  return parse_times(text, time_s, n, flags) || fail(text, error);
}
