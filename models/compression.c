/**
 * @file compression.c
 * @brief Which gradients a codec encodes, and what a unit of them becomes.
 */
#include "models/compression.h"

struct Compression {
  const CodecOps *codec;
  const void *params;
  const Workload *workload;
  CodecDevice device;
  CompressionPlace place;
  guint n_workers;
  guint rack_nodes; /* of which only what leaves them is encoded; 0: all is */
  guint n_nodes;
  guint64 min_size_B;
  guint first_layer, end_layer; /* first_layer and those before end_layer are encoded */
  bool *encodes;                /* of each gradient */
};

static const Gradient *gradient_at(const Compression *self, guint32 index)
{
  return &g_array_index(self->workload->gradients, Gradient, index);
}

static CodecInput input_of(const Compression *self, guint32 index)
{
  const Gradient *gradient = gradient_at(self, index);
  const ModelTensor *tensor = model_tensor(self->workload->model, gradient->tensor);

  return (CodecInput){
    .n_values = (double)tensor->n_values,
    .element_B = gradient->size_B / (double)tensor->n_values,
    .n_rows = (double)tensor->n_rows,
    .n_workers = self->n_workers,
  };
}

/* What one GPU encodes of a gradient: of a rack's sum its part, for those of other racks.
 */
static CodecInput encoded_of(const Compression *self, guint32 index)
{
  CodecInput input = input_of(self, index);

  if (self->rack_nodes == 0)
    return input;
  input.n_workers = self->n_nodes / self->rack_nodes;
  input.n_values *= (double)input.n_workers / self->n_workers;
  return input;
}

/* The layers with tensors that the rules leave over, counted from either end. */
static void find_layers(Compression *self, const CompressionSpec *spec)
{
  const Model *model = self->workload->model;
  guint n_before = 0, n_with = 0;

  for (guint i = 0; i < model->layers->len; i++)
    n_with += model_layer(model, i)->n_tensors > 0;
  self->first_layer = model->layers->len;
  self->end_layer = 0;
  for (guint i = 0; i < model->layers->len; i++) {
    if (model_layer(model, i)->n_tensors == 0)
      continue;
    const guint n_after = n_with - ++n_before;
    if (n_before > spec->skip_first_layers && self->first_layer > i)
      self->first_layer = i;
    if (n_after >= spec->skip_last_layers)
      self->end_layer = i + 1;
  }
}

static bool rules_let_through(const Compression *self, guint32 index)
{
  const Gradient *gradient = gradient_at(self, index);

  return gradient->size_B >= (double)self->min_size_B &&
         gradient->layer >= self->first_layer && gradient->layer < self->end_layer;
}

/* What encodes. A CPU starts no kernels. */
static CodecDevice device_of(const CompressionConfig *config, const GpuSpec *gpu)
{
  const CompressionSpec *spec = config->spec;

  if (config->place == COMPRESS_PIECES)
    return (CodecDevice){ .memory_Bps = spec->cpu_threads * spec->cpu_rate_Bps,
                          .flops = G_MAXDOUBLE };
  return (CodecDevice){ .memory_Bps = gpu_memory_Bps(gpu),
                        .flops = gpu->fp32_flops,
                        .launch_s = spec->kernel_launch_s };
}

Compression *compression_new(const CompressionConfig *config, const Workload *workload,
                             const GpuSpec *gpu)
{
  if (config->codec == &codec_none ||
      (config->place == COMPRESS_PIECES && config->n_nodes <= 1) ||
      (config->place != COMPRESS_PIECES && config->spec->nodes_per_rack > 0 &&
       config->spec->nodes_per_rack >= config->n_nodes))
    return NULL;

  Compression *self = g_new0(Compression, 1);
  self->codec = config->codec;
  self->params = config->params;
  self->workload = workload;
  self->place = config->place;
  self->n_workers = config->n_workers;
  self->n_nodes = config->n_nodes;
  self->rack_nodes = config->place == COMPRESS_PIECES ? 0 : config->spec->nodes_per_rack;
  self->min_size_B = config->spec->min_size_B;
  self->device = device_of(config, gpu);
  find_layers(self, config->spec);
  self->encodes = g_new0(bool, workload->gradients->len + 1);
  for (guint32 i = 0; i < workload->gradients->len; i++) {
    const CodecInput input = input_of(self, i);
    self->encodes[i] =
      rules_let_through(self, i) &&
      (self->codec->encodes == NULL || self->codec->encodes(self->params, &input));
  }
  return self;
}

void compression_free(Compression *compression)
{
  if (compression == NULL)
    return;
  g_free(compression->encodes);
  g_free(compression);
}

/* Are tensors that the codec takes encoded each on its own, whatever they travel with? */
static bool encodes_apart(const Compression *self)
{
  return self->codec->by_tensor || self->place != COMPRESS_UNITS;
}

static bool check_input(const Compression *self, const CodecInput *input, const char *name,
                        GError **error)
{
  g_autofree char *cause =
    self->codec->refuses == NULL ? NULL : self->codec->refuses(self->params, input);

  if (cause == NULL)
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "%s: %s", name, cause);
  return false;
}

/* Can the racks be told apart? */
static bool check_racks(const Compression *self, GError **error)
{
  const char *cause = NULL;

  if (self->rack_nodes == 0)
    return true;
  if (self->place != COMPRESS_UNITS)
    cause = "this strategy encodes every tensor before any is summed: leave it out, or "
            "choose a strategy that encodes buckets, such as ddp";
  else if (self->codec->n_rounds > 1 || self->codec->after_backward)
    cause = "this codec takes several rounds of all GPUs: leave it out, or choose another "
            "codec";
  else if (self->n_nodes % self->rack_nodes != 0)
    cause = "the nodes do not fill their racks: choose a divisor of cluster.nodes";
  if (cause != NULL)
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "nodes_per_rack: %s", cause);
  return cause == NULL;
}

bool compression_check(const Compression *self, GError **error)
{
  const guint n = self->workload->gradients->len;
  CodecInput all = { .n_workers = self->n_workers };

  if (!check_racks(self, error))
    return false;
  if (self->place == COMPRESS_PIECES &&
      (self->codec->by_tensor || self->codec->after_backward)) {
    g_set_error(
      error, SIM_ERROR, SIM_ERROR_VALUE,
      "codec %s takes whole tensors of all GPUs; servers add pieces of them: choose "
      "another codec, or a strategy that runs collectives, such as ddp",
      self->codec->info.name);
    return false;
  }
  for (guint32 i = 0; i < n; i++) {
    const CodecInput input = input_of(self, i);
    const Gradient *gradient = gradient_at(self, i);
    const char *name = model_tensor(self->workload->model, gradient->tensor)->name;
    if (!self->encodes[i])
      continue;
    all.n_values += input.n_values;
    if (encodes_apart(self) && !check_input(self, &input, name, error))
      return false;
  }
  if (all.n_values > 0)
    return check_input(self, &all, "all gradients together", error);
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
              "codec %s would leave every one of the %u gradients as it is: write "
              "{\"codec\": \"none\"}, or loosen the rules",
              self->codec->info.name, n);
  return false;
}

/* ---- what a unit becomes ----------------------------------------------------------- */

/* The codec's part of a unit, summed over what it encodes together. */
typedef struct {
  double wire_B[CODEC_MAX_ROUNDS];
  CodecWork encode[CODEC_MAX_ROUNDS];
  CodecWork decode;
  bool is_empty;
} Encoded;

static guint n_rounds(const Compression *self)
{
  return self->codec->n_rounds;
}

static void encode_input(const Compression *self, const CodecInput *input, Encoded *sum)
{
  for (guint round = 0; round < n_rounds(self); round++) {
    sum->wire_B[round] += self->codec->wire_B(self->params, input, round);
    codec_work_add(&sum->encode[round], self->codec->encode(self->params, input, round));
  }
  codec_work_add(&sum->decode, self->codec->decode(self->params, input));
  sum->is_empty = false;
}

static double encode_gradients(const Compression *self, const guint32 *gradients, guint n,
                               Encoded *sum)
{
  const bool apart = encodes_apart(self);
  CodecInput together = { 0 };
  double full_B = 0;

  for (guint i = 0; i < n; i++) {
    const CodecInput input = encoded_of(self, gradients[i]);
    if (!self->encodes[gradients[i]]) {
      full_B += gradient_at(self, gradients[i])->size_B;
    } else if (apart) {
      encode_input(self, &input, sum);
    } else {
      const double n_values = together.n_values + input.n_values;
      together = input;
      together.n_values = n_values;
    }
  }
  if (together.n_values > 0)
    encode_input(self, &together, sum);
  return full_B;
}

static void add_round(Encoding *encoding, CollKind kind, double size_B, double work_s)
{
  encoding->rounds[encoding->n_rounds++] =
    (CompressionRound){ .kind = kind, .move = MOVE_N, .size_B = size_B, .work_s = work_s };
  encoding->buffer_B = MAX(encoding->buffer_B, size_B);
}

static void add_rounds(const Compression *self, const Encoded *sum, Encoding *encoding)
{
  const CodecExchange exchange = self->codec->exchange(self->params);

  for (guint round = 0; round < n_rounds(self); round++) {
    const double wire_B = sum->wire_B[round];
    const double work_s = round == 0 ? 0 : codec_work_s(&sum->encode[round], &self->device);
    switch (exchange) {
    case CODEC_SUM:
      add_round(encoding, COLL_ALL_REDUCE, wire_B, work_s);
      encoding->message_B += wire_B;
      break;
    case CODEC_GATHER:
      add_round(encoding, COLL_ALL_GATHER, wire_B * self->n_workers, work_s);
      encoding->message_B += wire_B;
      break;
    case CODEC_SCATTER:
      add_round(encoding, round == 0 ? COLL_ALL_TO_ALL : COLL_ALL_GATHER, wire_B, work_s);
      encoding->message_B = wire_B;
      break;
    }
  }
}

/* In the rack, across, in the rack. */
static void add_rack_rounds(const Compression *self, const Encoded *sum, double dense_B,
                            Encoding *encoding)
{
  const guint n_racks = self->n_nodes / self->rack_nodes;
  const bool adds = self->codec->exchange(self->params) == CODEC_SUM;
  const double wire_B = sum->wire_B[0];
  const CompressionRound rounds[] = {
    { .kind = COLL_REDUCE_SCATTER, .move = MOVE_RACK_REDUCE_SCATTER, .size_B = dense_B },
    { .kind = adds ? COLL_ALL_REDUCE : COLL_ALL_GATHER,
      .move = adds ? MOVE_ACROSS_ALL_REDUCE : MOVE_ACROSS_ALL_GATHER,
      .size_B = adds ? wire_B : wire_B * n_racks,
      .work_s = codec_work_s(&sum->encode[0], &self->device) },
    { .kind = COLL_ALL_GATHER,
      .move = MOVE_RACK_ALL_GATHER,
      .size_B = dense_B,
      .work_s = codec_work_s(&sum->decode, &self->device) },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rounds); i++)
    encoding->rounds[encoding->n_rounds++] = rounds[i];
  encoding->buffer_B = MAX(encoding->buffer_B, rounds[1].size_B);
  encoding->message_B += wire_B * self->n_workers / n_racks;
}

static double sum_B(const Compression *self, const guint32 *gradients, guint n)
{
  double size_B = 0;

  for (guint i = 0; i < n; i++)
    size_B += gradient_at(self, gradients[i])->size_B;
  return size_B;
}

static Encoding encode(const Compression *self, const guint32 *gradients, guint n)
{
  Encoding encoding = { 0 };
  Encoded sum = { .is_empty = true };
  const double full_B = encode_gradients(self, gradients, n, &sum);

  if (full_B > 0) {
    add_round(&encoding, COLL_ALL_REDUCE, full_B, 0);
    encoding.buffer_B = 0; /* in place */
  }
  if (!sum.is_empty && self->rack_nodes > 0)
    add_rack_rounds(self, &sum, sum_B(self, gradients, n) - full_B, &encoding);
  if (!sum.is_empty && self->rack_nodes == 0) {
    add_rounds(self, &sum, &encoding);
    encoding.encode_s = codec_work_s(&sum.encode[0], &self->device);
    encoding.decode_s = codec_work_s(&sum.decode, &self->device);
  }
  encoding.message_B += full_B;
  return encoding;
}

Encoding compression_encode(const Compression *compression, const GArray *gradients)
{
  return encode(compression, (const guint32 *)(const void *)gradients->data,
                gradients->len);
}

Encoding compression_encode_one(const Compression *compression, guint32 gradient)
{
  return encode(compression, &gradient, 1);
}

Encoding compression_encode_part(const Compression *compression, guint32 gradient,
                                 guint n_parts)
{
  Encoding encoding = compression_encode_one(compression, gradient);

  for (guint r = 0; r < encoding.n_rounds; r++) {
    encoding.rounds[r].size_B /= n_parts;
    encoding.rounds[r].work_s /= n_parts;
  }
  encoding.encode_s /= n_parts;
  encoding.decode_s /= n_parts;
  encoding.message_B /= n_parts;
  encoding.buffer_B /= n_parts;
  return encoding;
}

Encoding compression_encode_piece(const Compression *self, guint32 gradient, double size_B)
{
  CodecInput input = input_of(self, gradient);

  input.n_values *= size_B / gradient_at(self, gradient)->size_B;
  input.n_workers = 1;
  const CodecWork encode = self->codec->encode(self->params, &input, 0);
  const CodecWork decode = self->codec->decode(self->params, &input);
  const double encode_s = codec_work_s(&encode, &self->device);
  const double decode_s = codec_work_s(&decode, &self->device);

  return (Encoding){
    .encode_s = encode_s,
    .decode_s = decode_s,
    .message_B = self->codec->wire_B(self->params, &input, 0),
  };
}

guint compression_moves(const Compression *compression)
{
  if (compression->rack_nodes == 0)
    return 0;
  return 1u << MOVE_RACK_REDUCE_SCATTER | 1u << MOVE_RACK_ALL_GATHER |
         (compression->codec->exchange(compression->params) == CODEC_SUM
            ? 1u << MOVE_ACROSS_ALL_REDUCE
            : 1u << MOVE_ACROSS_ALL_GATHER);
}

bool compression_is_plain_sum(const Compression *compression)
{
  return compression->codec->n_rounds == 1 &&
         compression->codec->exchange(compression->params) == CODEC_SUM;
}

bool compression_is_stepwise(const Compression *compression)
{
  return compression->codec->n_rounds > 1;
}

const char *compression_codec(const Compression *compression)
{
  return compression->codec->info.name;
}

bool compression_takes(const Compression *compression, guint32 gradient)
{
  return compression->encodes[gradient];
}

CompressionPlace compression_place(const Compression *compression)
{
  return compression->place;
}

/* ---- the whole --------------------------------------------------------------------- */

guint compression_kinds(const Compression *compression)
{
  if (compression->place == COMPRESS_PIECES)
    return 0;
  switch (compression->codec->exchange(compression->params)) {
  case CODEC_SUM:
    return COLL_ALL_REDUCE;
  case CODEC_GATHER:
    return COLL_ALL_REDUCE | COLL_ALL_GATHER;
  case CODEC_SCATTER:
    return COLL_ALL_REDUCE | COLL_ALL_TO_ALL | COLL_ALL_GATHER;
  }
  g_return_val_if_reached(0);
}

Workload *compression_workload_new(const Compression *compression)
{
  Workload *workload = g_new(Workload, 1);

  *workload = *compression->workload;
  workload->gradients = g_array_copy(compression->workload->gradients);
  workload->gradient_B = 0;
  for (guint32 i = 0; i < workload->gradients->len; i++) {
    Gradient *gradient = &g_array_index(workload->gradients, Gradient, i);
    gradient->size_B = compression_encode_one(compression, i).message_B;
    workload->gradient_B += gradient->size_B;
  }
  return workload;
}

void compression_workload_free(Workload *workload)
{
  if (workload == NULL)
    return;
  g_array_unref(workload->gradients);
  g_free(workload);
}

bool compression_after_backward(const Compression *compression)
{
  return compression->codec->after_backward;
}

double compression_state_B(const Compression *compression)
{
  double state_B = 0;

  if (compression->place == COMPRESS_PIECES)
    return 0;
  for (guint32 i = 0; i < compression->workload->gradients->len; i++) {
    const CodecInput input = encoded_of(compression, i);
    if (compression->encodes[i] && compression->codec->state_B != NULL)
      state_B += compression->codec->state_B(compression->params, &input);
  }
  return state_B;
}

double compression_warmup_share(const Compression *compression)
{
  return compression->codec->warmup_share == NULL
           ? 0
           : compression->codec->warmup_share(compression->params);
}

bool compression_assumes_shapes(const Compression *compression)
{
  if (!compression->codec->by_tensor)
    return false;
  for (guint32 i = 0; i < compression->workload->gradients->len; i++) {
    const CodecInput input = input_of(compression, i);
    if (rules_let_through(compression, i) && !(input.n_rows > 0))
      return true;
  }
  return false;
}
