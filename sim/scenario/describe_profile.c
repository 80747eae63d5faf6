#include "sim/scenario/describe_profile.h"

#include "calibrate/report.h"

#include "sim/scenario/profile_file.h"

#include <string.h>

char *describe_profile_summary(const char *name)
{
  g_autoptr(Profile) profile = profile_file_shipped(name, NULL);
  const char *system = profile == NULL ? NULL : report_fact(profile, "system");

  return profile == NULL ? NULL : g_strdup(system == NULL ? "" : system);
}

/* What logs say of themselves ("x.txt: gpu_name") is for `calibrate show`. */
static void append_facts(const Profile *profile, GString *out)
{
  for (guint i = 0; i < profile->facts->len; i++) {
    const BackendFact *fact = g_ptr_array_index(profile->facts, i);
    if (strchr(fact->name, ':') == NULL && strcmp(fact->name, "source") != 0)
      g_string_append_printf(out, "  %s: %s\n", fact->name, fact->value);
  }
}

char *describe_profile(const char *name)
{
  g_autoptr(Profile) profile = profile_file_shipped(name, NULL);
  g_autoptr(GString) out = g_string_new(NULL);
  const char *source = profile == NULL ? NULL : report_fact(profile, "source");

  if (profile == NULL)
    return NULL;
  g_string_append_printf(out, "profile %s\n", name);
  append_facts(profile, out);
  g_string_append_printf(out, "  date: %s\n",
                         *profile->created_utc == '\0' ? "unknown" : profile->created_utc);
  report_shapes(profile, out);
  report_constants(profile, out);
  g_string_append_printf(out, "  source: %s\n", source == NULL ? "not given" : source);
  return g_string_free(g_steal_pointer(&out), FALSE);
}
