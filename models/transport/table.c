#include "models/transport.h"

/* In the order `list` shows them. */
const ModuleInfo *const transport_table[] = {
  &transport_rdma.info,
  &transport_cxi.info,
  &transport_tcp.info,
  NULL,
};
