/**
 * @file chakra.c
 * @brief Chakra execution traces (MLCommons): what one rank computed and sent.
 *
 * Length-delimited protocol buffers: a GlobalMetadata, then one Node after the other. Nodes
 * with a duration add up to "step_compute"; collectives with a size and a duration become
 * samples. A trace tells no layers, so no scenario comes from it.
 *
 * Source: mlcommons/chakra schema/protobuf/et_def.proto.
 */
#include "calibrate/import.h"

#include <string.h>

#define LIMIT_B ((gsize)1 << 30)
#define TIME_MAX_us 1e15
#define SIZE_MAX_B 1e15

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { NODE_COMP = 4, NODE_COMM_COLL = 7 };
enum { FIELD_TYPE = 3, FIELD_DURATION = 7, FIELD_ATTRIBUTE = 10 };

/** Bytes still to be read. */
typedef struct {
  const guint8 *at, *end;
} Slice;

/** One field of a message. */
typedef struct {
  guint number, wire;
  guint64 value; /* of WIRE_VARINT, WIRE_64, WIRE_32 */
  Slice bytes;   /* of WIRE_BYTES */
} Field;

typedef struct {
  guint64 type, duration_us;
  bool is_cpu;
  gint64 comm_type, comm_size_B; /* -1: not said */
} Node;

/* The order of comm_type in et_def.proto. */
static const char *const collectives[] = { "all_reduce", "reduce",
                                           "all_gather", NULL,
                                           NULL,         "broadcast",
                                           "all_to_all", "reduce_scatter" };

static bool read_varint(Slice *slice, guint64 *value)
{
  *value = 0;
  for (guint shift = 0; shift < 64 && slice->at < slice->end; shift += 7) {
    const guint8 byte = *slice->at++;
    *value |= (guint64)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0)
      return true;
  }
  return false;
}

static bool read_fixed(Slice *slice, guint n, guint64 *value)
{
  if (slice->end - slice->at < (gssize)n)
    return false;
  *value = 0;
  for (guint i = 0; i < n; i++)
    *value |= (guint64)slice->at[i] << (8 * i);
  slice->at += n;
  return true;
}

static bool read_bytes(Slice *slice, Slice *bytes)
{
  guint64 n;

  if (!read_varint(slice, &n) || n > (guint64)(slice->end - slice->at))
    return false;
  *bytes = (Slice){ slice->at, slice->at + n };
  slice->at += n;
  return true;
}

static bool read_field(Slice *slice, Field *field)
{
  guint64 tag;

  if (!read_varint(slice, &tag) || tag >> 3 == 0 || tag >> 3 > G_MAXINT32)
    return false;
  field->number = (guint)(tag >> 3);
  field->wire = (guint)(tag & 7);
  switch (field->wire) {
  case WIRE_VARINT:
    return read_varint(slice, &field->value);
  case WIRE_64:
    return read_fixed(slice, 8, &field->value);
  case WIRE_32:
    return read_fixed(slice, 4, &field->value);
  case WIRE_BYTES:
    return read_bytes(slice, &field->bytes);
  default:
    return false;
  }
}

static bool is_text(Slice bytes, const char *text)
{
  return (gsize)(bytes.end - bytes.at) == strlen(text) &&
         memcmp(bytes.at, text, strlen(text)) == 0;
}

/* An attribute: its name, then one value of whichever integer kind. */
static bool read_attribute(Slice slice, Node *node)
{
  Slice name = { NULL, NULL };
  guint64 value = 0;
  bool has_value = false;

  while (slice.at < slice.end) {
    Field field;
    if (!read_field(&slice, &field))
      return false;
    if (field.number == 1 && field.wire == WIRE_BYTES)
      name = field.bytes;
    else if (field.number >= 7 && field.number <= 27 && field.wire != WIRE_BYTES) {
      value = field.value;
      has_value = true;
    }
  }
  if (!has_value || name.at == NULL)
    return true;
  if (is_text(name, "is_cpu_op"))
    node->is_cpu = value != 0;
  else if (is_text(name, "comm_type"))
    node->comm_type = (gint64)MIN(value, G_MAXINT32);
  else if (is_text(name, "comm_size"))
    node->comm_size_B = (gint64)MIN(value, (guint64)SIZE_MAX_B);
  return true;
}

static bool read_node(Slice slice, Node *node)
{
  *node = (Node){ .comm_type = -1, .comm_size_B = -1 };
  while (slice.at < slice.end) {
    Field field;
    if (!read_field(&slice, &field))
      return false;
    if (field.number == FIELD_TYPE && field.wire == WIRE_VARINT)
      node->type = field.value;
    else if (field.number == FIELD_DURATION && field.wire == WIRE_VARINT)
      node->duration_us = field.value;
    else if (field.number == FIELD_ATTRIBUTE && field.wire == WIRE_BYTES &&
             !read_attribute(field.bytes, node))
      return false;
  }
  return true;
}

/* A trace begins with a short message whose first field is a text, the version. */
static bool chakra_recognises(const char *head)
{
  const guint8 *bytes = (const guint8 *)head;
  const guint n = bytes[0];

  return n >= 2 && n < 0x80 && bytes[1] == 0x0a && bytes[2] < n && bytes[2] > 0 &&
         g_ascii_isdigit(head[3]);
}

static void add_collective(const Node *node, const ImportOptions *options,
                           Imported *imported, guint *n_untold)
{
  const bool is_known = node->comm_type >= 0 &&
                        node->comm_type < (gint64)G_N_ELEMENTS(collectives) &&
                        collectives[node->comm_type] != NULL;

  if (!is_known || node->comm_size_B <= 0 || node->duration_us == 0) {
    (*n_untold)++;
    return;
  }
  Sample *sample = sample_new(collectives[node->comm_type]);
  sample_set(&sample->library, "nccl");
  sample_set(&sample->variant, "traced");
  sample->ranks = options->ranks;
  sample->nodes = MAX(options->nodes, 1);
  sample->size = (double)node->comm_size_B;
  sample->median_s = (double)node->duration_us * 1e-6;
  sample->n = 1;
  sample->flags = SAMPLE_SKEW;
  g_ptr_array_add(imported->samples, sample);
}

static void add_compute(double compute_us, Imported *imported)
{
  if (compute_us <= 0)
    return;
  Sample *sample = sample_new("step_compute");
  sample_set(&sample->library, "pytorch");
  sample_set(&sample->place, "gpu");
  sample->ranks = 1;
  sample->nodes = 1;
  sample->axis = SAMPLE_COUNT;
  sample->size = 1;
  sample->median_s = compute_us * 1e-6;
  sample->n = 1;
  g_ptr_array_add(imported->samples, sample);
}

static bool read_nodes(Slice slice, ImportInput *input, const ImportOptions *options,
                       Imported *imported, GError **error)
{
  double compute_us = 0;
  guint n_nodes = 0, n_untold = 0;
  Slice message;

  if (!read_bytes(&slice, &message))
    return import_fail(input, error, "not a Chakra trace: no metadata");
  while (slice.at < slice.end) {
    Node node;
    if (!read_bytes(&slice, &message) || !read_node(message, &node))
      return import_fail(input, error, "node %u is broken or cut off", n_nodes + 1);
    n_nodes++;
    if (node.type == NODE_COMP && !node.is_cpu && node.duration_us <= TIME_MAX_us)
      compute_us += (double)node.duration_us;
    else if (node.type == NODE_COMM_COLL && node.duration_us <= TIME_MAX_us)
      add_collective(&node, options, imported, &n_untold);
  }
  add_compute(compute_us, imported);
  g_autofree char *count = g_strdup_printf("%u", n_nodes);
  imported_add_fact(imported, "chakra_nodes", count);
  if (n_untold > 0)
    imported_note(imported, input,
                  "%u collectives without size, duration or known kind; left out",
                  n_untold);
  return true;
}

static bool chakra_read(ImportInput *input, const ImportOptions *options,
                        Imported *imported, GError **error)
{
  g_autoptr(GByteArray) bytes = g_byte_array_new();
  guint8 part[4096];

  if (options->ranks < 2)
    return import_fail(input, error,
                       "a trace does not tell how many ranks took part; --ranks N does");
  for (;;) {
    const gssize n = import_next_bytes(input, (char *)part, sizeof part, error);
    if (n < 0)
      return false;
    if (n == 0)
      break;
    if (bytes->len + (gsize)n > LIMIT_B)
      return import_fail(input, error, "over %" G_GSIZE_FORMAT " MiB", LIMIT_B >> 20);
    g_byte_array_append(bytes, part, (guint)n);
  }
  return read_nodes((Slice){ bytes->data, bytes->data + bytes->len }, input, options,
                    imported, error);
}

const ImporterOps importer_chakra = {
  .info = {
    .name = "chakra",
    .summary = "Chakra execution traces, one rank's .et file",
    .source = "mlcommons/chakra schema/protobuf/et_def.proto",
  },
  .recognises = chakra_recognises,
  .read = chakra_read,
};
