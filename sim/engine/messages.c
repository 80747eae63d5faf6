#include "sim/engine/messages.h"

#include "sim/engine/wires.h"

/* Which wires a plan uses depends on neither, once every pipeline has some chunks. */
#define ANY_SIZE_B 1048576.0
#define ANY_N_CHUNKS 16

/* How long a collective took that had the cluster to itself. */
typedef struct {
  CollKind kind;
  LibraryChoice choice;
  double size_B, time_s;
} Known;

struct Messages {
  Wires *wires;
  Engine *engine;
  bool alone;
  GArray *known; /* of Known */
};

Messages *messages_new(const Topology *topology, guint n_ranks, GError **error)
{
  if (n_ranks > MESSAGES_MAX_RANKS) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%u ranks are too many to simulate every message; at most %u, or let the "
                "engine fold",
                n_ranks, MESSAGES_MAX_RANKS);
    return NULL;
  }
  Messages *messages = g_new0(Messages, 1);
  messages->wires = wires_new(topology);
  messages->known = g_array_new(FALSE, FALSE, sizeof(Known));
  return messages;
}

void messages_free(Messages *messages)
{
  if (messages == NULL)
    return;
  wires_free(messages->wires);
  g_array_unref(messages->known);
  g_free(messages);
}

static Plan *plan_of(const CollCall *call, const CollOps *collective, double chunk_B,
                     double size_B)
{
  CollCall cut = *call;
  cut.chunk_B = chunk_B;
  return coll_plan_new(collective, &cut, size_B);
}

/* On how many rails a message travels. */
static guint n_parts(const CollCall *call, const PlanStep *step)
{
  const bool is_local = group_is_local(call->group, step->src, step->dst);
  return is_local || step->rail > 0 ? 1 : call->n_rails;
}

static guint wire_of(const Messages *messages, const CollCall *call, const PlanStep *step,
                     guint part)
{
  const guint *gpus = call->group->gpus;
  const guint rail = step->rail > 0 ? step->rail - 1 : part;
  return wires_lay(messages->wires, gpus[step->src], gpus[step->dst], coll_nic(call, rail),
                   step->channel);
}

bool messages_lay(Messages *messages, const CollCall *call, const CollOps *collective,
                  GError **error)
{
  if (collective->n_switches != NULL && collective->n_switches(call) > 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%s has switches sum, which cannot be simulated message by message",
                collective->info.name);
    return false;
  }
  g_autoptr(Plan) plan = plan_of(call, collective, ANY_SIZE_B / ANY_N_CHUNKS, ANY_SIZE_B);
  for (guint id = 0; id < plan_n_steps(plan); id++)
    for (guint part = 0; part < n_parts(call, plan_step(plan, id)); part++)
      wire_of(messages, call, plan_step(plan, id), part);
  return true;
}

void messages_announce(Messages *messages, Engine *engine, bool alone)
{
  messages->engine = engine;
  messages->alone = alone;
  if (wires_n(messages->wires) > 0)
    engine_add_wires(engine, wires_flows(messages->wires));
}

/* The parts of all steps; those of step id are first_part[id]..first_part[id + 1]. */
static void add_messages(const Messages *messages, const CollCall *call,
                         const CollTerms *terms, const Plan *plan, guint *first_part,
                         Mail *mail)
{
  for (guint id = 0; id < plan_n_steps(plan); id++) {
    const PlanStep *step = plan_step(plan, id);
    const guint n = n_parts(call, step);

    first_part[id] = mail->messages->len;
    for (guint part = 0; part < n; part++) {
      const guint number = wire_of(messages, call, step, part);
      const Wire *wire = wires_at(messages->wires, number);
      const Message message = {
        .wire = number,
        .latency_s =
          (wire->is_net ? terms->alpha_net_s : terms->alpha_local_s) + wire->latency_s,
        .size_B = step->size_B * terms->wire_factor / n,
      };
      g_array_append_val(mail->messages, message);
    }
  }
  first_part[plan_n_steps(plan)] = mail->messages->len;
}

/* Called with two messages, the second of which waits for the first. */
typedef void (*Visit)(Mail *mail, guint before, guint after);

static void visit_waits(const Plan *plan, const guint *first_part, Mail *mail, Visit visit)
{
  for (guint id = 0; id < plan_n_steps(plan); id++)
    for (guint i = 0; i < plan_n_after(plan, id); i++) {
      const guint step = plan_after(plan, id, i);
      for (guint before = first_part[step]; before < first_part[step + 1]; before++)
        for (guint after = first_part[id]; after < first_part[id + 1]; after++)
          visit(mail, before, after);
    }
}

static Message *message_at(Mail *mail, guint index)
{
  return &g_array_index(mail->messages, Message, index);
}

static void count_wait(Mail *mail, guint before, guint after)
{
  message_at(mail, before)->n_next++;
  message_at(mail, after)->n_before++;
}

static void note_wait(Mail *mail, guint before, guint after)
{
  Message *message = message_at(mail, before);
  g_array_index(mail->next, guint, message->first_next + message->n_next++) = after;
}

/* Turn "after which" into "before which". */
static void link_messages(const Plan *plan, const guint *first_part, Mail *mail)
{
  guint n_next = 0;

  visit_waits(plan, first_part, mail, count_wait);
  for (guint i = 0; i < mail->messages->len; i++) {
    Message *message = message_at(mail, i);
    message->first_next = n_next;
    n_next += message->n_next;
    message->n_next = 0;
  }
  g_array_set_size(mail->next, n_next);
  visit_waits(plan, first_part, mail, note_wait);
}

static Mail *mail_of(const Messages *messages, const CollCall *call, const CollTerms *terms,
                     const Plan *plan)
{
  g_autofree guint *first_part = g_new(guint, plan_n_steps(plan) + 1);
  Mail *mail = mail_new();

  add_messages(messages, call, terms, plan, first_part, mail);
  link_messages(plan, first_part, mail);
  return mail;
}

/* How long the channels of the busiest rank send, whatever the links do. */
static double least_s(const Plan *plan, const CollTerms *terms)
{
  g_autofree double *sent_B = g_new0(double, plan_n_ranks(plan));
  double most_B = 0;

  for (guint id = 0; id < plan_n_steps(plan); id++) {
    const PlanStep *step = plan_step(plan, id);
    sent_B[step->src] += step->size_B;
    most_B = MAX(most_B, sent_B[step->src]);
  }
  return terms->rank_Bps > 0 ? most_B / terms->rank_Bps : 0;
}

static bool terms_equal(const CollTerms *a, const CollTerms *b)
{
  return a->alpha_local_s == b->alpha_local_s && a->alpha_net_s == b->alpha_net_s &&
         a->wire_factor == b->wire_factor && a->chunk_B == b->chunk_B &&
         a->rank_Bps == b->rank_Bps;
}

static const Known *find_known(const Messages *messages, CollKind kind,
                               const LibraryChoice *choice, double size_B)
{
  for (guint i = 0; i < messages->known->len; i++) {
    const Known *known = &g_array_index(messages->known, Known, i);
    if (known->kind == kind && known->size_B == size_B &&
        known->choice.collective == choice->collective &&
        terms_equal(&known->choice.terms, &choice->terms))
      return known;
  }
  return NULL;
}

static void deliver(const Messages *messages, const CollCall *call,
                    const LibraryChoice *choice, double size_B)
{
  g_autoptr(Plan) plan = plan_of(call, choice->collective, choice->terms.chunk_B, size_B);
  g_autoptr(Mail) mail = mail_of(messages, call, &choice->terms, plan);
  const double end_s = engine_now_s(messages->engine) + least_s(plan, &choice->terms);

  if (mail->messages->len > 0)
    engine_deliver(messages->engine, mail);
  engine_sleep(messages->engine, end_s - engine_now_s(messages->engine));
}

void messages_run(Messages *messages, const CollCall *call, const LibraryChoice *choice,
                  double size_B)
{
  const Known *known =
    messages->alone ? find_known(messages, call->kind, choice, size_B) : NULL;
  if (known != NULL) {
    engine_sleep(messages->engine, known->time_s);
    return;
  }
  const double begin_s = engine_now_s(messages->engine);
  deliver(messages, call, choice, size_B);
  const Known measured = { .kind = call->kind,
                           .choice = *choice,
                           .size_B = size_B,
                           .time_s = engine_now_s(messages->engine) - begin_s };
  if (messages->alone)
    g_array_append_val(messages->known, measured);
}

/* The measurements of messages_measure(). */
typedef struct {
  Messages *messages;
  const CollCall *call;
  const LibraryChoice *choice;
  const double *sizes_B;
  guint n_sizes;
  double *times_s;
} Measurement;

static void measure(void *data)
{
  const Measurement *measurement = data;
  Engine *engine = measurement->messages->engine;

  for (guint i = 0; i < measurement->n_sizes; i++) {
    const double begin_s = engine_now_s(engine);
    engine_sleep(engine, measurement->choice->launch_s);
    messages_run(measurement->messages, measurement->call, measurement->choice,
                 measurement->sizes_B[i]);
    measurement->times_s[i] = engine_now_s(engine) - begin_s;
  }
}

bool messages_measure(const Topology *topology, const CollCall *call,
                      const LibraryChoice *choice, const double *sizes_B, guint n_sizes,
                      double *times_s, GError **error)
{
  const EngineConfig config = { .fold = false };
  g_autoptr(Messages) messages = messages_new(topology, call->group->n_ranks, error);
  if (messages == NULL)
    return false;

  g_autoptr(Engine) engine =
    engine_new(&config, topology_links(topology), topology_n_links(topology));
  Measurement measurement = { messages, call, choice, sizes_B, n_sizes, times_s };
  if (!messages_lay(messages, call, choice->collective, error))
    return false;
  messages_announce(messages, engine, true);
  return engine_run(engine, measure, &measurement, error);
}
