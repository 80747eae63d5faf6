/* Profiles that subcommands begin, add to and write. */
#include "sim/base/registry.h"
#include "sim/command/calibrate.h"
#include "sim/command/targets.h"
#include "sim/scenario/profile_file.h"

#include <string.h>

static const char *const suffixes[] = { ".json", ".csv", NULL };

static bool check_output(const char *path, GError **error)
{
  g_autofree char *base = g_path_get_basename(path);
  const char *const *suffix = suffixes;

  while (*suffix != NULL && !g_str_has_suffix(path, *suffix))
    suffix++;
  if (*suffix != NULL && strcmp(base, *suffix) != 0)
    return targets_check_kind(&command_calibrate, "-o", path, error);
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
              *suffix == NULL ? "calibrate: -o %s: wants .json or .csv"
                              : "calibrate: -o %s: wants a name before its suffix",
              path);
  return false;
}

bool calibrate_check_outputs(char *const *outputs, GError **error)
{
  for (char *const *path = outputs; path != NULL && *path != NULL; path++)
    if (!check_output(*path, error))
      return false;
  return true;
}

Profile *calibrate_new_profile(char *const *outputs, const char *fallback_name)
{
  g_autofree char *base = outputs == NULL || outputs[0] == NULL
                            ? g_strdup(fallback_name)
                            : g_path_get_basename(outputs[0]);
  g_autofree char *name = g_utf8_make_valid(base, -1);
  g_autoptr(GDateTime) now = g_date_time_new_now_utc();
  char *dot = strrchr(name, '.');

  if (dot != NULL && dot > name)
    *dot = '\0';
  Profile *profile = profile_new(name);
  g_free(profile->created_utc);
  profile->created_utc = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
  return profile;
}

bool calibrate_parse_date(const char *option, const char *text, char **utc, GError **error)
{
  g_autoptr(GTimeZone) zone = g_time_zone_new_utc();
  g_autofree char *midnight = g_strconcat(text, "T00:00:00Z", NULL);
  const char *whole = strchr(text, 'T') == NULL ? midnight : text;
  g_autoptr(GDateTime) date = g_date_time_new_from_iso8601(whole, zone);
  g_autoptr(GDateTime) date_utc = date == NULL ? NULL : g_date_time_to_utc(date);

  if (date_utc == NULL && strcmp(text, "unknown") != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
                "%s: '%s' is no date; write it like 2026-11-30, or unknown", option, text);
    return false;
  }
  *utc =
    date_utc == NULL ? g_strdup("") : g_date_time_format(date_utc, "%Y-%m-%dT%H:%M:%SZ");
  return true;
}

static bool is_behind(const Law *law, const Sample *sample)
{
  return law->form == LAW_HOPS ? strcmp(law->key->probe, sample->probe) == 0
                               : sample_same_curve(law->key, sample);
}

/* A law without samples could not be found again. */
static bool check_laws(const char *path, const Profile *profile, GError **error)
{
  for (guint i = 0; i < profile->laws->len; i++) {
    const Law *law = g_ptr_array_index(profile->laws, i);
    guint s = 0;
    while (s < profile->samples->len &&
           !is_behind(law, g_ptr_array_index(profile->samples, s)))
      s++;
    if (s < profile->samples->len)
      continue;
    g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE,
                "%s: the samples behind %s are not in it, so that it cannot be fitted anew",
                path, law->id);
    return false;
  }
  return true;
}

Profile *calibrate_open_profile(const char *path, GError **error)
{
  g_autoptr(Profile) profile = profile_file_load(path, error);

  return profile == NULL || !check_laws(path, profile, error) ? NULL
                                                              : g_steal_pointer(&profile);
}

/* GLib's messages begin with what it tried; what the machine said stands last. */
bool calibrate_save(const char *path, const char *text, gsize length, GError **error)
{
  g_autoptr(GError) cause = NULL;

  if (g_file_set_contents(path, text, (gssize)length, &cause))
    return true;
  const char *last = g_strrstr(cause->message, ": ");
  g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: cannot be written: %s", path,
              last == NULL ? cause->message : last + strlen(": "));
  return false;
}

bool calibrate_write(char *const *outputs, const Profile *profile, GError **error)
{
  for (char *const *path = outputs; path != NULL && *path != NULL; path++) {
    g_autoptr(GString) text = g_string_new(NULL);
    if (g_str_has_suffix(*path, ".csv"))
      sample_write_csv(profile->samples, text);
    else
      profile_write(profile, text);
    if (!calibrate_save(*path, text->str, text->len, error))
      return false;
  }
  return true;
}
