/* calibrate synthetic: the whole way on a machine whose laws are known. */
#include "calibrate/synthetic.h"

#include "sim/base/param.h"
#include "sim/command/calibrate.h"

#include <string.h>

/* "key=value" of the backend. */
static bool set_param(SyntheticParams *params, const char *setting, GError **error)
{
  const ParamSpec *specs = backend_synthetic.info.params;
  const char *equals = strchr(setting, '=');
  g_autofree char *key =
    equals == NULL ? g_strdup(setting) : g_strndup(setting, (gsize)(equals - setting));
  const ParamSpec *spec = param_find(specs, key);

  if (equals == NULL || spec == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "calibrate synthetic: --set %s: expected KEY=VALUE; "
                "`stepcast help backend:synthetic` lists the keys",
                setting);
    return false;
  }
  if (!param_set(spec, params, equals + 1, error)) {
    g_prefix_error(error, "--set %s: ", key);
    return false;
  }
  return true;
}

static bool synthetic_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(CalibrateOptions) options = { 0 };
  g_auto(GStrv) settings = NULL;
  SyntheticParams params = { 0 };
  bool is_done = false;
  const GOptionEntry entries[] = {
    CALIBRATE_ENTRIES(&options),
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &settings,
      "give a law or the noise another value", "KEY=VALUE" },
    G_OPTION_ENTRY_NULL,
  };

  if (!options_parse(&calibrate_synthetic, entries, &argc, &argv, out, &is_done, error) ||
      is_done)
    return is_done;
  if (!options_check_count(&calibrate_synthetic, argc, 0, 0, "no operands", error))
    return false;
  param_set_defaults(backend_synthetic.info.params, &params);
  for (char **setting = settings; setting != NULL && *setting != NULL; setting++)
    if (!set_param(&params, *setting, error))
      return false;
  return calibrate_measure(&backend_synthetic, &params, &options, out, error);
}

const Command calibrate_synthetic = {
  .name = "calibrate synthetic",
  .summary = "measure a machine whose laws are known, to try calibration out",
  .usage = "[-o PATH]... [--set KEY=VALUE]...",
  .run = synthetic_run,
};
