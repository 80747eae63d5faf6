/**
 * @file assembly.h
 * @brief A setup put together: the strategy on its workload, with its codec and memory.
 */
#pragma once

#include "models/setup.h"

/** The workload of one GPU of @p kind, see cluster_kind(). Transfer: caller frees with
 *  workload_free(). @return NULL as workload_new() */
Workload *assembly_workload(const Setup *setup, guint kind, GError **error);

/** NULL: gradients travel as they are. Transfer: caller frees with compression_free(). */
Compression *assembly_compression(const Setup *setup, const Workload *workload);

/** Let the strategy fill @p composition. @param workload  as its schedule sees it */
void assembly_compose(const Setup *setup, const Workload *workload,
                      const Compression *compression, Composition *composition);

/** The same, gradients as large as their messages where a codec makes them so before the
 *  schedule hears of them. For looks: its schedule cannot run. */
void assembly_compose_messages(const Setup *setup, const Workload *workload,
                               const Compression *compression, Composition *composition);

/** The codecs that a strategy chooses from (GPtrArray of Compression); empty if it chooses
 *  none. @p composition must outlive them. Transfer: caller unrefs */
GPtrArray *assembly_choices(const Setup *setup, const Workload *workload,
                            const Composition *composition);

/** What codecs keep on a GPU from one iteration to the next; of several to choose from,
 *  that which keeps most [B]. */
double assembly_codec_B(const Compression *compression, const GPtrArray *choices);

/** What the GPU with the least memory holds. @param codec_B  the codec's state and buffers,
 *  beside what the strategy holds [B] */
MemoryUse assembly_least_memory(const Setup *setup, const Workload *workload,
                                const Composition *composition, double codec_B);

/** The same, of what a setup tells before it runs: without buffers of a codec.
 *  @return false if its parts do not fit together */
bool assembly_expected_memory(const Setup *setup, MemoryUse *use);
