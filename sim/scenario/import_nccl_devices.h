/**
 * @file import_nccl_devices.h
 * @brief GPUs, NVLinks and NICs of a topology of NCCL. A part of import_nccl.c.
 */
#pragma once

#include "sim/scenario/xml.h"

typedef struct {
  const XmlElement *gpu, *pci, *cpu;
  const XmlElement *top; /* the outermost PCIe element above it: its switch, or its own */
  guint dev, sm;
  guint n_to_switches; /* NVLinks */
  guint *n_to;         /* NVLinks to each other GPU; owned */
} Gpu;

typedef struct {
  const XmlElement *cpu;
  guint mbitps;
} Net;

typedef struct {
  const ImportFile *file;
  GArray *gpus; /* of Gpu, by dev */
  GArray *nets; /* of Net */
  GPtrArray *cpus;
} Nccl;

/** Fill @p self, of which only the file is set, from @p root, which must outlive it: one
 *  host, GPUs by number, NVLinks that both ends agree on. False with SIM_ERROR_SYNTAX. */
bool nccl_collect(Nccl *self, const XmlElement *root, GError **error);
void nccl_clear(Nccl *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Nccl, nccl_clear)

Gpu *nccl_gpu_at(const Nccl *self, guint index);
