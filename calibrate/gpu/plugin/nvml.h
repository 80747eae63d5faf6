/**
 * @file nvml.h
 * @brief What the driver's management library says: read, never set.
 *
 * Not every CUDA toolkit brings nvml.h, so the few prototypes are declared in nvml.c; the
 * functions named _v2 and _v3 are those that NVML has had since driver 450 or longer.
 */
#pragma once

#include "calibrate/gpu/plugin/library.h"

typedef struct Nvml Nvml;

/** NULL if there is none. Transfer: nvml_free(). */
Nvml *nvml_new(void);
void nvml_free(Nvml *nvml);

/** "580.65.06"; "" if unknown. */
void nvml_driver(const Nvml *nvml, char *text, size_t size_B);

/** @param bus    as cudaDeviceGetPCIBusId() writes it
 *  @param n_own  how many of the processes on the device are ours: see GpuRequest */
void nvml_state(const Nvml *nvml, const char *bus, uint32_t n_own, GpuState *state);

/** MIG, ECC, power limit and NVLinks. */
void nvml_describe(const Nvml *nvml, const char *bus, GpuDevice *device);
