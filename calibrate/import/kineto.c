/**
 * @file kineto.c
 * @brief Traces of the PyTorch profiler: how long steps compute, and each collective.
 *
 * Read as a stream, so that traces of gigabytes fit: of "traceEvents" only complete events
 * ("ph": "X") of kernels and of the profiler's steps are kept, as numbers. A NCCL kernel
 * runs from the moment its rank arrives, so its time includes waiting for the slowest rank:
 * a collective's sample is the lower quartile of its repetitions, and says so.
 *
 * Source: pytorch/kineto libkineto/src/output_json.cpp; PyTorch ParamCommsUtils.hpp.
 */
#include "calibrate/import/kineto_events.h"

#include <string.h>
#include <yajl/yajl_parse.h>

#define READ_B 65536
#define TEXT_MAX 128
#define DEPTH_MAX 256

typedef enum { IN_ROOT = 1, IN_EVENTS = 2, IN_EVENT = 3, IN_ARGS = 4 } Depth;

/** Where in the file the parser is, and the event it is in. */
typedef struct {
  KinetoEvents *events;
  guint depth;
  bool in_events, in_args;
  bool is_too_deep;
  char key[TEXT_MAX];
  KinetoEvent event;
} Trace;

/* Straight in an event or in its arguments, not in something that they hold. */
static bool is_at_home(const Trace *trace)
{
  return trace->in_events && trace->depth == (trace->in_args ? IN_ARGS : IN_EVENT);
}

static void copy_text(char text[TEXT_MAX], const unsigned char *from, size_t n)
{
  n = MIN(n, (size_t)TEXT_MAX - 1);
  memcpy(text, from, n);
  text[n] = '\0';
}

static void take_number(Trace *trace, double value)
{
  KinetoEvent *event = &trace->event;
  const char *key = trace->key;

  if (trace->in_args && strcmp(key, "In msg nelems") == 0)
    event->n_in = value;
  else if (trace->in_args && strcmp(key, "Out msg nelems") == 0)
    event->n_out = value;
  else if (trace->in_args && strcmp(key, "Group size") == 0)
    event->n_ranks = value;
  else if (!trace->in_args && strcmp(key, "ts") == 0)
    event->begin_us = value;
  else if (!trace->in_args && strcmp(key, "dur") == 0)
    event->duration_us = value;
}

static int on_number(void *data, const char *text, size_t n)
{
  Trace *trace = data;
  char copy[TEXT_MAX];

  if (!is_at_home(trace))
    return 1;
  copy_text(copy, (const unsigned char *)text, n);
  take_number(trace, g_ascii_strtod(copy, NULL));
  return 1;
}

static int on_string(void *data, const unsigned char *text, size_t n)
{
  Trace *trace = data;
  KinetoEvent *event = &trace->event;
  char copy[TEXT_MAX];

  if (!is_at_home(trace))
    return 1;
  copy_text(copy, text, n);
  if (trace->in_args && strcmp(trace->key, "Collective name") == 0)
    event->collective = kineto_collective(copy);
  else if (trace->in_args && strcmp(trace->key, "dtype") == 0)
    event->dtype = kineto_dtype(copy);
  else if (!trace->in_args && strcmp(trace->key, "ph") == 0)
    event->is_complete = strcmp(copy, "X") == 0;
  else if (!trace->in_args && strcmp(trace->key, "cat") == 0) {
    event->is_kernel = g_ascii_strcasecmp(copy, "kernel") == 0;
    event->is_annotation = strcmp(copy, "user_annotation") == 0;
  } else if (!trace->in_args && strcmp(trace->key, "name") == 0) {
    event->is_nccl = g_ascii_strncasecmp(copy, "nccl", strlen("nccl")) == 0;
    event->is_step = g_str_has_prefix(copy, "ProfilerStep#");
  }
  return 1;
}

static int on_key(void *data, const unsigned char *text, size_t n)
{
  Trace *trace = data;

  copy_text(trace->key, text, n);
  return 1;
}

static int on_open(Trace *trace)
{
  trace->is_too_deep = trace->depth >= DEPTH_MAX;
  trace->depth++;
  return !trace->is_too_deep;
}

static int on_open_object(void *data)
{
  Trace *trace = data;

  if (trace->in_events && trace->depth == IN_EVENTS)
    trace->event = (KinetoEvent){ .duration_us = -1 };
  else if (trace->in_events && trace->depth == IN_EVENT)
    trace->in_args = strcmp(trace->key, "args") == 0;
  return on_open(trace);
}

static int on_close_object(void *data)
{
  Trace *trace = data;

  trace->depth--;
  if (trace->in_events && trace->depth == IN_EVENTS)
    kineto_events_add(trace->events, &trace->event);
  else if (trace->in_events && trace->depth == IN_EVENT)
    trace->in_args = false;
  return 1;
}

static int on_open_array(void *data)
{
  Trace *trace = data;

  if (trace->depth == IN_ROOT && strcmp(trace->key, "traceEvents") == 0)
    trace->in_events = true;
  return on_open(trace);
}

static int on_close_array(void *data)
{
  Trace *trace = data;

  trace->depth--;
  if (trace->depth == IN_ROOT)
    trace->in_events = false;
  return 1;
}

static const yajl_callbacks callbacks = {
  .yajl_number = on_number,
  .yajl_string = on_string,
  .yajl_start_map = on_open_object,
  .yajl_map_key = on_key,
  .yajl_end_map = on_close_object,
  .yajl_start_array = on_open_array,
  .yajl_end_array = on_close_array,
};

static bool kineto_recognises(const char *head)
{
  return head[strspn(head, " \t\r\n")] == '{' && strstr(head, "\"traceEvents\"") != NULL;
}

static bool parse_failed(yajl_handle parser, ImportInput *input, const Trace *trace,
                         GError **error)
{
  unsigned char *why = yajl_get_error(parser, 0, NULL, 0);
  g_autofree char *cause = g_strdelimit(g_strdup((const char *)why), "\n", ' ');

  yajl_free_error(parser, why);
  return import_fail(input, error, "not a trace: %s",
                     trace->is_too_deep ? "nested over 256 deep" : g_strstrip(cause));
}

static bool parse(yajl_handle parser, ImportInput *input, const Trace *trace,
                  GError **error)
{
  g_autofree char *bytes = g_malloc(READ_B);

  for (;;) {
    const gssize n = import_next_bytes(input, bytes, READ_B, error);
    if (n < 0)
      return false;
    const yajl_status status =
      n > 0 ? yajl_parse(parser, (const unsigned char *)bytes, (size_t)n)
            : yajl_complete_parse(parser);
    if (status != yajl_status_ok)
      return parse_failed(parser, input, trace, error);
    if (n == 0)
      return true;
  }
}

static bool kineto_read(ImportInput *input, const ImportOptions *options,
                        Imported *imported, GError **error)
{
  g_autoptr(KinetoEvents) events = kineto_events_new();
  Trace trace = { .events = events };
  yajl_handle parser = yajl_alloc(&callbacks, NULL, &trace);

  yajl_config(parser, yajl_dont_validate_strings, 1);
  const bool done = parse(parser, input, &trace, error);
  yajl_free(parser);
  return done && kineto_events_summarise(events, input, options, imported, error);
}

const ImporterOps importer_kineto = {
  .info = {
    .name = "kineto",
    .summary = "traces of the PyTorch profiler: steps and collectives",
    .source = "pytorch/kineto output_json.cpp; PyTorch ParamCommsUtils.hpp",
  },
  .recognises = kineto_recognises,
  .read = kineto_read,
};
