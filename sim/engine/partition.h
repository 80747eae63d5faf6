/**
 * @file partition.h
 * @brief A partition of 0..n-1 that is refined by counting neighbours.
 */
#pragma once

#include <glib.h>

typedef struct Partition Partition;

/** A graph in compressed rows: neighbours of v are adjacent[first[v]..first[v + 1]). */
typedef struct {
  guint n;
  guint32 *first;    /**< n + 1 entries, owned */
  guint32 *adjacent; /**< owned */
} PartitionGraph;

void partition_graph_clear(PartitionGraph *graph);

/** @param class_of  the class each element starts in, 0..n_classes-1, all in use */
Partition *partition_new(const guint32 *class_of, guint n, guint n_classes);
void partition_free(Partition *partition);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Partition, partition_free)

/** Split until all elements of a class have equally many edges to every class. */
void partition_refine(Partition *partition, const PartitionGraph *graph);

guint partition_n_classes(const Partition *partition);
guint partition_class_of(const Partition *partition, guint element);
guint partition_class_size(const Partition *partition, guint class_id);
/** A member of the class. */
guint partition_member(const Partition *partition, guint class_id);
