/**
 * @file workload.h
 * @brief A workload as a part of a scenario: layers, their tensors, their measured times.
 */
#pragma once

#include "calibrate/import.h"

typedef struct ImportWorkload ImportWorkload;

ImportWorkload *import_workload_new(void);
void import_workload_free(ImportWorkload *workload);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportWorkload, import_workload_free)

/** What one layer of a batch takes. @p name  made unique, and its dots plain: they group
 *  layers in models */
void import_workload_add(ImportWorkload *workload, const char *name, double forward_s,
                         double backward_s);

/** Of the layer last added: one more tensor. */
void import_workload_add_tensor(ImportWorkload *workload, const char *name, double values);

/** {"workload": {"model": {...}, "precision", "compute": {"layers": [...]}}}.
 *  Transfer: caller frees. */
char *import_workload_render(const ImportWorkload *workload, const ImportInput *input,
                             const char *sample, const char *precision);
