/**
 * @file kineto.c
 * @brief Traces of the PyTorch profiler: how long steps compute, and each collective.
 *
 * Read as a stream, so that traces of gigabytes fit: of "traceEvents" only complete events
 * ("ph": "X") are kept, as numbers: kernels, the profiler's steps, and what tells of which
 * layer a kernel is. A NCCL kernel
 * runs from the moment its rank arrives, so its time includes waiting for the slowest rank:
 * a collective's sample is the lower quartile of its repetitions, and says so.
 *
 * Source: pytorch/kineto libkineto/src/output_json.cpp; PyTorch ParamCommsUtils.hpp.
 */
#include "calibrate/import/kineto_layers.h"

#include <string.h>
#include <yajl/yajl_parse.h>

#define READ_B 65536
#define TEXT_MAX KINETO_NAME_MAX
#define DEPTH_MAX 256

typedef enum {
  IN_ROOT = 1,
  IN_EVENTS = 2,
  IN_EVENT = 3,
  IN_ARGS = 4,
  IN_INPUTS = 5, /* "Input Dims" and "Input type" */
  IN_INPUT = 6,
} Depth;

/** Where in the file the parser is, and the event it is in. */
typedef struct {
  KinetoEvents *events;
  KinetoLayers *layers;
  guint depth;
  bool in_events, in_args;
  bool in_dims, in_types; /* of the inputs */
  guint n_types;
  guint line;        /* of the chunk being parsed, from 1 */
  gsize line_offset; /* bytes of that line before the chunk */
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

/* Of an event's arguments. */
static double *argument(KinetoEvent *event, const char *key)
{
  const struct {
    const char *key;
    double *value;
  } known[] = {
    { "In msg nelems", &event->n_in },       { "Out msg nelems", &event->n_out },
    { "Group size", &event->n_ranks },       { "correlation", &event->correlation },
    { "External id", &event->external },     { "external id", &event->external },
    { "Sequence number", &event->sequence }, { "Fwd thread id", &event->fwd_thread },
  };

  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    if (strcmp(known[i].key, key) == 0)
      return known[i].value;
  return NULL;
}

static double *number(KinetoEvent *event, const char *key)
{
  if (strcmp(key, "ts") == 0)
    return &event->begin_us;
  if (strcmp(key, "dur") == 0)
    return &event->duration_us;
  return strcmp(key, "tid") == 0 ? &event->thread : NULL;
}

/* One side of an input's shape. */
static void take_side(KinetoEvent *event, double n)
{
  if (event->n_inputs >= KINETO_INPUTS_MAX)
    return;
  double *values = &event->values[event->n_inputs];
  *values = *values == 0 ? n : *values * n;
}

static int on_number(void *data, const char *text, size_t n)
{
  Trace *trace = data;
  char copy[TEXT_MAX];

  if (!is_at_home(trace) && !(trace->in_dims && trace->depth == IN_INPUT))
    return 1;
  copy_text(copy, (const unsigned char *)text, n);
  const double value = g_ascii_strtod(copy, NULL);
  double *target = !is_at_home(trace) ? NULL
                   : trace->in_args   ? argument(&trace->event, trace->key)
                                      : number(&trace->event, trace->key);
  if (target != NULL)
    *target = value;
  else if (!is_at_home(trace))
    take_side(&trace->event, value);
  return 1;
}

static void take_category(KinetoEvent *event, const char *text)
{
  event->is_kernel = g_ascii_strcasecmp(text, "kernel") == 0;
  event->is_annotation = strcmp(text, "user_annotation") == 0;
  event->is_operator = strcmp(text, "cpu_op") == 0;
  event->is_python = strcmp(text, "python_function") == 0;
  event->is_runtime =
    g_str_has_suffix(text, "_runtime") || g_str_has_suffix(text, "_driver");
}

static void take_name(KinetoEvent *event, const char *text)
{
  event->is_nccl = g_ascii_strncasecmp(text, "nccl", strlen("nccl")) == 0;
  event->is_step = g_str_has_prefix(text, "ProfilerStep#");
  g_strlcpy(event->name, text, sizeof event->name);
}

static void take_type(Trace *trace, const char *text)
{
  if (trace->n_types < KINETO_INPUTS_MAX)
    trace->event.types[trace->n_types] =
      text[g_str_has_prefix(text, "c10::") ? strlen("c10::") : 0];
  trace->n_types++;
}

static int on_string(void *data, const unsigned char *text, size_t n)
{
  Trace *trace = data;
  KinetoEvent *event = &trace->event;
  char copy[TEXT_MAX];

  copy_text(copy, text, n);
  if (trace->in_types && trace->depth == IN_INPUTS)
    take_type(trace, copy);
  if (!is_at_home(trace))
    return 1;
  if (trace->in_args && strcmp(trace->key, "Collective name") == 0)
    event->collective = kineto_collective(copy);
  else if (trace->in_args && strcmp(trace->key, "dtype") == 0)
    event->dtype = kineto_dtype(copy);
  else if (!trace->in_args && strcmp(trace->key, "ph") == 0)
    event->is_complete = strcmp(copy, "X") == 0;
  else if (!trace->in_args && strcmp(trace->key, "cat") == 0)
    take_category(event, copy);
  else if (!trace->in_args && strcmp(trace->key, "name") == 0)
    take_name(event, copy);
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
    trace->event = (KinetoEvent)KINETO_EVENT;
  else if (trace->in_events && trace->depth == IN_EVENT)
    trace->in_args = strcmp(trace->key, "args") == 0;
  return on_open(trace);
}

static int on_close_object(void *data)
{
  Trace *trace = data;

  trace->depth--;
  if (trace->in_events && trace->depth == IN_EVENTS) {
    kineto_events_add(trace->events, &trace->event);
    kineto_layers_add(trace->layers, &trace->event);
  } else if (trace->in_events && trace->depth == IN_EVENT)
    trace->in_args = false;
  return 1;
}

static int on_open_array(void *data)
{
  Trace *trace = data;

  if (trace->depth == IN_ROOT && strcmp(trace->key, "traceEvents") == 0)
    trace->in_events = true;
  if (trace->in_args && trace->depth == IN_ARGS) {
    trace->in_dims = strcmp(trace->key, "Input Dims") == 0;
    trace->in_types = strcmp(trace->key, "Input type") == 0;
    trace->n_types = 0;
  }
  return on_open(trace);
}

static int on_close_array(void *data)
{
  Trace *trace = data;

  trace->depth--;
  if (trace->in_dims && trace->depth == IN_INPUTS)
    trace->event.n_inputs++;
  if (trace->depth <= IN_ARGS)
    trace->in_dims = trace->in_types = false;
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

/* The lines of what is done with. */
static void pass_lines(Trace *trace, const char *bytes, gsize n)
{
  for (const char *end = bytes + n; bytes < end; bytes++) {
    trace->line_offset++;
    if (*bytes == '\n') {
      trace->line++;
      trace->line_offset = 0;
    }
  }
}

static bool parse_failed(yajl_handle parser, ImportInput *input, const Trace *trace,
                         GError **error)
{
  unsigned char *why = yajl_get_error(parser, 0, NULL, 0);
  g_autofree char *cause = g_strdelimit(g_strdup((const char *)why), "\n", ' ');
  const ImportPlace place = { trace->line,
                              (guint)MIN(trace->line_offset + 1, (gsize)G_MAXINT) };

  yajl_free_error(parser, why);
  return import_fail_at(input, place, error, "not a trace: %s",
                        trace->is_too_deep ? "nested over 256 deep" : g_strstrip(cause));
}

static bool parse(yajl_handle parser, ImportInput *input, Trace *trace, GError **error)
{
  g_autofree char *bytes = g_malloc(READ_B);

  for (;;) {
    const gssize n = import_next_bytes(input, bytes, READ_B, error);
    if (n < 0)
      return false;
    const yajl_status status =
      n > 0 ? yajl_parse(parser, (const unsigned char *)bytes, (size_t)n)
            : yajl_complete_parse(parser);
    if (status != yajl_status_ok) {
      /* The byte that was one too many counts among the consumed. */
      const gsize consumed = n > 0 ? MIN((gsize)n, yajl_get_bytes_consumed(parser)) : 0;
      pass_lines(trace, bytes, consumed - (consumed > 0));
      return parse_failed(parser, input, trace, error);
    }
    pass_lines(trace, bytes, (gsize)n);
    if (n == 0)
      return true;
  }
}

static bool kineto_read(ImportInput *input, const ImportOptions *options,
                        Imported *imported, GError **error)
{
  g_autoptr(KinetoEvents) events = kineto_events_new();
  g_autoptr(KinetoLayers) layers = kineto_layers_new();
  Trace trace = { .events = events, .layers = layers, .line = 1 };
  yajl_handle parser = yajl_alloc(&callbacks, NULL, &trace);

  yajl_config(parser, yajl_dont_validate_strings, 1);
  const bool done = parse(parser, input, &trace, error);
  yajl_free(parser);
  if (!done || !kineto_events_summarise(events, input, options, imported, error))
    return false;
  kineto_layers_summarise(layers, input, imported);
  return true;
}

const ImporterOps importer_kineto = {
  .info = {
    .name = "kineto",
    .summary = "traces of the PyTorch profiler: steps, collectives, layers",
    .source = "pytorch/kineto output_json.cpp; PyTorch ParamCommsUtils.hpp",
  },
  .recognises = kineto_recognises,
  .read = kineto_read,
};
