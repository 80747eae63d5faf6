#include "calibrate/gpu/plugin/nccl.h"

#include "calibrate/gpu/plugin/measure.h"

#include <nccl.h>

/* A timed region of calls in a row, as nccl-tests does, and at most so many of them. */
#define REGION_S 2e-3
#define CALLS_MAX 50

/* Clocks have risen after so much work [s]. */
#define RAMP_S 0.3

struct Nccl {
  ncclComm_t comm[GPU_DEVICES_MAX];
  uint32_t n;       /* of comm; 0 before nccl_open() */
  ncclComm_t alone; /* the first device's; NULL before nccl_open_alone() */
  ncclResult_t (*get_version)(int *);
  const char *(*error_text)(ncclResult_t);
  ncclResult_t (*init_all)(ncclComm_t *, int, const int *);
  ncclResult_t (*destroy)(ncclComm_t);
  ncclResult_t (*group_start)(void);
  ncclResult_t (*group_end)(void);
  ncclResult_t (*all_reduce)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t,
                             ncclComm_t, cudaStream_t);
  ncclResult_t (*reduce_scatter)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t,
                                 ncclComm_t, cudaStream_t);
  ncclResult_t (*all_gather)(const void *, void *, size_t, ncclDataType_t, ncclComm_t,
                             cudaStream_t);
  ncclResult_t (*broadcast)(const void *, void *, size_t, ncclDataType_t, int, ncclComm_t,
                            cudaStream_t);
  ncclResult_t (*send)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
  ncclResult_t (*recv)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
};

static bool nccl_bind(Nccl *nccl, void *library, GpuFault *fault)
{
  return library_bind(&nccl->get_version, library, "ncclGetVersion", fault) &&
         library_bind(&nccl->error_text, library, "ncclGetErrorString", fault) &&
         library_bind(&nccl->init_all, library, "ncclCommInitAll", fault) &&
         library_bind(&nccl->destroy, library, "ncclCommDestroy", fault) &&
         library_bind(&nccl->group_start, library, "ncclGroupStart", fault) &&
         library_bind(&nccl->group_end, library, "ncclGroupEnd", fault) &&
         library_bind(&nccl->all_reduce, library, "ncclAllReduce", fault) &&
         library_bind(&nccl->reduce_scatter, library, "ncclReduceScatter", fault) &&
         library_bind(&nccl->all_gather, library, "ncclAllGather", fault) &&
         library_bind(&nccl->broadcast, library, "ncclBroadcast", fault) &&
         library_bind(&nccl->send, library, "ncclSend", fault) &&
         library_bind(&nccl->recv, library, "ncclRecv", fault);
}

static bool nccl_load(GpuSession *session, GpuFault *fault)
{
  const char *const named[] = { session->nccl_library, NULL };
  static const char *const usual[] = { "libnccl.so.2", "libnccl.so", NULL };

  if (session->nccl != NULL)
    return true;
  void *library = library_open(session->nccl_library != NULL ? named : usual, fault);
  g_autofree Nccl *nccl = g_new0(Nccl, 1);
  if (library == NULL || !nccl_bind(nccl, library, fault))
    return false;
  session->nccl = g_steal_pointer(&nccl);
  return true;
}

static bool nccl_try(const Nccl *nccl, ncclResult_t result, const char *what,
                     GpuFault *fault)
{
  return result == ncclSuccess ||
         fault_set(fault, GPU_FAULT_FAILED, "NCCL: %s: %s", what, nccl->error_text(result));
}

uint32_t nccl_version(GpuSession *session, GpuFault *fault)
{
  int version = 0;

  if (nccl_load(session, fault))
    session->nccl->get_version(&version);
  return (uint32_t)version;
}

bool nccl_open_alone(GpuSession *session, GpuFault *fault)
{
  if (!nccl_load(session, fault))
    return false;
  Nccl *nccl = session->nccl;
  return nccl->alone != NULL ||
         nccl_try(nccl, nccl->init_all(&nccl->alone, 1, &session->device[0].number),
                  "communicator of one rank", fault);
}

static bool nccl_open(GpuSession *session, GpuFault *fault)
{
  int number[GPU_DEVICES_MAX];

  if (!nccl_load(session, fault))
    return false;
  Nccl *nccl = session->nccl;
  if (nccl->n > 0)
    return true;
  for (uint32_t i = 0; i < session->n_devices; i++)
    number[i] = session->device[i].number;
  if (!nccl_try(nccl, nccl->init_all(nccl->comm, (int)session->n_devices, number),
                "communicators", fault))
    return false;
  nccl->n = session->n_devices;
  return true;
}

void nccl_free(Nccl *nccl)
{
  if (nccl == NULL)
    return;
  for (uint32_t i = 0; i < nccl->n; i++)
    nccl->destroy(nccl->comm[i]);
  if (nccl->alone != NULL)
    nccl->destroy(nccl->alone);
  g_free(nccl);
}

bool nccl_one_rank(GpuSession *session, void *to, uint64_t n_B, bool average,
                   cudaStream_t stream, GpuFault *fault)
{
  const Device *device = &session->device[0];
  const Nccl *nccl = session->nccl;

  return nccl_try(nccl,
                  nccl->all_reduce(device->values, to, n_B / 4, ncclFloat32,
                                   average ? ncclAvg : ncclSum, nccl->alone, stream),
                  "all-reduce of one rank", fault);
}

bool nccl_group_of_one(GpuSession *session, uint32_t n_calls, GpuFault *fault)
{
  const Nccl *nccl = session->nccl;

  if (!nccl_try(nccl, nccl->group_start(), "group", fault))
    return false;
  bool ok = true;
  for (uint32_t i = 0; ok && i < n_calls; i++)
    ok = nccl_one_rank(session, session->device[0].x, 8, true, session->device[0].stream,
                       fault);
  return nccl_try(nccl, nccl->group_end(), "group", fault) && ok;
}

/* Rank @p rank's part of @p it; buffers are x to y, or y to y. */
static ncclResult_t start_rank(const GpuSession *session, const GpuExchange *it,
                               uint32_t rank)
{
  const Nccl *nccl = session->nccl;
  const Device *device = &session->device[rank];
  const uint32_t n = session->n_devices;
  const size_t all = it->size_B / 4, part = MAX(all / n, 1);
  ncclComm_t comm = nccl->comm[rank];
  cudaStream_t stream = device->stream;
  float *to = device->y, *from = it->in_place ? to : device->x;
  ncclResult_t result = ncclSuccess;

  switch (it->collective) {
  case GPU_ALL_REDUCE:
    return nccl->all_reduce(from, to, all, ncclFloat32, ncclSum, comm, stream);
  case GPU_REDUCE_SCATTER:
    return nccl->reduce_scatter(from, it->in_place ? to + rank * part : to, part,
                                ncclFloat32, ncclSum, comm, stream);
  case GPU_ALL_GATHER:
    return nccl->all_gather(it->in_place ? to + rank * part : from, to, part, ncclFloat32,
                            comm, stream);
  case GPU_BROADCAST:
    return nccl->broadcast(from, to, all, ncclFloat32, 0, comm, stream);
  case GPU_SEND_RECV:
    result = nccl->send(device->x, all, ncclFloat32, (int)((rank + 1) % n), comm, stream);
    return result != ncclSuccess
             ? result
             : nccl->recv(to, all, ncclFloat32, (int)((rank + n - 1) % n), comm, stream);
  case GPU_ALL_TO_ALL:
    for (uint32_t peer = 0; peer < n && result == ncclSuccess; peer++) {
      result = nccl->send((float *)device->x + peer * part, part, ncclFloat32, (int)peer,
                          comm, stream);
      if (result == ncclSuccess)
        result = nccl->recv(to + peer * part, part, ncclFloat32, (int)peer, comm, stream);
    }
    return result;
  case GPU_COLLECTIVE_N:
    break;
  }
  return ncclInvalidArgument;
}

static bool start_all(GpuSession *session, const GpuExchange *it, GpuFault *fault)
{
  const Nccl *nccl = session->nccl;
  bool ok = nccl_try(nccl, nccl->group_start(), "group", fault);

  for (uint32_t rank = 0; ok && rank < session->n_devices; rank++)
    ok = nccl_try(nccl, start_rank(session, it, rank), "collective", fault);
  /* Ended even after a failure, which it would else follow to the next call. */
  return nccl_try(nccl, nccl->group_end(), "group", fault) && ok;
}

/* @p n_calls in a row, from before the first start until all devices are idle; each [s]. */
static bool time_calls(GpuSession *session, const GpuExchange *it, uint32_t n_calls,
                       double *time_s, GpuFault *fault)
{
  const double began_s = clock_s();

  for (uint32_t i = 0; i < n_calls; i++)
    if (!start_all(session, it, fault))
      return false;
  if (!measure_wait_all(session, fault))
    return false;
  *time_s = (clock_s() - began_s) / n_calls;
  return true;
}

/* Calls until the clocks have risen, once. */
static bool ramp(GpuSession *session, const GpuExchange *it, GpuFault *fault)
{
  const double began_s = clock_s();
  double call_s = 0;

  while (!session->has_ramped && clock_s() - began_s < RAMP_S)
    if (!time_calls(session, it, 1, &call_s, fault))
      return false;
  session->has_ramped = true;
  return true;
}

bool nccl_exchange(GpuSession *session, const GpuExchange *it, double *time_s, uint32_t n,
                   uint32_t *flags, GpuFault *fault)
{
  double first_s = 0;

  for (uint32_t rank = 0; rank < session->n_devices; rank++) {
    const Device *device = session_device(session, rank, fault);
    if (device == NULL)
      return false;
    if (it->size_B > device->buffer_B)
      return fault_set(fault, GPU_FAULT_FAILED, "more than the buffers hold");
  }
  if (!nccl_open(session, fault) || !ramp(session, it, fault))
    return false;
  for (guint i = 0; i < 3; i++)
    if (!time_calls(session, it, 1, &first_s, fault))
      return false;
  const double wanted = REGION_S / MAX(first_s, 1e-7);
  const uint32_t n_calls = wanted < 1           ? 1
                           : wanted > CALLS_MAX ? CALLS_MAX
                                                : (uint32_t)wanted;
  const MeasureWatch watch = measure_watch(session);
  for (uint32_t i = 0; i < n; i++)
    if (!time_calls(session, it, n_calls, &time_s[i], fault))
      return false;
  *flags |= measure_flags(session, &watch);
  return true;
}
