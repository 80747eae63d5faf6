#include "sim/engine/partition.h"

#include <stdbool.h>
#include <stdlib.h>

typedef struct {
  guint first; /* into Partition.element */
  guint size;
  guint n_marked; /* members at the end of its range that the splitter touches */
} Class;

struct Partition {
  guint n;
  guint32 *element; /* a permutation of 0..n-1, class after class */
  guint32 *place;   /* its inverse */
  guint32 *class_of;
  guint32 *count;   /* edges from an element into the current splitter */
  GArray *classes;  /* of Class */
  GArray *worklist; /* of guint32: classes that may still split others */
  GArray *touched;  /* of guint32: classes with marked members */
  GArray *splitter; /* of guint32: a copy of the splitter's members */
};

void partition_graph_clear(PartitionGraph *graph)
{
  g_clear_pointer(&graph->first, g_free);
  g_clear_pointer(&graph->adjacent, g_free);
}

static Class *class_at(const Partition *partition, guint id)
{
  return &g_array_index(partition->classes, Class, id);
}

static void enqueue(Partition *partition, guint32 id)
{
  g_array_append_val(partition->worklist, id);
}

Partition *partition_new(const guint32 *class_of, guint n, guint n_classes)
{
  Partition *partition = g_new0(Partition, 1);
  partition->n = n;
  partition->element = g_new(guint32, n);
  partition->place = g_new(guint32, n);
  partition->class_of = g_memdup2(class_of, n * sizeof *class_of);
  partition->count = g_new0(guint32, n);
  partition->classes = g_array_new(FALSE, TRUE, sizeof(Class));
  partition->worklist = g_array_new(FALSE, FALSE, sizeof(guint32));
  partition->touched = g_array_new(FALSE, FALSE, sizeof(guint32));
  partition->splitter = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_array_set_size(partition->classes, n_classes);

  for (guint i = 0; i < n; i++)
    class_at(partition, class_of[i])->size++;
  for (guint id = 0, first = 0; id < n_classes; id++) {
    class_at(partition, id)->first = first;
    first += class_at(partition, id)->size;
    class_at(partition, id)->size = 0;
    enqueue(partition, id);
  }
  for (guint32 i = 0; i < n; i++) {
    Class *class = class_at(partition, class_of[i]);
    partition->place[i] = class->first + class->size++;
    partition->element[partition->place[i]] = i;
  }
  return partition;
}

void partition_free(Partition *partition)
{
  g_free(partition->element);
  g_free(partition->place);
  g_free(partition->class_of);
  g_free(partition->count);
  g_array_unref(partition->classes);
  g_array_unref(partition->worklist);
  g_array_unref(partition->touched);
  g_array_unref(partition->splitter);
  g_free(partition);
}

static void swap_places(Partition *partition, guint a, guint b)
{
  const guint32 element_a = partition->element[a];
  const guint32 element_b = partition->element[b];

  partition->element[a] = element_b;
  partition->element[b] = element_a;
  partition->place[element_a] = b;
  partition->place[element_b] = a;
}

/* Count one edge from @p element into the splitter; its first moves it to the marked end
 * of its class. */
static void touch(Partition *partition, guint32 element)
{
  if (partition->count[element]++ > 0)
    return;

  const guint32 id = partition->class_of[element];
  Class *class = class_at(partition, id);
  if (class->n_marked == 0)
    g_array_append_val(partition->touched, id);
  class->n_marked++;
  swap_places(partition, partition->place[element],
              class->first + class->size - class->n_marked);
}

static int compare_counts(const void *a, const void *b, void *count)
{
  const guint32 count_a = ((const guint32 *)count)[*(const guint32 *)a];
  const guint32 count_b = ((const guint32 *)count)[*(const guint32 *)b];
  return (count_a > count_b) - (count_a < count_b);
}

/* Sort the marked members by count unless they are all alike. */
static void sort_marked(Partition *partition, guint first, guint end)
{
  guint32 *element = partition->element;
  bool alike = true;

  for (guint i = first + 1; i < end && alike; i++)
    alike = partition->count[element[i]] == partition->count[element[first]];
  if (alike)
    return;
  g_qsort_with_data(element + first, (int)(end - first), sizeof *element, compare_counts,
                    partition->count);
  for (guint i = first; i < end; i++)
    partition->place[element[i]] = i;
}

/* Make the range a class of its own and queue it. */
static void cut_off(Partition *partition, guint first, guint size)
{
  const guint32 id = partition->classes->len;

  g_array_append_vals(partition->classes, &(Class){ .first = first, .size = size }, 1);
  for (guint i = first; i < first + size; i++)
    partition->class_of[partition->element[i]] = id;
  enqueue(partition, id);
}

static guint run_end(const Partition *partition, guint at, guint end)
{
  const guint32 count = partition->count[partition->element[at]];
  while (at < end && partition->count[partition->element[at]] == count)
    at++;
  return at;
}

/* The largest part keeps the class's number, so that what is queued anew is small. */
static void split(Partition *partition, guint32 id)
{
  const Class class = *class_at(partition, id);
  const guint end = class.first + class.size;
  const guint marked = end - class.n_marked;

  sort_marked(partition, marked, end);
  guint largest_first = class.first, largest_size = marked - class.first;
  for (guint at = marked; at < end;) {
    const guint next = run_end(partition, at, end);
    if (next - at > largest_size) {
      largest_first = at;
      largest_size = next - at;
    }
    at = next;
  }
  class_at(partition, id)->first = largest_first;
  class_at(partition, id)->size = largest_size;
  class_at(partition, id)->n_marked = 0;

  if (marked > class.first && largest_first != class.first)
    cut_off(partition, class.first, marked - class.first);
  for (guint at = marked; at < end;) {
    const guint next = run_end(partition, at, end);
    if (at != largest_first)
      cut_off(partition, at, next - at);
    at = next;
  }
  for (guint i = marked; i < end; i++)
    partition->count[partition->element[i]] = 0;
}

static void split_by(Partition *partition, const PartitionGraph *graph, guint32 id)
{
  Class *class = class_at(partition, id);

  g_array_set_size(partition->splitter, 0);
  g_array_append_vals(partition->splitter, partition->element + class->first, class->size);
  g_array_set_size(partition->touched, 0);
  for (guint i = 0; i < partition->splitter->len; i++) {
    const guint32 member = g_array_index(partition->splitter, guint32, i);
    for (guint32 e = graph->first[member]; e < graph->first[member + 1]; e++)
      touch(partition, graph->adjacent[e]);
  }
  for (guint i = 0; i < partition->touched->len; i++)
    split(partition, g_array_index(partition->touched, guint32, i));
}

void partition_refine(Partition *partition, const PartitionGraph *graph)
{
  while (partition->worklist->len > 0) {
    const guint last = partition->worklist->len - 1;
    const guint32 id = g_array_index(partition->worklist, guint32, last);
    g_array_set_size(partition->worklist, last);
    split_by(partition, graph, id);
  }
}

guint partition_n_classes(const Partition *partition)
{
  return partition->classes->len;
}

guint partition_class_of(const Partition *partition, guint element)
{
  return partition->class_of[element];
}

guint partition_class_size(const Partition *partition, guint class_id)
{
  return class_at(partition, class_id)->size;
}

guint partition_member(const Partition *partition, guint class_id)
{
  return partition->element[class_at(partition, class_id)->first];
}
