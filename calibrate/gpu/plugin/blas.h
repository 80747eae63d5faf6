/**
 * @file blas.h
 * @brief Matrix products by cuBLAS.
 */
#pragma once

#include "calibrate/gpu/plugin/session.h"

/** 0 with a fault if there is no cuBLAS. */
uint32_t blas_version(GpuSession *session, GpuFault *fault);

/** Fill what operands of @p work need: device->x in 16 bits. Once before its products. */
bool blas_prepare(GpuSession *session, Device *device, const GpuWork *work,
                  GpuFault *fault);

/** One product of work's m x k by k x n, on the device's compute stream. */
bool blas_multiply(GpuSession *session, Device *device, const GpuWork *work,
                   GpuFault *fault);

void blas_free(Blas *blas);
