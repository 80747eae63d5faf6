#include "calibrate/gpu/plugin/blas.h"

#include <cublas_v2.h>

struct Blas {
  cublasHandle_t handle;
  cublasStatus_t (*create)(cublasHandle_t *);
  cublasStatus_t (*destroy)(cublasHandle_t);
  cublasStatus_t (*get_property)(libraryPropertyType, int *);
  cublasStatus_t (*set_stream)(cublasHandle_t, cudaStream_t);
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                         int, const void *, const void *, cudaDataType, int, const void *,
                         cudaDataType, int, const void *, void *, cudaDataType, int,
                         cublasComputeType_t, cublasGemmAlgo_t);
};

#define TEXT(number) #number
#define LIBRARY_NAME(version) "libcublas.so." TEXT(version)

static bool blas_try(cublasStatus_t status, const char *what, GpuFault *fault)
{
  return status == CUBLAS_STATUS_SUCCESS ||
         fault_set(fault, GPU_FAULT_FAILED, "cuBLAS: %s failed (%d)", what, (int)status);
}

static bool blas_load(GpuSession *session, GpuFault *fault)
{
  static const char *const names[] = { LIBRARY_NAME(CUBLAS_VER_MAJOR), "libcublas.so",
                                       NULL };
  if (session->blas != NULL)
    return true;
  void *library = library_open(names, fault);
  g_autofree Blas *blas = g_new0(Blas, 1);
  if (library == NULL || !library_bind(&blas->create, library, "cublasCreate_v2", fault) ||
      !library_bind(&blas->destroy, library, "cublasDestroy_v2", fault) ||
      !library_bind(&blas->get_property, library, "cublasGetProperty", fault) ||
      !library_bind(&blas->set_stream, library, "cublasSetStream_v2", fault) ||
      !library_bind(&blas->gemm, library, "cublasGemmEx", fault))
    return false;
  session->blas = g_steal_pointer(&blas);
  return true;
}

static bool blas_open(GpuSession *session, GpuFault *fault)
{
  if (!blas_load(session, fault))
    return false;
  Blas *blas = session->blas;
  return blas->handle != NULL ||
         (CUDA_TRY(cudaSetDevice(session->device[0].number), fault) &&
          blas_try(blas->create(&blas->handle), "create", fault) &&
          blas_try(blas->set_stream(blas->handle, session->device[0].stream), "set stream",
                   fault));
}

void blas_free(Blas *blas)
{
  if (blas != NULL && blas->handle != NULL)
    blas->destroy(blas->handle);
  g_free(blas);
}

uint32_t blas_version(GpuSession *session, GpuFault *fault)
{
  int major = 0, minor = 0, patch = 0;

  if (!blas_load(session, fault))
    return 0;
  session->blas->get_property(MAJOR_VERSION, &major);
  session->blas->get_property(MINOR_VERSION, &minor);
  session->blas->get_property(PATCH_LEVEL, &patch);
  return (uint32_t)(major * 10000 + minor * 100 + patch);
}

static bool is_narrow(const GpuWork *work)
{
  return work->dtype == GPU_FP16 || work->dtype == GPU_BF16;
}

bool blas_prepare(GpuSession *session, Device *device, const GpuWork *work, GpuFault *fault)
{
  const uint64_t a = (uint64_t)work->m * work->k, b = (uint64_t)work->k * work->n;
  const uint64_t c = (uint64_t)work->m * work->n, value_B = is_narrow(work) ? 2 : 4;

  if (!blas_open(session, fault))
    return false;
  if ((a + b) * 4 > device->buffer_B || c * value_B > device->buffer_B)
    return fault_set(fault, GPU_FAULT_FAILED, "the matrices do not fit the buffers");
  if (!is_narrow(work))
    return true;
  const KernelLaunch narrow = { KERNEL_narrow,
                                (uint32_t)device->n_sms * 4,
                                256,
                                { .narrow = { device->values, device->x, a + b,
                                              work->dtype == GPU_FP16 ? SIMT_FP16
                                                                      : SIMT_BF16 } } };
  return CUDA_TRY(kernels_launch(&narrow, device->stream), fault);
}

bool blas_multiply(GpuSession *session, Device *device, const GpuWork *work,
                   GpuFault *fault)
{
  const float one = 1, zero = 0;
  const int m = (int)work->m, n = (int)work->n, k = (int)work->k;
  const uint64_t a_values = (uint64_t)work->m * work->k;
  const cudaDataType type = work->dtype == GPU_FP16   ? CUDA_R_16F
                            : work->dtype == GPU_BF16 ? CUDA_R_16BF
                                                      : CUDA_R_32F;
  const char *a = is_narrow(work) ? device->x : device->values;
  const char *b = a + a_values * (is_narrow(work) ? 2 : 4);
  /* Sums are fp32 for all; fp32 operands become tf32 only when asked for by name. */
  const cublasComputeType_t compute =
    work->dtype == GPU_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const cublasStatus_t status = session->blas->gemm(
    session->blas->handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, type, m, b, type, k,
    &zero, device->y, type, m, compute, CUBLAS_GEMM_DEFAULT);
  return blas_try(status, "product", fault);
}
