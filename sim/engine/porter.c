#include "sim/engine/porter.h"

#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <simgrid/semaphore.h>

#define LARGEST_AMOUNT 9e18 /* below 2^63 - 1 */

/* One message under way. */
typedef struct {
  const Network *network;
  guint number;
  guint first_class, end_class;
  double size_B;
  guint slot;        /* tells its mailboxes from those of others in flight */
  sg_sem_t finished; /* raised by each porter */
} Shipment;

typedef struct {
  const Shipment *shipment;
  char direction; /* 's' sends, 'd' receives */
  guint host;
  void *received; /* SimGrid wants to hand over a payload; nobody looks at it */
} Porter;

struct Porters {
  GArray *free_slots; /* of guint */
  guint n_slots;
};

Porters *porters_new(void)
{
  Porters *porters = g_new0(Porters, 1);
  porters->free_slots = g_array_new(FALSE, FALSE, sizeof(guint));
  return porters;
}

void porters_free(Porters *porters)
{
  g_array_unref(porters->free_slots);
  g_free(porters);
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

static void carry(int argc G_GNUC_UNUSED, char **argv G_GNUC_UNUSED)
{
  g_autofree Porter *porter = sg_actor_self_get_data();
  const Shipment *shipment = porter->shipment;
  g_autoptr(GPtrArray) comms = g_ptr_array_new();

  for (guint c = shipment->first_class; c < shipment->end_class; c++) {
    const FlowClass *class = network_class(shipment->network, c);
    if (serves(porter, c) && network_class_moves(class))
      g_ptr_array_add(comms, start(porter, c, class));
  }
  if (comms->len > 0)
    sg_comm_wait_all((sg_comm_t *)comms->pdata, comms->len);
  sg_sem_release(shipment->finished);
}

static void hire(const Shipment *shipment, char direction, guint host)
{
  Porter *porter = g_new(Porter, 1);
  *porter = (Porter){ .shipment = shipment, .direction = direction, .host = host };
  g_autofree char *name = network_host_name(shipment->number, direction, host);

  sg_actor_t actor = sg_actor_init("porter", sg_host_by_name(name));
  sg_actor_set_data(actor, porter);
  sg_actor_start_(actor, carry, 0, NULL);
}

static guint hire_all(const Shipment *shipment)
{
  const guint n_hosts = shipment->network->n_hosts;
  const guint n_classes = shipment->end_class - shipment->first_class;
  guint n = 0;

  for (guint host = shipment->first_class / n_hosts;
       host <= (shipment->end_class - 1) / n_hosts; host++, n++)
    hire(shipment, 's', host);
  for (guint i = 0; i < MIN(n_classes, n_hosts); i++, n++)
    hire(shipment, 'd', (shipment->first_class + i) % n_hosts);
  return n;
}

static bool amounts_fit(const Shipment *shipment)
{
  for (guint c = shipment->first_class; c < shipment->end_class; c++)
    if (!(network_amount(shipment->network, network_class(shipment->network, c),
                         shipment->size_B) < LARGEST_AMOUNT))
      return false;
  return true;
}

bool porters_move(Porters *porters, const Network *network, guint number, guint set,
                  double size_B)
{
  Shipment shipment = { .network = network,
                        .number = number,
                        .first_class = network->first_class[set],
                        .end_class = network->first_class[set + 1],
                        .size_B = size_B };

  if (shipment.first_class == shipment.end_class)
    return true;
  if (!amounts_fit(&shipment))
    return false;
  shipment.slot = take_slot(porters);
  shipment.finished = sg_sem_init(0);
  for (guint n = hire_all(&shipment); n > 0; n--)
    sg_sem_acquire(shipment.finished);
  sg_sem_destroy(shipment.finished);
  g_array_append_val(porters->free_slots, shipment.slot);
  return true;
}
