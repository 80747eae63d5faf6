#include "sim/command/targets.h"

#include "sim/base/registry.h"
#include "sim/output/output.h"

#include <glib/gstdio.h>
#include <string.h>

bool targets_are_one_file(const char *one, const char *other)
{
  GStatBuf a, b;
  return g_stat(one, &a) == 0 && g_stat(other, &b) == 0 && S_ISREG(a.st_mode) &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool refuse(const Targets *targets, const char *cause, GError **error)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "%s: %s; see `stepcast %s --help`",
              targets->command->name, cause, targets->command->name);
  return false;
}

static bool is_scenario(const Targets *targets, const char *path)
{
  for (guint i = 0; targets->scenarios[i] != NULL; i++)
    if (targets_are_one_file(path, targets->scenarios[i]))
      return true;
  return false;
}

bool targets_check(const Targets *targets, GError **error)
{
  const char *platform = targets->platform;

  for (guint o = 0; targets->outputs != NULL && targets->outputs[o] != NULL; o++) {
    const char *file = NULL;
    if (output_find(targets->outputs[o], &file, error) == NULL)
      return false;
    if (is_scenario(targets, file))
      return refuse(targets, "-o names the scenario itself", error);
    if (platform != NULL &&
        (strcmp(file, platform) == 0 || targets_are_one_file(file, platform)))
      return refuse(targets, "-o and --dump-platform name one file", error);
  }
  if (platform != NULL && is_scenario(targets, platform))
    return refuse(targets, "--dump-platform names the scenario itself", error);
  return platform == NULL ||
         targets_check_kind(targets->command, "--dump-platform", platform, error);
}

bool targets_check_kind(const Command *command, const char *option, const char *path,
                        GError **error)
{
  GStatBuf status;

  if (g_stat(path, &status) != 0 || S_ISREG(status.st_mode))
    return true;
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "%s: %s %s: not a file", command->name,
              option, path);
  return false;
}

static bool check_input(const Targets *targets, const char *option, const char *path,
                        const GPtrArray *inputs, GError **error)
{
  for (guint i = 0; i < inputs->len; i++)
    if (targets_are_one_file(path, inputs->pdata[i])) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                  "%s: %s names %s, which the scenario is read from",
                  targets->command->name, option, (const char *)inputs->pdata[i]);
      return false;
    }
  return true;
}

bool targets_check_inputs(const Targets *targets, const Scenario *scenario, GError **error)
{
  const GPtrArray *inputs = scenario_inputs(scenario);

  for (guint o = 0; targets->outputs != NULL && targets->outputs[o] != NULL; o++) {
    const char *file = NULL;
    if (output_find(targets->outputs[o], &file, error) == NULL ||
        !check_input(targets, "-o", file, inputs, error))
      return false;
  }
  return targets->platform == NULL ||
         check_input(targets, "--dump-platform", targets->platform, inputs, error);
}
