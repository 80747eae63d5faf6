#include "sim/engine/start.h"

#include "sim/base/registry.h"

#include <errno.h>
#include <simgrid/engine.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* How actors keep their stacks. Sanitizers want "thread": they cannot follow an exception
 * through the hand-made stacks of "raw". */
#ifndef ENGINE_CONTEXTS
#define ENGINE_CONTEXTS raw
#endif

/* SimGrid reads platforms from files only; this one never touches a disk. */
bool start_on_platform(const char *xml, gsize length, GError **error)
{
  const int file = memfd_create("platform", MFD_CLOEXEC);

  if (file < 0 || write(file, xml, length) != (ssize_t)length) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "cannot hold the platform in memory: %s",
                g_strerror(errno));
    if (file >= 0)
      close(file);
    return false;
  }
  g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", file);
  simgrid_load_platform(path);
  close(file);
  return true;
}

/* The network model as network.h needs it; every default that moves a time is named. */
void start_simgrid(void)
{
  static const char *const arguments[] = {
    "stepcast",
    "--log=root.thres:critical",
    "--cfg=network/model:CM02",
    "--cfg=network/optim:Lazy",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/TCP-gamma:0",
    "--cfg=network/weight-S:0",
    "--cfg=network/bandwidth-factor:1",
    "--cfg=network/latency-factor:1e-18",
    "--cfg=surf/precision:1e-12",
    "--cfg=maxmin/precision:1e-12",
    "--cfg=contexts/factory:" G_STRINGIFY(ENGINE_CONTEXTS),
    "--cfg=contexts/stack-size:256",
    NULL,
  };
  g_auto(GStrv) copy = g_strdupv((char **)arguments);
  /* SimGrid takes the options it knows out of the vector that it is given. */
  g_autofree char **taken = g_memdup2(copy, sizeof arguments);
  int n = (int)g_strv_length(taken);

  simgrid_init(&n, taken);
}
