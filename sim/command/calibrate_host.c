/* calibrate host: this machine's CPU, or a cluster of network namespaces on it. */
#include "calibrate/backend/host.h"

#include "sim/base/param.h"
#include "sim/command/calibrate.h"

static bool host_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(CalibrateOptions) options = { 0 };
  g_autofree char *largest = NULL;
  HostParams params = { 0 };
  bool is_done = false;
  const GOptionEntry entries[] = {
    CALIBRATE_ENTRIES(&options),
    { "largest", 0, 0, G_OPTION_ARG_STRING, &largest, "largest buffer (default 256M)",
      "SIZE" },
    G_OPTION_ENTRY_NULL,
  };

  if (!options_parse(&calibrate_host, entries, &argc, &argv, out, &is_done, error) ||
      is_done)
    return is_done;
  if (!options_check_count(&calibrate_host, argc, 0, 0, "no operands", error))
    return false;
  param_set_defaults(backend_host.info.params, &params);
  params.quick = options.quick != 0;
  if (largest != NULL) {
    double size_B = 0;
    if (!options_parse_size(&calibrate_host, "--largest", largest, &size_B, error))
      return false;
    params.largest_B = (guint64)size_B;
  }
  return calibrate_measure(&backend_host, &params, &options, out, error);
}

const Command calibrate_host = {
  .name = "calibrate host",
  .summary = "measure this machine's CPU, memory and loopback",
  .usage = "[-o PATH]... [--quick]",
  .run = host_run,
};
