#include "calibrate/gpu/plugin/session.h"

#include "calibrate/gpu/condition.h"
#include "calibrate/gpu/plugin/blas.h"
#include "calibrate/gpu/plugin/nccl.h"

#include <string.h>
#include <time.h>

/* Host buffers: PCIe curves are straight long before this [B]. */
#define HOST_MAX_B (1024ull << 20)

/* Of what is free; three buffers of this size leave room for the libraries. */
#define BUFFER_SHARE 4

bool cuda_ok(cudaError_t result, const char *call, GpuFault *fault)
{
  if (result == cudaSuccess)
    return true;
  cudaGetLastError(); /* told once: it is not the next call's */
  /* The name of the call is enough; its arguments are the program's own. */
  return fault_set(fault, GPU_FAULT_FAILED, "%.*s: %s (%d)", (int)strcspn(call, "("), call,
                   cudaGetErrorString(result), (int)result);
}

double clock_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Is there a GPU at all? */
static bool count_devices(int *n, GpuFault *fault)
{
  GpuCondition condition = { .runtime = CUDART_VERSION };

  cudaDriverGetVersion(&condition.driver);
  const cudaError_t result = cudaGetDeviceCount(n);
  condition.result = (int)result;
  condition.n_devices = result == cudaSuccess ? *n : 0;
  condition.other = cudaGetErrorString(result);
  g_autofree char *message = gpu_condition_message(&condition);
  return message == NULL || fault_set(fault, GPU_FAULT_NO_DEVICE, "%s", message);
}

static bool choose_devices(GpuSession *session, int n_visible, GpuFault *fault)
{
  const GpuRequest *request = &session->request;
  const uint32_t n_wanted =
    request->n_devices > 0 ? request->n_devices : MIN((uint32_t)n_visible, GPU_DEVICES_MAX);

  for (uint32_t i = 0; i < n_wanted; i++) {
    const uint32_t number = request->n_devices > 0 ? request->device[i] : i;
    if (number >= (uint32_t)n_visible)
      return fault_set(fault, GPU_FAULT_NO_DEVICE, "there is no GPU %u; known: 0 to %d",
                       number, n_visible - 1);
    session->device[i].number = (int)number;
  }
  session->n_devices = n_wanted;
  return true;
}

static bool device_open(Device *device, uint64_t max_B, GpuFault *fault)
{
  struct cudaDeviceProp properties;
  size_t free_B = 0, total_B = 0;
  int least = 0, greatest = 0;

  if (!CUDA_TRY(cudaSetDevice(device->number), fault) ||
      !CUDA_TRY(cudaGetDeviceProperties(&properties, device->number), fault) ||
      !CUDA_TRY(cudaMemGetInfo(&free_B, &total_B), fault) ||
      !CUDA_TRY(cudaDeviceGetPCIBusId(device->bus, sizeof device->bus, device->number),
                fault) ||
      !CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest), fault) ||
      !CUDA_TRY(cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking), fault) ||
      !CUDA_TRY(cudaStreamCreateWithFlags(&device->side, cudaStreamNonBlocking), fault) ||
      !CUDA_TRY(
        cudaStreamCreateWithPriority(&device->side_urgent, cudaStreamNonBlocking, greatest),
        fault) ||
      !CUDA_TRY(cudaEventCreate(&device->begin), fault) ||
      !CUDA_TRY(cudaEventCreate(&device->end), fault) ||
      !CUDA_TRY(cudaEventCreate(&device->side_begin), fault) ||
      !CUDA_TRY(cudaEventCreate(&device->side_end), fault))
    return false;
  device->n_sms = properties.multiProcessorCount;
  device->l2_B = (uint64_t)MAX(properties.l2CacheSize, 1 << 20);
  device->buffer_B = MIN(max_B, free_B / BUFFER_SHARE) / 4096 * 4096;
  return true;
}

bool session_open(const GpuRequest *request, GpuSession **out, GpuFault *fault)
{
  int n_visible = 0;

  if (!count_devices(&n_visible, fault))
    return false;
  GpuSession *session = g_new0(GpuSession, 1);
  session->request = *request;
  session->nccl_library = g_strdup(request->nccl_library);
  session->nvml = nvml_new();
  bool ok = choose_devices(session, n_visible, fault);
  for (uint32_t i = 0; ok && i < session->n_devices; i++)
    ok = device_open(&session->device[i], request->max_B, fault);
  if (!ok) {
    session_close(session);
    return false;
  }
  *out = session;
  return true;
}

static void device_close(Device *device)
{
  const cudaStream_t streams[] = { device->stream, device->side, device->side_urgent };
  const cudaEvent_t events[] = { device->begin, device->end, device->side_begin,
                                 device->side_end };

  if (device->stream == NULL)
    return;
  cudaSetDevice(device->number);
  cudaFree(device->values);
  cudaFree(device->x);
  cudaFree(device->y);
  cudaFree(device->flush);
  cudaFree(device->scratch);
  for (guint i = 0; i < G_N_ELEMENTS(streams); i++)
    if (streams[i] != NULL)
      cudaStreamDestroy(streams[i]);
  for (guint i = 0; i < G_N_ELEMENTS(events); i++)
    if (events[i] != NULL)
      cudaEventDestroy(events[i]);
}

void session_close(GpuSession *session)
{
  nccl_free(session->nccl);
  blas_free(session->blas);
  if (session->graph != NULL)
    cudaGraphExecDestroy(session->graph);
  if (session->pinned != NULL)
    cudaFreeHost(session->pinned);
  if (session->stop != NULL)
    cudaFreeHost(session->stop);
  for (uint32_t i = 0; i < session->n_devices; i++)
    device_close(&session->device[i]);
  nvml_free(session->nvml);
  g_free(session->pageable);
  g_free(session->nccl_library);
  g_free(session);
}

bool session_versions(GpuSession *session, GpuVersions *versions, GpuFault *fault)
{
  int driver = 0;
  GpuFault ignored;

  if (!CUDA_TRY(cudaDriverGetVersion(&driver), fault))
    return false;
  *versions = (GpuVersions){ .driver = (uint32_t)driver,
                             .runtime = CUDART_VERSION,
                             .n_devices = session->n_devices };
  nvml_driver(session->nvml, versions->driver_text, sizeof versions->driver_text);
  versions->nccl = nccl_version(session, &ignored);
  versions->cublas = blas_version(session, &ignored);
  return true;
}

/* Of the bus, both edges of its clock; CUDA stopped telling the clock in version 13. */
static double nominal_Bps(int number)
{
  int kHz = 0, bits = 0;

  if (cudaDeviceGetAttribute(&kHz, cudaDevAttrMemoryClockRate, number) != cudaSuccess ||
      cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, number) != cudaSuccess)
    return 0;
  return 2e3 * kHz * bits / 8;
}

static uint32_t find_peers(const GpuSession *session, int number)
{
  uint32_t peers = 0;

  for (uint32_t i = 0; i < session->n_devices; i++) {
    int can = 0;
    if (session->device[i].number != number &&
        cudaDeviceCanAccessPeer(&can, number, session->device[i].number) == cudaSuccess)
      peers |= (uint32_t)(can != 0) << i;
  }
  return peers;
}

bool session_describe(GpuSession *session, uint32_t number, GpuDevice *out, GpuFault *fault)
{
  struct cudaDeviceProp properties;
  size_t free_B = 0, total_B = 0;
  const Device *device = &session->device[number];
  int numa = -1;

  if (!CUDA_TRY(cudaSetDevice(device->number), fault) ||
      !CUDA_TRY(cudaGetDeviceProperties(&properties, device->number), fault) ||
      !CUDA_TRY(cudaMemGetInfo(&free_B, &total_B), fault))
    return false;
  if (cudaDeviceGetAttribute(&numa, cudaDevAttrHostNumaId, device->number) != cudaSuccess)
    numa = -1;
  *out = (GpuDevice){ .major = (uint32_t)properties.major,
                      .minor = (uint32_t)properties.minor,
                      .n_sms = (uint32_t)device->n_sms,
                      .l2_B = device->l2_B,
                      .memory_B = total_B,
                      .free_B = free_B,
                      .buffer_B = device->buffer_B,
                      .memory_Bps = nominal_Bps(device->number),
                      .numa_node = numa,
                      .ecc = properties.ECCEnabled != 0,
                      .peers = find_peers(session, device->number) };
  g_strlcpy(out->name, properties.name, sizeof out->name);
  for (guint i = 0; i < sizeof properties.uuid.bytes; i++)
    g_snprintf(out->uuid + 2 * i, 3, "%02x", (unsigned char)properties.uuid.bytes[i]);
  nvml_describe(session->nvml, device->bus, out);
  nvml_state(session->nvml, device->bus, session->request.n_own, &out->state);
  return true;
}

/* Pseudo-random fp32 in [-1, 1): what a product of zeros tells is too good. */
static bool fill_random(Device *device, GpuFault *fault)
{
  const uint64_t block_B = MIN(device->buffer_B, 16ull << 20);
  const uint64_t n = block_B / sizeof(float);
  g_autofree float *block = g_malloc(block_B);
  uint64_t done_B = block_B;

  for (uint64_t i = 0; i < n; i++) {
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u; /* SplitMix64 of the index */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    block[i] = (float)((z ^ z >> 31) >> 40) * 0x1p-23f - 1;
  }
  if (!CUDA_TRY(cudaMemcpy(device->values, block, block_B, cudaMemcpyHostToDevice), fault))
    return false;
  while (done_B < device->buffer_B) {
    const uint64_t more_B = MIN(done_B, device->buffer_B - done_B);
    if (!CUDA_TRY(cudaMemcpy((char *)device->values + done_B, device->values, more_B,
                             cudaMemcpyDeviceToDevice),
                  fault))
      return false;
    done_B += more_B;
  }
  return true;
}

static bool allocate(Device *device, GpuFault *fault)
{
  const uint64_t size_B = device->buffer_B;

  if (device->scratch != NULL)
    return true;
  return CUDA_TRY(cudaMalloc((void **)&device->values, size_B), fault) &&
         CUDA_TRY(cudaMalloc(&device->x, size_B), fault) &&
         CUDA_TRY(cudaMalloc(&device->y, size_B), fault) &&
         CUDA_TRY(cudaMalloc(&device->flush, 2 * device->l2_B), fault) &&
         CUDA_TRY(cudaMemset(device->x, 0, size_B), fault) &&
         CUDA_TRY(cudaMemset(device->y, 0, size_B), fault) && fill_random(device, fault) &&
         CUDA_TRY(cudaMalloc((void **)&device->scratch, sizeof *device->scratch), fault) &&
         CUDA_TRY(cudaMemset(device->scratch, 0, sizeof *device->scratch), fault) &&
         CUDA_TRY(cudaDeviceSynchronize(), fault);
}

Device *session_device(GpuSession *session, uint32_t number, GpuFault *fault)
{
  Device *device = &session->device[number];

  if (number >= session->n_devices) {
    fault_set(fault, GPU_FAULT_FAILED, "there are only %u GPUs", session->n_devices);
    return NULL;
  }
  if (!CUDA_TRY(cudaSetDevice(device->number), fault) || !allocate(device, fault))
    return NULL;
  return device;
}

bool session_host_buffers(GpuSession *session, uint64_t size_B, GpuFault *fault)
{
  const uint64_t wanted_B = MIN(session->device[0].buffer_B, HOST_MAX_B);

  if (size_B > wanted_B)
    return fault_set(fault, GPU_FAULT_FAILED, "more than the host's buffer holds");
  if (session->pinned == NULL) {
    if (!CUDA_TRY(cudaHostAlloc(&session->pinned, wanted_B, cudaHostAllocDefault), fault))
      return false;
    session->pageable = g_malloc(wanted_B);
    session->host_B = wanted_B;
    memset(session->pinned, 1, wanted_B); /* its pages exist from now on */
    memset(session->pageable, 1, wanted_B);
  }
  return true;
}
