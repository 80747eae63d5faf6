/* calibrate host: this machine's CPU, or a cluster of network namespaces on it. */
#include "calibrate/backend/host.h"
#include "calibrate/backend/netns.h"

#include "sim/base/param.h"
#include "sim/base/units.h"
#include "sim/command/calibrate.h"

#include <string.h>

/* As written; what belongs to --netns alone is NULL or 0 without it. */
typedef struct {
  CalibrateOptions common;
  char *largest, *rate, *mtu;
  int n_hosts; /* G_MININT: no namespaces */
  gboolean mpi, force;
} HostOptions;

static void host_options_clear(HostOptions *options)
{
  calibrate_options_clear(&options->common);
  g_free(options->largest);
  g_free(options->rate);
  g_free(options->mtu);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HostOptions, host_options_clear)

static bool refuse(GError **error, const char *option, const char *cause)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
              "calibrate host: %s: %s; see `stepcast calibrate host --help`", option,
              cause);
  return false;
}

/* "100mbit", as tc has it, becomes "100 Mbit/s". Transfer: caller frees. */
static char *spell_rate(const char *text)
{
  static const char *const spellings[][2] = { { "kbit", "kbit/s" },
                                              { "mbit", "Mbit/s" },
                                              { "gbit", "Gbit/s" } };

  for (guint i = 0; i < G_N_ELEMENTS(spellings); i++)
    if (g_str_has_suffix(text, spellings[i][0])) {
      g_autofree char *number = g_strndup(text, strlen(text) - strlen(spellings[i][0]));
      return g_strdup_printf("%s %s", g_strstrip(number), spellings[i][1]);
    }
  return g_strdup(text);
}

/* @p text: NULL leaves the default. */
static bool set(const BackendOps *ops, void *params, const char *key, const char *text,
                GError **error)
{
  const ParamSpec *spec = param_find(ops->info.params, key);

  if (text == NULL || param_set(spec, params, text, error))
    return true;
  g_prefix_error(error,
                 "calibrate host: --%s: ", strcmp(key, "hosts") == 0 ? "netns" : key);
  if (error != NULL)
    (*error)->code = SIM_ERROR_USAGE;
  return false;
}

/* nccl-tests' sizes ("64M") too. */
static bool set_size(const BackendOps *ops, void *params, const char *key, const char *text,
                     GError **error)
{
  g_autofree char *option = g_strdup_printf("--%s", key);
  double size_B = 0;

  if (text == NULL)
    return true;
  if (!options_parse_size(&calibrate_host, option, text, &size_B, error))
    return false;
  g_autofree char *bytes = units_format_bytes(size_B);
  return set(ops, params, key, bytes, error);
}

static bool measure_host(const HostOptions *options, GString *out, GError **error)
{
  HostParams params = { 0 };

  if (options->rate != NULL || options->mtu != NULL || options->mpi || options->force)
    return refuse(error, "--rate, --mtu, --mpi, --force", "belong to --netns");
  param_set_defaults(backend_host.info.params, &params);
  params.quick = options->common.quick != 0;
  return set_size(&backend_host, &params, "largest", options->largest, error) &&
         calibrate_measure(&backend_host, &params, &options->common, out, error);
}

static bool measure_netns(const HostOptions *options, GString *out, GError **error)
{
  NetnsParams params = { 0 };
  g_autofree char *hosts = g_strdup_printf("%d", options->n_hosts);
  g_autofree char *rate = options->rate == NULL ? NULL : spell_rate(options->rate);

  param_set_defaults(backend_netns.info.params, &params);
  params.quick = options->common.quick != 0;
  params.mpi = options->mpi != FALSE;
  params.force = options->force != FALSE;
  return set(&backend_netns, &params, "hosts", hosts, error) &&
         set(&backend_netns, &params, "rate", rate, error) &&
         set_size(&backend_netns, &params, "mtu", options->mtu, error) &&
         set_size(&backend_netns, &params, "largest", options->largest, error) &&
         calibrate_measure(&backend_netns, &params, &options->common, out, error);
}

static bool host_run(int argc, char **argv, GString *out, GError **error)
{
  g_auto(HostOptions) options = { 0 };
  bool is_done = false;
  const GOptionEntry entries[] = {
    CALIBRATE_ENTRIES(&options.common),
    { "largest", 0, 0, G_OPTION_ARG_STRING, &options.largest,
      "largest buffer (256M) or message (4M)", "SIZE" },
    { "netns", 0, 0, G_OPTION_ARG_INT, &options.n_hosts,
      "measure collectives among N network namespaces instead", "N" },
    { "rate", 0, 0, G_OPTION_ARG_STRING, &options.rate, "of their cables (100mbit)",
      "RATE" },
    { "mtu", 0, 0, G_OPTION_ARG_STRING, &options.mtu, "largest IP packet (9000)", "SIZE" },
    { "mpi", 0, 0, G_OPTION_ARG_NONE, &options.mpi, "Open MPI's all-reduces too", NULL },
    { "force", 0, 0, G_OPTION_ARG_NONE, &options.force,
      "even with more packets than the CPUs carry", NULL },
    G_OPTION_ENTRY_NULL,
  };

  options.n_hosts = G_MININT;
  if (!options_parse(&calibrate_host, entries, &argc, &argv, out, &is_done, error) ||
      is_done)
    return is_done;
  if (!options_check_count(&calibrate_host, argc, 0, 0, "no operands", error))
    return false;
  return options.n_hosts == G_MININT ? measure_host(&options, out, error)
                                     : measure_netns(&options, out, error);
}

const Command calibrate_host = {
  .name = "calibrate host",
  .summary = "measure this machine's CPU, memory and loopback, or namespaces",
  .usage = "[-o PATH]... [--quick] [--netns N [--rate 100mbit] [--mtu 9000] [--mpi]]",
  .run = host_run,
};
