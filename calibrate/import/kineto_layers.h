/**
 * @file kineto_layers.h
 * @brief What each layer of a profiled model takes, forward and backward.
 *
 * A kernel belongs to the layer in whose range of the CPU's timeline it was launched: that
 * of a module (`with_modules` or `with_stack`), else that of a record_function, else the
 * outermost operator. Launch and kernel share a correlation. The autograd engine runs
 * backward on threads of its own: its operators bear the sequence number of the forward
 * operator that made them, and of several with one number the last began it.
 *
 * Source: pytorch/kineto libkineto/src/output_json.cpp; PyTorch
 * torch/csrc/profiler/collection.cpp, generateForwardBackwardLink().
 */
#pragma once

#include "calibrate/import/kineto_events.h"

typedef struct KinetoLayers KinetoLayers;

KinetoLayers *kineto_layers_new(void);
void kineto_layers_free(KinetoLayers *layers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KinetoLayers, kineto_layers_free)

/** Keep what of @p event matters. */
void kineto_layers_add(KinetoLayers *layers, const KinetoEvent *event);

/** Make imported->scenario of it, and notes of what the trace does not tell; neither if it
 *  tells no layer. */
void kineto_layers_summarise(KinetoLayers *layers, ImportInput *input, Imported *imported);
