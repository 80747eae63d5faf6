#include "sim/scenario/profile_file.h"

#include "sim/scenario/catalogue.h"
#include "sim/scenario/include.h"
#include "sim/scenario/profile_constants.h"

#include <string.h>

typedef struct {
  const Documents *documents;
  Problems *problems;
} Blame;

static void blame(const cJSON *item, const char *key, const char *cause, void *data)
{
  const Blame *to = data;

  documents_blame(to->documents, to->problems, item, key, cause);
}

Profile *profile_file_bind(const char *name, const char *text, gsize length,
                           Documents *documents, Problems *problems)
{
  Blame to = { documents, problems };
  const guint n_before = problems_count(problems);
  const cJSON *root = documents_parse(documents, name, text, length, problems);
  g_autoptr(Profile) profile = root == NULL ? NULL : profile_read(root, blame, &to);

  if (profile != NULL)
    profile_constants_check(profile, root, documents, problems);
  return problems_count(problems) > n_before ? NULL : g_steal_pointer(&profile);
}

Profile *profile_file_parse(const char *name, const char *text, gsize length,
                            GError **error)
{
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  g_autoptr(Profile) profile = profile_file_bind(name, text, length, documents, problems);

  return problems_report(problems, error) ? g_steal_pointer(&profile) : NULL;
}

bool profile_file_is_name(const char *text)
{
  return *text != '\0' && strpbrk(text, "/.") == NULL;
}

/* "; did you mean ..." */
static char *suggest(const char *name, const char *other)
{
  g_auto(GStrv) shipped = catalogue_names("profile");
  g_autoptr(GPtrArray) names = g_ptr_array_new();

  for (char **one = shipped; *one != NULL; one++)
    g_ptr_array_add(names, *one);
  if (other != NULL)
    g_ptr_array_add(names, (void *)other);
  g_ptr_array_add(names, NULL);
  return registry_suggestion((const char *const *)names->pdata, name);
}

const char *profile_file_shipped_text(const char *name, const char *other, gsize *length,
                                      GError **error)
{
  const char *text = catalogue_text("profile", name, length);

  if (text != NULL)
    return text;
  g_autofree char *suggestion = suggest(name, other);
  g_set_error(error, SIM_ERROR, SIM_ERROR_UNKNOWN,
              "unknown profile '%s' (a file is written ./%s)%s", name, name, suggestion);
  return NULL;
}

char *profile_file_shipped_path(const char *name)
{
  return g_strdup_printf("catalogue/profile/%s.json", name);
}

Profile *profile_file_shipped(const char *name, GError **error)
{
  gsize length = 0;
  const char *text = profile_file_shipped_text(name, NULL, &length, error);
  g_autofree char *path = profile_file_shipped_path(name);

  return text == NULL ? NULL : profile_file_parse(path, text, length, error);
}

Profile *profile_file_load(const char *path, GError **error)
{
  gsize length = 0;

  if (profile_file_is_name(path))
    return profile_file_shipped(path, error);
  g_autofree char *text = include_read(path, &length, error);
  return text == NULL ? NULL : profile_file_parse(path, text, length, error);
}
