/* Queues of units, and which of them is served next. */
#include "sim/training/job.h"

#include <math.h>

void lane_notify(Lane *lane)
{
  if (lane->n_waiting == 0)
    return;
  lane->n_waiting--;
  engine_signal_raise(lane->changed);
}

static int compare_items(gconstpointer a, gconstpointer b, gpointer data G_GNUC_UNUSED)
{
  const Item *one = a, *other = b;
  if (one->unit.priority != other->unit.priority)
    return one->unit.priority < other->unit.priority ? -1 : 1;
  return (one->number > other->number) - (one->number < other->number);
}

void lane_put(Lane *lane, const Resource *resource, Item *item)
{
  if (resource->by_priority)
    g_queue_insert_sorted(&lane->items, item, compare_items, NULL);
  else
    g_queue_push_tail(&lane->items, item);
  lane_notify(lane);
}

/* A piece is as large as its gradient here. */
static bool goes_alone(const Resource *resource, const Item *item)
{
  return resource->exclusive_B > 0 &&
         item->unit.size_B * item->unit.n_parts >= resource->exclusive_B;
}

/* May the first unit be served? It never waits for those behind it. */
static bool is_open(Lane *lane, const Resource *resource)
{
  const Item *first = g_queue_peek_head(&lane->items);

  if (first == NULL || !(lane->credit_B > 0) || lane->is_taken)
    return false;
  return lane->n_served == 0 || !goes_alone(resource, first);
}

Item *lane_take(Lane *lane, const Resource *resource, guint number)
{
  while (!is_open(lane, resource)) {
    if (lane->closing && g_queue_is_empty(&lane->items))
      return NULL;
    lane->n_waiting++;
    engine_signal_wait(lane->changed);
  }
  Item *item = g_queue_pop_head(&lane->items);
  lane->n_served++;
  lane->is_taken = goes_alone(resource, item);
  if (isfinite(lane->credit_B)) {
    lane->credit_B -= item->unit.size_B;
    item->held_credit |= 1u << number;
  }
  return item;
}

void lane_leave(Lane *lane, const Resource *resource)
{
  lane->n_served--;
  lane->is_taken = false;
  if (resource->exclusive_B > 0)
    for (guint n = lane->n_waiting; n > 0; n--)
      lane_notify(lane);
}
