#include "sim/engine/engine.h"

#include "sim/base/registry.h"
#include "sim/engine/courier.h"
#include "sim/engine/network.h"
#include "sim/engine/porter.h"
#include "sim/engine/start.h"
#include "sim/engine/tide.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>
#include <simgrid/version.h>

#define MAIN_HOST "main"
#define TOO_LONG "one transfer would take more than two hours; check sizes and rates"

/* Flow sets announced together. */
typedef struct {
  guint first_set, n_sets;
  bool overlap;
  guint n_active; /* transfers in flight */
  guint family; /* a smaller call that it has links in common with, or its own: a forest */
  guint n_family; /* of its first: transfers in flight of all the family */
} Call;

typedef struct {
  const FlowSet *set;
  guint call;
  bool has_network;
  guint network; /* number of its network */
  guint index;   /* among the network's sets */
  bool alone;    /* nothing else ever runs beside it: time is in proportion to bytes */
  double unit_s_per_B; /* measured in the rehearsal */
} EngineSet;

struct Engine {
  EngineConfig config;
  Link *links;
  guint n_links;
  GArray *calls;       /* of Call */
  GArray *sets;        /* of EngineSet */
  GPtrArray *networks; /* of Network */
  GPtrArray *tides;    /* of each network: its Tide; NULL: SimGrid shares it out */
  Porters *porters;
  const FlowSet *wires; /* NULL: no messages */
  Couriers *couriers;
  double start_s; /* SimGrid's clock when the first process began */
  guint n_processes;
  void (*main)(void *data);
  void *main_data;
  GError *fault;
};

struct EngineSignal {
  Engine *engine;
  sg_sem_t semaphore;
};

/* What a new process runs. */
typedef struct {
  Engine *engine;
  void (*body)(void *data);
  void *data;
} Process;

const char *engine_version(void)
{
  return "SimGrid " G_STRINGIFY(SIMGRID_VERSION_MAJOR) "." G_STRINGIFY(
    SIMGRID_VERSION_MINOR);
}

const char *engine_way(bool fold, bool messages)
{
  if (messages)
    return "messages";
  return fold ? "folded" : "explicit";
}

static EngineSet *set_at(const Engine *engine, guint set)
{
  return &g_array_index(engine->sets, EngineSet, set);
}

Engine *engine_new(const EngineConfig *config, const Link *links, guint n_links)
{
  Engine *engine = g_new0(Engine, 1);

  engine->config = *config;
  engine->links = g_memdup2(links, n_links * sizeof *links);
  engine->n_links = n_links;
  engine->calls = g_array_new(FALSE, FALSE, sizeof(Call));
  engine->sets = g_array_new(FALSE, FALSE, sizeof(EngineSet));
  engine->networks = g_ptr_array_new_with_free_func((GDestroyNotify)network_free);
  engine->tides = g_ptr_array_new_with_free_func((GDestroyNotify)tide_free);
  return engine;
}

void engine_free(Engine *engine)
{
  g_free(engine->links);
  g_array_unref(engine->calls);
  g_array_unref(engine->sets);
  g_clear_pointer(&engine->couriers, couriers_free);
  g_ptr_array_unref(engine->tides);
  g_ptr_array_unref(engine->networks);
  g_clear_pointer(&engine->porters, porters_free);
  g_clear_error(&engine->fault);
  g_free(engine);
}

guint engine_add_sets(Engine *engine, const FlowSet *const *sets, guint n_sets,
                      bool overlap)
{
  const guint first = engine->sets->len;

  for (guint s = 0; s < n_sets; s++)
    g_array_append_vals(engine->sets,
                        &(EngineSet){ .set = sets[s], .call = engine->calls->len }, 1);
  g_array_append_vals(engine->calls,
                      &(Call){ .first_set = first,
                               .n_sets = n_sets,
                               .overlap = overlap,
                               .family = engine->calls->len },
                      1);
  return first;
}

void engine_add_wires(Engine *engine, const FlowSet *wires)
{
  g_return_if_fail(engine->wires == NULL && flow_set_n_flows(wires) > 0);
  engine->wires = wires;
}

static Call *call_at(const Engine *engine, guint call)
{
  return &g_array_index(engine->calls, Call, call);
}

/* The first of the calls that have links in common with call @p call, or with others that
 * have. */
static guint family_of(const Engine *engine, guint call)
{
  while (call_at(engine, call)->family != call)
    call = call_at(engine, call)->family;
  return call;
}

static void find_families(Engine *engine)
{
  g_autofree guint *owner = g_new0(guint, engine->n_links); /* call + 1 */

  for (guint s = 0; s < engine->sets->len; s++) {
    const EngineSet *set = set_at(engine, s);
    for (guint i = 0; i < set->set->links->len; i++) {
      guint *who = &owner[g_array_index(set->set->links, guint32, i)];
      const guint one = family_of(engine, set->call);
      const guint other = *who == 0 ? one : family_of(engine, *who - 1);
      call_at(engine, MAX(one, other))->family = MIN(one, other);
      *who = set->call + 1;
    }
  }
}

static Tide *tide_of(const Engine *engine, guint network)
{
  return g_ptr_array_index(engine->tides, network);
}

/* One network for sets first..first + n - 1, which may meet in it. */
static void add_network(Engine *engine, guint first, guint n, bool fold)
{
  g_autofree const FlowSet **sets = g_new(const FlowSet *, n);

  for (guint i = 0; i < n; i++) {
    EngineSet *set = set_at(engine, first + i);
    sets[i] = set->set;
    set->has_network = true;
    set->network = engine->networks->len;
    set->index = i;
  }
  Network *network = network_new(sets, n, engine->links, engine->n_links, fold);
  g_ptr_array_add(engine->networks, network);
  g_ptr_array_add(engine->tides, fold && !set_at(engine, first)->alone
                                   ? tide_new(network, MAIN_HOST)
                                   : NULL);
}

/* Flows of equal shares that run alone take what their busiest link needs, T: equal rates
 * of share / T are feasible, and the max-min allocation has no smaller rate than the
 * smallest of any feasible one; so all have arrived by T, however many still run. */
static bool takes_its_bound(const FlowSet *set)
{
  for (guint f = 1; f < flow_set_n_flows(set); f++)
    if (flow_set_flow(set, f)->share != flow_set_flow(set, 0)->share)
      return false;
  return true;
}

/* A set that runs alone: by its closed form, or on a network of its own. */
static void add_alone(Engine *engine, guint number)
{
  EngineSet *set = set_at(engine, number);

  set->alone = true;
  if (engine->config.dump_platform == NULL && takes_its_bound(set->set))
    set->unit_s_per_B = flow_set_bound_s_per_B(set->set, engine->links, engine->n_links);
  else
    add_network(engine, number, 1, true);
}

/* Sets that cannot meet are folded apart, each on its own copy of the links. */
static void build_set_networks(Engine *engine)
{
  if (!engine->config.fold) {
    if (engine->sets->len > 0)
      add_network(engine, 0, engine->sets->len, false);
    return;
  }
  for (guint c = 0; c < engine->calls->len; c++) {
    const Call *call = &g_array_index(engine->calls, Call, c);
    if (call->overlap && call->n_sets > 0)
      add_network(engine, call->first_set, call->n_sets, true);
    for (guint s = 0; !call->overlap && s < call->n_sets; s++)
      add_alone(engine, call->first_set + s);
  }
}

/* The network of the wires is the last. */
static void build_networks(Engine *engine)
{
  build_set_networks(engine);
  if (engine->wires == NULL)
    return;
  g_ptr_array_add(engine->tides, NULL);
  g_ptr_array_add(engine->networks, network_new((const FlowSet *const[]){ engine->wires },
                                                1, engine->links, engine->n_links, false));
}

guint engine_n_classes(const Engine *engine, guint set)
{
  const EngineSet *which = set_at(engine, set);
  if (!which->has_network)
    return 0;
  const Network *network = g_ptr_array_index(engine->networks, which->network);
  return network->first_class[which->index + 1] - network->first_class[which->index];
}

/* What SimGrid must know, and the rest for a dump. */
static char *platform_xml(const Engine *engine, gsize *length)
{
  const bool all = engine->config.dump_platform != NULL;
  GString *xml = g_string_new("<?xml version='1.0'?>\n"
                              "<!DOCTYPE platform SYSTEM "
                              "\"https://simgrid.org/simgrid.dtd\">\n"
                              "<platform version=\"4.1\">\n"
                              "<zone id=\"stepcast\" routing=\"Full\">\n"
                              "  <zone id=\"control\" routing=\"Full\">\n"
                              "    <host id=\"" MAIN_HOST "\" speed=\"1f\"/>\n"
                              "  </zone>\n");

  for (guint n = 0; n < engine->networks->len; n++)
    if (all || tide_of(engine, n) == NULL)
      network_write(g_ptr_array_index(engine->networks, n), n, xml);
  g_string_append(xml, "</zone>\n</platform>\n");
  *length = xml->len;
  return g_string_free(xml, FALSE);
}

double engine_now_s(const Engine *engine)
{
  return simgrid_get_clock() - engine->start_s;
}

void engine_sleep(Engine *engine G_GNUC_UNUSED, double duration_s)
{
  if (duration_s > 0)
    sg_actor_sleep_for(duration_s);
}

/* End the run: nothing after this makes sense. */
static void engine_fail(Engine *engine, SimError code, const char *cause)
{
  if (engine->fault == NULL)
    engine->fault = g_error_new_literal(SIM_ERROR, (int)code, cause);
  sg_actor_kill_all();
  sg_actor_exit();
}

static void run_process(int argc G_GNUC_UNUSED, char **argv G_GNUC_UNUSED)
{
  g_autofree Process *process = sg_actor_self_get_data();

  process->body(process->data);
  process->engine->n_processes--;
}

void engine_spawn(Engine *engine, const char *name, void (*body)(void *data), void *data)
{
  Process *process = g_new(Process, 1);
  *process = (Process){ .engine = engine, .body = body, .data = data };

  engine->n_processes++;
  sg_actor_t actor = sg_actor_init(name, sg_host_by_name(MAIN_HOST));
  sg_actor_set_data(actor, process);
  sg_actor_start_(actor, run_process, 0, NULL);
}

/* Run a message over every class of the set and wait for the last. */
static void move(Engine *engine, const EngineSet *set, double size_B)
{
  const Network *network = g_ptr_array_index(engine->networks, set->network);
  Tide *tide = tide_of(engine, set->network);

  if (!network_amounts_fit(network, set->index, size_B))
    engine_fail(engine, SIM_ERROR_VALUE, TOO_LONG);
  else if (tide != NULL)
    tide_move(tide, set->index, size_B);
  else
    porters_move(engine->porters, network, set->network, set->index, size_B);
}

static bool wires_are_laid(const Engine *engine, const Mail *mail)
{
  const Network *network = g_ptr_array_index(engine->networks, engine->networks->len - 1);

  for (guint m = 0; m < mail->messages->len; m++)
    if (mail_message(mail, m)->wire >= network->folded->classes->len)
      return false;
  return true;
}

void engine_deliver(Engine *engine, const Mail *mail)
{
  if (engine->couriers == NULL || !wires_are_laid(engine, mail))
    engine_fail(engine, SIM_ERROR_FAULT, "a message takes a wire that was never laid");
  if (!couriers_deliver(engine->couriers, mail))
    engine_fail(engine, SIM_ERROR_VALUE, TOO_LONG);
}

void engine_transfer(Engine *engine, guint set_number, double size_B)
{
  const EngineSet *set = set_at(engine, set_number);
  Call *call = call_at(engine, set->call);
  Call *family = call_at(engine, family_of(engine, set->call));

  if ((call->n_active > 0 && !call->overlap) || family->n_family > call->n_active)
    engine_fail(engine, SIM_ERROR_FAULT, "two transfers meet that were announced apart");
  call->n_active++;
  family->n_family++;
  if (set->alone)
    engine_sleep(engine, set->unit_s_per_B * size_B);
  else
    move(engine, set, size_B);
  family->n_family--;
  call->n_active--;
}

/* In a fluid network a set that runs alone takes time in proportion to its bytes: run each
 * once, for about a second, and remember. They have links of their own, so all run at once.
 */
typedef struct {
  Engine *engine;
  EngineSet *set;
  EngineSignal *done;
} Rehearsal;

static void rehearse(void *data)
{
  g_autofree Rehearsal *rehearsal = data;
  EngineSet *set = rehearsal->set;
  const Network *network = g_ptr_array_index(rehearsal->engine->networks, set->network);
  const double size_B = 1 / network->bound_s_per_B[set->index];
  const double begin_s = simgrid_get_clock();

  move(rehearsal->engine, set, size_B);
  set->unit_s_per_B = (simgrid_get_clock() - begin_s) / size_B;
  engine_signal_raise(rehearsal->done);
}

static void rehearse_all(Engine *engine)
{
  EngineSignal *done = engine_signal_new(engine);
  guint n = 0;

  for (guint s = 0; s < engine->sets->len; s++) {
    EngineSet *set = set_at(engine, s);
    if (!set->alone || !set->has_network)
      continue;
    const Network *network = g_ptr_array_index(engine->networks, set->network);
    if (!(network->bound_s_per_B[set->index] > 0))
      continue;
    Rehearsal *rehearsal = g_new(Rehearsal, 1);
    *rehearsal = (Rehearsal){ .engine = engine, .set = set, .done = done };
    engine_spawn(engine, "rehearsal", rehearse, rehearsal);
    n++;
  }
  while (n-- > 0)
    engine_signal_wait(done);
  engine_signal_free(done);
}

static void run_main(void *data)
{
  Engine *engine = data;

  rehearse_all(engine);
  engine->start_s = simgrid_get_clock();
  engine->main(engine->main_data);
}

bool engine_run(Engine *engine, void (*main)(void *data), void *data, GError **error)
{
  gsize length;

  find_families(engine);
  build_networks(engine);
  g_autofree char *xml = platform_xml(engine, &length);
  if (engine->config.dump_platform != NULL &&
      !g_file_set_contents(engine->config.dump_platform, xml, (gssize)length, error))
    return false;

  start_simgrid();
  if (!start_on_platform(xml, length, error))
    return false;
  engine->porters = porters_new();
  for (guint n = 0; n < engine->networks->len; n++)
    porters_add_network(engine->porters, g_ptr_array_index(engine->networks, n));
  if (engine->wires != NULL)
    engine->couriers =
      couriers_new(g_ptr_array_index(engine->networks, engine->networks->len - 1),
                   engine->networks->len - 1);
  engine->main = main;
  engine->main_data = data;
  engine_spawn(engine, "main", run_main, engine);
  simgrid_run();

  if (engine->fault == NULL && engine->n_processes > 0)
    engine->fault =
      g_error_new(SIM_ERROR, SIM_ERROR_FAULT, "%u simulated processes wait for ever",
                  engine->n_processes);
  if (engine->fault == NULL)
    return true;
  g_propagate_error(error, g_steal_pointer(&engine->fault));
  return false;
}

EngineSignal *engine_signal_new(Engine *engine)
{
  EngineSignal *signal = g_new(EngineSignal, 1);
  *signal = (EngineSignal){ .engine = engine, .semaphore = sg_sem_init(0) };
  return signal;
}

void engine_signal_free(EngineSignal *signal)
{
  sg_sem_destroy(signal->semaphore);
  g_free(signal);
}

void engine_signal_raise(EngineSignal *signal)
{
  sg_sem_release(signal->semaphore);
}

void engine_signal_wait(EngineSignal *signal)
{
  sg_sem_acquire(signal->semaphore);
}

bool engine_signal_wait_until(EngineSignal *signal, double deadline_s)
{
  const double timeout_s = deadline_s - engine_now_s(signal->engine);

  if (sg_sem_would_block(signal->semaphore) && !(timeout_s > 0))
    return false;
  return sg_sem_acquire_timeout(signal->semaphore, MAX(timeout_s, 0)) == 0;
}
