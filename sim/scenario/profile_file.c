#include "sim/scenario/profile_file.h"

#include "sim/scenario/include.h"

typedef struct {
  const Documents *documents;
  Problems *problems;
} Blame;

static void blame(const cJSON *item, const char *key, const char *cause, void *data)
{
  const Blame *to = data;

  documents_blame(to->documents, to->problems, item, key, cause);
}

Profile *profile_file_parse(const char *name, const char *text, gsize length,
                            GError **error)
{
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  Blame to = { documents, problems };
  const cJSON *root = documents_parse(documents, name, text, length, problems);
  g_autoptr(Profile) profile = root == NULL ? NULL : profile_read(root, blame, &to);

  return problems_report(problems, error) ? g_steal_pointer(&profile) : NULL;
}

Profile *profile_file_load(const char *path, GError **error)
{
  gsize length = 0;
  g_autofree char *text = include_read(path, &length, error);

  return text == NULL ? NULL : profile_file_parse(path, text, length, error);
}
