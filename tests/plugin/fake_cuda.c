/**
 * @file fake_cuda.c
 * @brief As much of the CUDA runtime as the plug-in calls, on the host: its logic is tested
 *        without a GPU, and the sanitizers see every byte that a kernel touches.
 *
 * Device memory is the heap's, kernels run on simt_host_launch(), and everything is done
 * when it is asked for. A stream that was given work is busy until someone waits for it.
 */
#include "calibrate/gpu/plugin/kernels.h"
#include "calibrate/gpu/simt_host.h"

#include <stdlib.h>
#include <time.h>

/* The API has no object to hold this in. */
static cudaError_t last_error;
static int n_kernels_left = -1; /* until kernels fail; -1: never */

void fake_cuda_fail_after(int n_kernels);
void fake_cuda_fail_after(int n_kernels)
{
  n_kernels_left = n_kernels;
}

struct CUstream_st {
  bool is_busy;
};
struct CUevent_st {
  double at_s;
};

static cudaError_t fail(cudaError_t error)
{
  last_error = error;
  return error;
}

static void give_work(cudaStream_t stream)
{
  stream->is_busy = true;
}

/* A copy that would run for seconds, or as fast as it can, ends at once. */
#define PACED_LIMIT_NS 20000
#define PACED_PATIENCE_NS 5000000

cudaError_t kernels_launch(const KernelLaunch *launch, cudaStream_t stream)
{
  KernelLaunch it = *launch;

  if (n_kernels_left == 0)
    return cudaErrorLaunchFailure;
  n_kernels_left -= n_kernels_left > 0;
  if (it.kernel == KERNEL_paced &&
      (it.args.paced.interval_ns == 0 || it.args.paced.limit_ns > PACED_PATIENCE_NS))
    it.args.paced.limit_ns = PACED_LIMIT_NS;
  give_work(stream);
  return simt_host_launch(&it, SIMT_FORWARD, NULL) ? cudaSuccess : cudaErrorLaunchTimeout;
}

/* ---- devices ----------------------------------------------------------------------- */

cudaError_t cudaDriverGetVersion(int *version)
{
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
  *count = 2;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
  return device < 2 ? cudaSuccess : fail(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
  memset(properties, 0, sizeof *properties);
  strcpy(properties->name, "a CPU");
  properties->multiProcessorCount = 1;
  properties->l2CacheSize = 1 << 16;
  properties->major = 9;
  properties->uuid.bytes[0] = (char)(0x80 + device);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
  (void)device;
  *value = 1000;
  /* As older drivers do, whose error must not become the next call's. */
  return attribute == cudaDevAttrHostNumaId ? fail(cudaErrorInvalidValue) : cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *bus, int size, int device)
{
  g_snprintf(bus, (gulong)size, "0000:%02x:00.0", device);
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
  (void)peer, (void)flags;
  return fail(cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
  return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
  return error == cudaErrorLaunchFailure ? "unspecified launch failure" : "an error";
}

/* ---- memory ------------------------------------------------------------------------ */

static void *allocate(size_t size_B)
{
  return aligned_alloc(16, (size_B + 15) / 16 * 16);
}

cudaError_t cudaMemGetInfo(size_t *free_B, size_t *total_B)
{
  *free_B = 64 << 20;
  *total_B = 128 << 20;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t size_B)
{
  *memory = allocate(size_B);
  memset(*memory, 0xa5, (size_B + 15) / 16 * 16);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t size_B, unsigned int flags)
{
  (void)flags;
  return cudaMalloc(memory, size_B);
}

cudaError_t cudaFree(void *memory)
{
  free(memory);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory)
{
  free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size_B, enum cudaMemcpyKind kind)
{
  (void)kind;
  memmove(to, from, size_B);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size_B,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
  give_work(stream);
  return cudaMemcpy(to, from, size_B, kind);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t size_B, cudaStream_t stream)
{
  return to_device == from_device
           ? fail(cudaErrorInvalidValue)
           : cudaMemcpyAsync(to, from, size_B, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemset(void *memory, int value, size_t size_B)
{
  memset(memory, value, size_B);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t size_B, cudaStream_t stream)
{
  give_work(stream);
  return cudaMemset(memory, value, size_B);
}

/* ---- streams, events, graphs ------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
  (void)flags;
  *stream = calloc(1, sizeof **stream);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
                                         int priority)
{
  return priority == -5 ? cudaStreamCreateWithFlags(stream, flags)
                        : fail(cudaErrorInvalidValue);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
  free(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
  stream->is_busy = false;
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
  return stream->is_busy ? fail(cudaErrorNotReady) : cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
  (void)flags;
  give_work(stream);
  return event == NULL ? fail(cudaErrorInvalidValue) : cudaSuccess;
}

/* What is captured here has run already; a replay does nothing. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
  (void)stream, (void)mode;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
  (void)stream;
  *graph = malloc(1);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long flags)
{
  (void)graph, (void)flags;
  *executable = malloc(1);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
  free(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
  free(executable);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
  give_work(stream);
  return executable == NULL ? fail(cudaErrorInvalidValue) : cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
  *event = calloc(1, sizeof **event);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
  free(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
  struct timespec now;

  (void)stream;
  clock_gettime(CLOCK_MONOTONIC, &now);
  event->at_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
  *ms = (float)((end->at_s - begin->at_s) * 1e3);
  return *ms >= 0 ? cudaSuccess : fail(cudaErrorInvalidValue);
}
