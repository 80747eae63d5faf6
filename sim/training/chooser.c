#include "sim/training/chooser.h"

#include "models/unit_plan.h"

#include <math.h>

/* Messages of one codec by one algorithm. */
typedef struct {
  guint way;
  const CollOps *collective;
  const char *protocol;
  double n, size_B;
} Tally;

/* Measured over predicted. */
typedef struct {
  double network, compute;
} Factors;

struct Chooser {
  ChooserConfig config;
  UnitPlan plan;       /* way 0: as it is; way w: codec w - 1 */
  Encoding *encodings; /* of unit u by way w: [u * n_ways + w]; none of way 0 */
  WayCost *costs;
  double *predicted_s, *ready_s; /* of each unit: as backward alone would, and scaled */
  guint *unit_of;                /* of each gradient */
  guint *ways;                   /* of each unit, in force */
  Factors factors;               /* that they were chosen by */
  guint n_rounds;                /* begun */
  double began_s;                /* the round under way */
  double took_s, expected_s;     /* of its messages, without latencies */
  guint n_changes;
  GArray *tally; /* of Tally */
};

static guint unit_begin(const Chooser *self, guint unit)
{
  return unit == 0
           ? 0
           : g_array_index(self->config.composition->choices.ends, guint32, unit - 1);
}

static guint unit_end(const Chooser *self, guint unit)
{
  return g_array_index(self->config.composition->choices.ends, guint32, unit);
}

/* ---- what ways take ---------------------------------------------------------------- */

/* On the idle cluster: what grows with the load of the network, and what does not. */
static double split_s(const Chooser *self, CollKind kind, double size_B, double *latency_s)
{
  const double idle_s = exchange_idle_s(self->config.exchange, kind, size_B);

  *latency_s = MIN(idle_s, exchange_idle_s(self->config.exchange, kind, 1));
  return idle_s - *latency_s;
}

static double message_s(const Chooser *self, CollKind kind, double size_B,
                        const Factors *factors)
{
  double latency_s;
  const double moves_s = split_s(self, kind, size_B, &latency_s);

  return latency_s + factors->network * moves_s;
}

static double exchange_s(const Chooser *self, const Encoding *encoding, double size_B,
                         const Factors *factors)
{
  double sum_s = 0;

  if (encoding == NULL)
    return message_s(self, COLL_ALL_REDUCE, size_B, factors);
  for (guint r = 0; r < encoding->n_rounds; r++) {
    const CompressionRound *round = &encoding->rounds[r];
    sum_s += round->work_s + message_s(self, round->kind, round->size_B, factors);
  }
  return sum_s;
}

static WayCost cost_of(const Chooser *self, const Unit *unit, const Encoding *encoding,
                       const Factors *factors)
{
  const GArray *stages = self->config.composition->pipeline.stages;
  WayCost cost = { 0 };
  double *side_s = &cost.before_s;

  for (guint s = 0; s < stages->len; s++) {
    const Stage *stage = &g_array_index(stages, Stage, s);
    if (stage->kind == STAGE_COLLECTIVE) {
      cost.exchange_s = exchange_s(self, encoding, unit->size_B, factors);
      side_s = &cost.after_s;
    } else if (stage->kind == STAGE_WAIT) {
      *side_s += stage_wait_s(stage, unit->gradients->len, unit->size_B);
    } else if (encoding != NULL) {
      *side_s += stage->kind == STAGE_ENCODE ? encoding->encode_s : encoding->decode_s;
    }
  }
  return cost;
}

static void weigh(Chooser *self, const Factors *factors)
{
  const guint n_ways = self->plan.n_ways;
  Unit unit;

  unit_init(&unit);
  for (guint u = 0; u < self->plan.n_units; u++) {
    self->ready_s[u] = factors->compute * self->predicted_s[u];
    unit_clear(&unit);
    unit_init(&unit);
    unit_add_range(&unit, self->config.workload, unit_begin(self, u), unit_end(self, u));
    for (guint w = 0; w < n_ways; w++)
      self->costs[u * n_ways + w] =
        cost_of(self, &unit, w == 0 ? NULL : &self->encodings[u * n_ways + w], factors);
  }
  unit_clear(&unit);
}

/* ---- decisions ---------------------------------------------------------------------- */

static void lay_units(Chooser *self)
{
  const guint n_ways = self->plan.n_ways;
  double ready_s = 0;

  for (guint u = 0; u < self->plan.n_units; u++) {
    g_autoptr(GArray) gradients = g_array_new(FALSE, FALSE, sizeof(guint32));
    for (guint32 g = unit_begin(self, u); g < unit_end(self, u); g++) {
      self->unit_of[g] = u;
      g_array_append_val(gradients, g);
      ready_s = MAX(ready_s, workload_gradient(self->config.workload, g)->ready_s);
    }
    self->predicted_s[u] = ready_s;
    for (guint w = 1; w < n_ways; w++)
      self->encodings[u * n_ways + w] =
        compression_encode(g_ptr_array_index(self->config.compressions, w - 1), gradients);
  }
}

Chooser *chooser_new(const ChooserConfig *config)
{
  const guint n_units = config->composition->choices.ends->len;
  const guint n_ways = config->compressions->len + 1;
  Chooser *self = g_new0(Chooser, 1);

  self->config = *config;
  self->encodings = g_new0(Encoding, n_units * n_ways + 1);
  self->costs = g_new0(WayCost, n_units * n_ways + 1);
  self->predicted_s = g_new0(double, n_units + 1);
  self->ready_s = g_new0(double, n_units + 1);
  self->unit_of = g_new0(guint, workload_n_gradients(config->workload) + 1);
  self->ways = g_new0(guint, n_units + 1);
  self->tally = g_array_new(FALSE, FALSE, sizeof(Tally));
  self->plan = (UnitPlan){
    .n_units = n_units, .n_ways = n_ways, .ready_s = self->ready_s, .costs = self->costs
  };
  self->factors = (Factors){ 1, 1 };
  lay_units(self);
  weigh(self, &self->factors);
  unit_plan_choose(&self->plan, self->ways);
  return self;
}

void chooser_free(Chooser *chooser)
{
  if (chooser == NULL)
    return;
  g_free(chooser->encodings);
  g_free(chooser->costs);
  g_free(chooser->predicted_s);
  g_free(chooser->ready_s);
  g_free(chooser->unit_of);
  g_free(chooser->ways);
  g_array_unref(chooser->tally);
  g_free(chooser);
}

/* What the round showed; what it did not show stays. */
static Factors measured(const Chooser *self, const double *ready_s)
{
  const double end_s = self->predicted_s[self->plan.n_units - 1];
  Factors factors = self->factors;
  double last_s = 0;

  for (guint g = 0; g < workload_n_gradients(self->config.workload); g++)
    last_s = MAX(last_s, ready_s[g] - self->began_s);
  if (end_s > 0 && last_s > 0)
    factors.compute = last_s / end_s;
  if (self->expected_s > 0 && self->took_s > 0)
    factors.network = self->took_s / self->expected_s;
  return factors;
}

static bool drifts(double now, double before, double drift)
{
  return fabs(now / before - 1) > drift;
}

static void decide(Chooser *self, const Factors *factors, double gain)
{
  const guint n_units = self->plan.n_units;
  g_autofree guint *ways = g_new0(guint, n_units + 1);

  weigh(self, factors);
  self->factors = *factors;
  const double old_s = unit_plan_end_s(&self->plan, self->ways);
  const double new_s = unit_plan_choose(&self->plan, ways);
  if (new_s >= old_s * (1 - gain))
    return;
  for (guint u = 0; u < n_units; u++)
    self->ways[u] = ways[u];
  self->n_changes += self->n_rounds > 1;
}

void chooser_begin(Chooser *self, double now_s, const double *ready_s)
{
  const Choices *choices = &self->config.composition->choices;

  if (self->n_rounds > 0) {
    const Factors factors = measured(self, ready_s);
    if (self->n_rounds == 1)
      decide(self, &factors, 0);
    else if (drifts(factors.network, self->factors.network, choices->drift) ||
             drifts(factors.compute, self->factors.compute, choices->drift))
      decide(self, &factors, choices->gain);
  }
  self->n_rounds++;
  self->began_s = now_s;
  self->took_s = self->expected_s = 0;
}

static guint unit_number(const Chooser *self, const Unit *unit)
{
  return self->unit_of[g_array_index(unit->gradients, guint32, 0)];
}

bool chooser_encode(const Chooser *self, const Unit *unit, Encoding *encoding)
{
  const guint u = unit_number(self, unit);

  if (self->ways[u] == 0)
    return false;
  *encoding = self->encodings[u * self->plan.n_ways + self->ways[u]];
  return true;
}

/* ---- what happened ------------------------------------------------------------------ */

static Tally *tally_of(Chooser *self, guint way, const LibraryChoice *choice)
{
  for (guint i = 0; i < self->tally->len; i++) {
    Tally *tally = &g_array_index(self->tally, Tally, i);
    if (tally->way == way && tally->collective == choice->collective &&
        g_str_equal(tally->protocol, choice->protocol))
      return tally;
  }
  const Tally tally = { .way = way,
                        .collective = choice->collective,
                        .protocol = choice->protocol };
  g_array_append_val(self->tally, tally);
  return &g_array_index(self->tally, Tally, self->tally->len - 1);
}

void chooser_observe(Chooser *self, const ChooserMessage *message)
{
  double latency_s;
  const double moves_s = split_s(self, message->kind, message->size_B, &latency_s);

  self->expected_s += moves_s;
  self->took_s += MAX(message->took_s - latency_s, 0);
  if (!message->measured)
    return;
  Tally *tally =
    tally_of(self, self->ways[unit_number(self, message->unit)], message->choice);
  tally->n++;
  tally->size_B += message->size_B;
}

static const CodecChoice *codec_at(const Chooser *self, guint way)
{
  return &g_array_index(self->config.composition->choices.codecs, CodecChoice, way - 1);
}

static bool is_used(const Chooser *self, const CodecOps *codec)
{
  for (guint i = 0; i < self->tally->len; i++) {
    const guint way = g_array_index(self->tally, Tally, i).way;
    if (way > 0 && codec_at(self, way)->codec == codec)
      return true;
  }
  return false;
}

/* The codecs that were used, each once, and what is said of them. */
static void name_codecs(const Chooser *self, Result *result)
{
  g_autoptr(GString) names = g_string_new(NULL);
  g_autoptr(GString) notes = g_string_new(NULL);

  for (guint i = 0; codec_table[i] != NULL; i++) {
    if (!is_used(self, (const CodecOps *)codec_table[i]))
      continue;
    g_string_append_printf(names, "%s%s", names->len > 0 ? " + " : "",
                           codec_table[i]->name);
    if (codec_table[i]->note != NULL)
      g_string_append_printf(notes, "%s%s: %s", notes->len > 0 ? " " : "",
                             codec_table[i]->name, codec_table[i]->note);
  }
  if (names->len == 0)
    return;
  g_free(result->codec);
  g_free(result->codec_note);
  result->codec = g_strdup(names->str);
  result->codec_note = notes->len > 0 ? g_strdup(notes->str) : NULL;
}

static gint by_way(gconstpointer one, gconstpointer other)
{
  const Tally *a = one, *b = other;

  if (a->way != b->way)
    return a->way < b->way ? -1 : 1;
  return a->n > b->n ? -1 : a->n < b->n;
}

void chooser_tell(const Chooser *self, double n_measured, Result *result)
{
  g_array_sort(self->tally, by_way);
  for (guint i = 0; i < self->tally->len; i++) {
    const Tally *tally = &g_array_index(self->tally, Tally, i);
    g_autofree char *algorithm =
      g_strdup_printf("%s%s%s", tally->collective->info.name,
                      *tally->protocol == '\0' ? "" : "/", tally->protocol);
    const Decision decision = {
      .codec =
        tally->way == 0 ? (char *)codec_none.info.name : codec_at(self, tally->way)->name,
      .algorithm = algorithm,
      .messages = tally->n / n_measured,
      .size_B = tally->size_B / n_measured,
    };
    result_add_decision(result, &decision);
  }
  result->n_redecisions = self->n_changes;
  name_codecs(self, result);
}
