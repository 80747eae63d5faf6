#include "sim/engine/porter.h"

#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <simgrid/semaphore.h>

/* One message under way. */
typedef struct {
  const Network *network;
  guint number;
  guint first_class, end_class;
  double size_B;
  guint slot;        /* tells its mailboxes from those of others in flight */
  sg_sem_t finished; /* raised by each porter */
} Shipment;

/* An actor that stays at its host and takes one shipment after another. */
typedef struct {
  Porters *porters;
  guint number;   /* of the network */
  char direction; /* 's' sends, 'd' receives */
  guint host;
  sg_sem_t called;          /* raised when there is a shipment for it */
  const Shipment *shipment; /* its part of which it carries */
  void *received;           /* SimGrid wants to hand over a payload; nobody looks at it */
} Porter;

struct Porters {
  GArray *free_slots; /* of guint */
  guint n_slots;
  GPtrArray *all;     /* of Porter; owned */
  GPtrArray *idle;    /* of GQueue of Porter: by network, direction and host */
  GArray *first_idle; /* of guint: of each network */
};

static void porter_free(gpointer pointer)
{
  Porter *porter = pointer;
  sg_sem_destroy(porter->called);
  g_free(porter);
}

Porters *porters_new(void)
{
  Porters *porters = g_new0(Porters, 1);
  porters->free_slots = g_array_new(FALSE, FALSE, sizeof(guint));
  porters->all = g_ptr_array_new_with_free_func(porter_free);
  porters->idle = g_ptr_array_new_with_free_func((GDestroyNotify)g_queue_free);
  porters->first_idle = g_array_new(FALSE, FALSE, sizeof(guint));
  return porters;
}

void porters_free(Porters *porters)
{
  g_array_unref(porters->free_slots);
  g_ptr_array_unref(porters->all);
  g_ptr_array_unref(porters->idle);
  g_array_unref(porters->first_idle);
  g_free(porters);
}

void porters_add_network(Porters *porters, const Network *network)
{
  const guint first = porters->idle->len;

  g_array_append_val(porters->first_idle, first);
  for (guint i = 0; i < 2 * network->n_hosts; i++)
    g_ptr_array_add(porters->idle, g_queue_new());
}

/* Where the porters of a host wait for work. */
static GQueue *idle_at(const Porters *porters, const Network *network, guint number,
                       char direction, guint host)
{
  const guint side = direction == 's' ? 0 : network->n_hosts;
  return g_ptr_array_index(porters->idle,
                           g_array_index(porters->first_idle, guint, number) + side + host);
}

static guint take_slot(Porters *porters)
{
  if (porters->free_slots->len == 0)
    return porters->n_slots++;
  const guint slot =
    g_array_index(porters->free_slots, guint, porters->free_slots->len - 1);
  g_array_set_size(porters->free_slots, porters->free_slots->len - 1);
  return slot;
}

static bool serves(const Porter *porter, guint class_number)
{
  const guint n_hosts = porter->shipment->network->n_hosts;
  const guint host =
    porter->direction == 's' ? class_number / n_hosts : class_number % n_hosts;
  return host == porter->host;
}

static sg_comm_t start(Porter *porter, guint class_number, const FlowClass *class)
{
  const Shipment *shipment = porter->shipment;
  char name[32];

  g_snprintf(name, sizeof name, "%u.%u.%u", shipment->number, shipment->slot, class_number);
  sg_mailbox_t mailbox = sg_mailbox_by_name(name);
  if (porter->direction == 'd')
    return sg_mailbox_get_async(mailbox, &porter->received);
  return sg_mailbox_put_async(
    mailbox, porter, (long)network_amount(shipment->network, class, shipment->size_B));
}

static void carry(Porter *porter)
{
  const Shipment *shipment = porter->shipment;
  g_autoptr(GPtrArray) comms = g_ptr_array_new();

  for (guint c = shipment->first_class; c < shipment->end_class; c++) {
    const FlowClass *class = network_class(shipment->network, c);
    if (serves(porter, c) && network_class_moves(class))
      g_ptr_array_add(comms, start(porter, c, class));
  }
  if (comms->len > 0)
    sg_comm_wait_all((sg_comm_t *)comms->pdata, comms->len);
}

/* A daemon: SimGrid ends it with the last process. */
static void attend(int argc G_GNUC_UNUSED, char **argv G_GNUC_UNUSED)
{
  Porter *porter = sg_actor_self_get_data();

  for (;;) {
    sg_sem_acquire(porter->called);
    carry(porter);
    const Shipment *shipment = porter->shipment;
    g_queue_push_tail(idle_at(porter->porters, shipment->network, porter->number,
                              porter->direction, porter->host),
                      porter);
    sg_sem_release(shipment->finished);
  }
}

static Porter *employ(Porters *porters, guint number, char direction, guint host)
{
  Porter *porter = g_new(Porter, 1);
  *porter = (Porter){ .porters = porters,
                      .number = number,
                      .direction = direction,
                      .host = host,
                      .called = sg_sem_init(0) };
  g_autofree char *name = network_host_name(number, direction, host);

  g_ptr_array_add(porters->all, porter);
  sg_actor_t actor = sg_actor_init("porter", sg_host_by_name(name));
  sg_actor_set_data(actor, porter);
  sg_actor_start_(actor, attend, 0, NULL);
  sg_actor_daemonize(actor);
  return porter;
}

static void hire(Porters *porters, const Shipment *shipment, char direction, guint host)
{
  Porter *porter = g_queue_pop_head(
    idle_at(porters, shipment->network, shipment->number, direction, host));

  if (porter == NULL)
    porter = employ(porters, shipment->number, direction, host);
  porter->shipment = shipment;
  sg_sem_release(porter->called);
}

static guint hire_all(Porters *porters, const Shipment *shipment)
{
  const guint n_hosts = shipment->network->n_hosts;
  const guint n_classes = shipment->end_class - shipment->first_class;
  guint n = 0;

  for (guint host = shipment->first_class / n_hosts;
       host <= (shipment->end_class - 1) / n_hosts; host++, n++)
    hire(porters, shipment, 's', host);
  for (guint i = 0; i < MIN(n_classes, n_hosts); i++, n++)
    hire(porters, shipment, 'd', (shipment->first_class + i) % n_hosts);
  return n;
}

/* Of a single class no porter is needed: any actor may send from host to host. SimGrid
 * keeps such communications in one list, which few at a time do not lengthen. */
static void carry_alone(const Shipment *shipment)
{
  const guint c = shipment->first_class, n_hosts = shipment->network->n_hosts;
  const FlowClass *class = network_class(shipment->network, c);
  if (!network_class_moves(class))
    return;

  g_autofree char *src = network_host_name(shipment->number, 's', c / n_hosts);
  g_autofree char *dst = network_host_name(shipment->number, 'd', c % n_hosts);
  sg_host_sendto(sg_host_by_name(src), sg_host_by_name(dst),
                 network_amount(shipment->network, class, shipment->size_B));
}

void porters_move(Porters *porters, const Network *network, guint number, guint set,
                  double size_B)
{
  Shipment shipment = { .network = network,
                        .number = number,
                        .first_class = network->first_class[set],
                        .end_class = network->first_class[set + 1],
                        .size_B = size_B };

  if (shipment.first_class == shipment.end_class)
    return;
  if (shipment.end_class == shipment.first_class + 1) {
    carry_alone(&shipment);
    return;
  }
  shipment.slot = take_slot(porters);
  shipment.finished = sg_sem_init(0);
  for (guint n = hire_all(porters, &shipment); n > 0; n--)
    sg_sem_acquire(shipment.finished);
  sg_sem_destroy(shipment.finished);
  g_array_append_val(porters->free_slots, shipment.slot);
}
