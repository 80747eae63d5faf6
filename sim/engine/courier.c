#include "sim/engine/courier.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <simgrid/semaphore.h>
#include <stdbool.h>

#define LARGEST_AMOUNT 9e18 /* below 2^63 - 1 */
#define NONE G_MAXUINT

/* Messages that may leave, of one wire, in ascending order. */
typedef struct {
  guint first, last; /* the others are behind the first */
  bool is_served;    /* a courier is at work */
} Queue;

/* One call of couriers_deliver(). */
typedef struct {
  Couriers *couriers;
  const Mail *mail;
  guint slot;       /* tells its mailboxes from those of other deliveries */
  guint *n_missing; /* per message: how many of those before it are under way */
  double *due_s;    /* per message: when its latency has passed */
  guint *behind;    /* per message: the next in its queue */
  Queue *queues;    /* per wire */
  guint n_left;
  sg_sem_t finished;
} Delivery;

typedef struct {
  Couriers *couriers;
  guint host;
  sg_sem_t wake;
  Delivery *delivery; /* what it is woken for: */
  guint message;      /* begin with this one */
} Courier;

/* Stands at a far end and lets the mail of one slot flow. */
typedef struct {
  Couriers *couriers;
  guint host, slot;
  sg_sem_t ready;
} Doorman;

struct Couriers {
  const Network *network;
  guint number;
  GPtrArray *all;     /* of Courier */
  GPtrArray **idle;   /* per host: Couriers without work */
  GArray *free_slots; /* of guint */
  guint n_slots;
  sg_sem_t never; /* what doormen wait for */
};

Couriers *couriers_new(const Network *network, guint number)
{
  Couriers *couriers = g_new0(Couriers, 1);

  couriers->network = network;
  couriers->number = number;
  couriers->all = g_ptr_array_new();
  couriers->idle = g_new(GPtrArray *, network->n_hosts);
  for (guint i = 0; i < network->n_hosts; i++)
    couriers->idle[i] = g_ptr_array_new();
  couriers->free_slots = g_array_new(FALSE, FALSE, sizeof(guint));
  couriers->never = sg_sem_init(0);
  return couriers;
}

void couriers_free(Couriers *couriers)
{
  for (guint i = 0; i < couriers->all->len; i++) {
    Courier *courier = g_ptr_array_index(couriers->all, i);
    sg_sem_destroy(courier->wake);
    g_free(courier);
  }
  for (guint i = 0; i < couriers->network->n_hosts; i++)
    g_ptr_array_unref(couriers->idle[i]);
  g_ptr_array_unref(couriers->all);
  g_array_unref(couriers->free_slots);
  g_free(couriers->idle);
  sg_sem_destroy(couriers->never);
  g_free(couriers);
}

static sg_mailbox_t mailbox_of(const Couriers *couriers, guint slot, guint wire)
{
  char name[40];
  g_snprintf(name, sizeof name, "wire%u.%u.%u", couriers->number, slot, wire);
  return sg_mailbox_by_name(name);
}

/* Actors of this file serve for ever; SimGrid ends them when all others have ended. */
static void start_daemon(const Couriers *couriers, char direction, guint host,
                         void (*body)(int argc, char **argv), void *data)
{
  g_autofree char *name = network_host_name(couriers->number, direction, host);
  sg_actor_t actor = sg_actor_init("courier", sg_host_by_name(name));

  sg_actor_set_data(actor, data);
  sg_actor_start_(actor, body, 0, NULL);
}

static void keep_doors(int argc G_GNUC_UNUSED, char **argv G_GNUC_UNUSED)
{
  g_autofree Doorman *doorman = sg_actor_self_get_data();
  const Couriers *couriers = doorman->couriers;
  const guint n_wires = couriers->network->folded->classes->len;

  sg_actor_daemonize(sg_actor_self());
  for (guint wire = doorman->host; wire < n_wires; wire += couriers->network->n_hosts)
    sg_mailbox_set_receiver(sg_mailbox_get_name(mailbox_of(couriers, doorman->slot, wire)));
  sg_sem_release(doorman->ready);
  sg_sem_acquire(couriers->never);
}

/* Mailboxes that no other delivery uses. */
static guint take_slot(Couriers *couriers)
{
  if (couriers->free_slots->len > 0) {
    const guint slot =
      g_array_index(couriers->free_slots, guint, couriers->free_slots->len - 1);
    g_array_set_size(couriers->free_slots, couriers->free_slots->len - 1);
    return slot;
  }
  const guint slot = couriers->n_slots++; /* before another delivery begins while we wait */
  sg_sem_t ready = sg_sem_init(0);
  for (guint host = 0; host < couriers->network->n_hosts; host++) {
    Doorman *doorman = g_new(Doorman, 1);
    *doorman =
      (Doorman){ .couriers = couriers, .host = host, .slot = slot, .ready = ready };
    start_daemon(couriers, 'd', host, keep_doors, doorman);
  }
  for (guint host = 0; host < couriers->network->n_hosts; host++)
    sg_sem_acquire(ready);
  sg_sem_destroy(ready);
  return slot;
}

static void enqueue(Delivery *delivery, Queue *queue, guint message)
{
  guint *place = &queue->first;

  if (queue->first != NONE && queue->last < message)
    place = &delivery->behind[queue->last];
  while (*place < message)
    place = &delivery->behind[*place];
  delivery->behind[message] = *place;
  if (*place == NONE)
    queue->last = message;
  *place = message;
}

/* The first message whose latency has passed, or else the one that is due next. */
static guint *choose(Delivery *delivery, Queue *queue)
{
  const double now_s = simgrid_get_clock();
  guint *best = &queue->first;

  for (guint *place = best; *place != NONE; place = &delivery->behind[*place]) {
    if (delivery->due_s[*place] <= now_s)
      return place;
    if (delivery->due_s[*place] < delivery->due_s[*best])
      best = place;
  }
  return best;
}

/* Take the message that uses the wire next; NONE if nobody waits. */
static guint dequeue(Delivery *delivery, Queue *queue)
{
  guint *place = choose(delivery, queue);
  const guint message = *place;

  if (message == NONE)
    return NONE;
  *place = delivery->behind[message];
  if (queue->last == message) {
    queue->last = queue->first;
    for (guint at = queue->first; at != NONE; at = delivery->behind[at])
      queue->last = at;
  }
  return message;
}

static void work(int argc, char **argv);

static Courier *hire(Couriers *couriers, guint host)
{
  Courier *courier = g_new(Courier, 1);

  *courier = (Courier){ .couriers = couriers, .host = host, .wake = sg_sem_init(0) };
  g_ptr_array_add(couriers->all, courier);
  start_daemon(couriers, 's', host, work, courier);
  return courier;
}

static void send_courier(Delivery *delivery, guint message)
{
  Couriers *couriers = delivery->couriers;
  const guint host =
    mail_message(delivery->mail, message)->wire / couriers->network->n_hosts;
  GPtrArray *idle = couriers->idle[host];
  Courier *courier = idle->len > 0 ? g_ptr_array_steal_index_fast(idle, idle->len - 1)
                                   : hire(couriers, host);

  courier->delivery = delivery;
  courier->message = message;
  sg_sem_release(courier->wake);
}

/* All that @p number waited for have arrived. */
static void dispatch(Delivery *delivery, guint number)
{
  const Message *message = mail_message(delivery->mail, number);
  Queue *queue = &delivery->queues[message->wire];

  delivery->due_s[number] = simgrid_get_clock() + message->latency_s;
  if (queue->is_served) {
    enqueue(delivery, queue, number);
    return;
  }
  queue->is_served = true;
  send_courier(delivery, number);
}

static void travel(const Delivery *delivery, guint message_number)
{
  const Network *network = delivery->couriers->network;
  const Message *message = mail_message(delivery->mail, message_number);
  const FlowClass *class = network_class(network, message->wire);
  const long amount = (long)network_amount(network, class, message->size_B);

  if (!network_class_moves(class) || amount == 0)
    return;
  sg_mailbox_t mailbox = mailbox_of(delivery->couriers, delivery->slot, message->wire);
  sg_mailbox_put(mailbox, mailbox, amount);
  /* What has arrived is taken out, or SimGrid would keep it. */
  (void)sg_mailbox_get(mailbox);
}

static void arrive(Delivery *delivery, guint message_number)
{
  const Message *message = mail_message(delivery->mail, message_number);

  for (guint i = 0; i < message->n_next; i++) {
    const guint next = g_array_index(delivery->mail->next, guint, message->first_next + i);
    if (--delivery->n_missing[next] == 0)
      dispatch(delivery, next);
  }
  if (--delivery->n_left == 0)
    sg_sem_release(delivery->finished);
}

/* Serve the wire of the first message until nobody waits for it. */
static void carry(const Courier *courier)
{
  Delivery *delivery = courier->delivery;
  guint message = courier->message;
  Queue *queue = &delivery->queues[mail_message(delivery->mail, message)->wire];

  while (message != NONE) {
    const double wait_s = delivery->due_s[message] - simgrid_get_clock();
    if (wait_s > 0)
      sg_actor_sleep_for(wait_s);
    travel(delivery, message);
    const guint next = dequeue(delivery, queue);
    queue->is_served = next != NONE;
    arrive(delivery, message); /* the delivery may end here, but not while one waits */
    message = next;
  }
}

static void work(int argc G_GNUC_UNUSED, char **argv G_GNUC_UNUSED)
{
  Courier *courier = sg_actor_self_get_data();

  sg_actor_daemonize(sg_actor_self());
  for (;;) {
    sg_sem_acquire(courier->wake);
    carry(courier);
    g_ptr_array_add(courier->couriers->idle[courier->host], courier);
  }
}

static bool amounts_fit(const Network *network, const Mail *mail)
{
  for (guint m = 0; m < mail->messages->len; m++) {
    const Message *message = mail_message(mail, m);
    if (!(network_amount(network, network_class(network, message->wire), message->size_B) <
          LARGEST_AMOUNT))
      return false;
  }
  return true;
}

bool couriers_deliver(Couriers *couriers, const Mail *mail)
{
  const guint n = mail->messages->len, n_wires = couriers->network->folded->classes->len;
  g_autofree guint *n_missing = g_new(guint, n);
  g_autofree double *due_s = g_new(double, n);
  g_autofree guint *behind = g_new(guint, n);
  g_autofree Queue *queues = g_new(Queue, n_wires);
  Delivery delivery = { .couriers = couriers,
                        .mail = mail,
                        .n_missing = n_missing,
                        .due_s = due_s,
                        .behind = behind,
                        .queues = queues,
                        .n_left = n };

  if (n == 0)
    return true;
  if (!amounts_fit(couriers->network, mail))
    return false;
  for (guint wire = 0; wire < n_wires; wire++)
    queues[wire] = (Queue){ .first = NONE, .last = NONE };
  for (guint m = 0; m < n; m++)
    n_missing[m] = mail_message(mail, m)->n_before;
  delivery.slot = take_slot(couriers);
  delivery.finished = sg_sem_init(0);
  for (guint m = 0; m < n; m++)
    if (mail_message(mail, m)->n_before == 0)
      dispatch(&delivery, m);
  sg_sem_acquire(delivery.finished);
  sg_sem_destroy(delivery.finished);
  g_array_append_val(couriers->free_slots, delivery.slot);
  return true;
}
