#include "sim/scenario/setting.h"

#include "sim/scenario/merge.h"

#include <string.h>

#define MAX_DEPTH 16
#define MAX_INDEX 999999
#define NO_INDEX (-1)
#define LONGEST_SHOWN 60

/* A setting under way. */
typedef struct {
  Documents *documents;
  Problems *problems;
  char **keys;
  int *index; /* of each key, that of "rules[1]" is "rules" and 1; or NO_INDEX */
  guint n_keys;
  cJSON *item; /* the value, or what has been wrapped around it */
} Setting;

static bool blame(const Setting *setting, const char *path, const char *cause)
{
  documents_blame(setting->documents, setting->problems, setting->item, path, cause);
  return false;
}

static bool is_number(const char *text)
{
  return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* Cut the index off key @p at. */
static bool take_index(Setting *setting, guint at)
{
  char *key = setting->keys[at], *open = strchr(key, '[');
  const gsize length = open == NULL ? 0 : strlen(open);
  guint64 index = 0;

  setting->index[at] = NO_INDEX;
  if (open == NULL && strchr(key, ']') == NULL)
    return true;
  if (open != NULL && open != key && open[length - 1] == ']') {
    open[length - 1] = *open = '\0';
    if (g_ascii_string_to_unsigned(open + 1, 10, 0, MAX_INDEX, &index, NULL)) {
      setting->index[at] = (int)index;
      return true;
    }
  }
  return blame(setting, "", "an element of a list is written rules[0], the first");
}

static bool check_keys(Setting *setting)
{
  if (setting->n_keys == 0 || (setting->n_keys == 1 && *setting->keys[0] == '\0'))
    return blame(setting, "", "expected path=value");
  if (setting->n_keys > MAX_DEPTH)
    return blame(setting, "", "no path is that long");
  for (guint i = 0; i < setting->n_keys; i++) {
    if (i > 0 && is_number(setting->keys[i])) {
      g_autofree char *cause = g_strdup_printf(
        "an element of a list is written %s[%s], not %s.%s", setting->keys[i - 1],
        setting->keys[i], setting->keys[i - 1], setting->keys[i]);
      return blame(setting, "", cause);
    }
    if (!take_index(setting, i))
      return false;
  }
  if (strcmp(setting->keys[0], "include") == 0)
    return blame(setting, "include",
                 "files are included before settings are laid over them: write \"include\" "
                 "into a scenario");
  return true;
}

/* Put the keys from @p first on around the value. */
static void wrap(Setting *setting, guint first)
{
  for (guint i = setting->n_keys; i-- > first;)
    setting->item = documents_wrap(setting->documents, setting->item, setting->keys[i]);
}

/* The element that key @p at means; NULL after a problem. */
static cJSON *find_element(const Setting *setting, const char *path, cJSON *list, guint at)
{
  const int n = cJSON_GetArraySize(list), index = setting->index[at];

  if (!cJSON_IsArray(list)) {
    blame(setting, path, "the scenario has no such list");
    return NULL;
  }
  if (index < n)
    return cJSON_GetArrayItem(list, index);
  g_autofree char *cause = n == 0 ? g_strdup("the list is empty")
                                  : g_strdup_printf("the list ends at [%d]", n - 1);
  blame(setting, path, cause);
  return NULL;
}

/* Lay what comes after key @p at, which has an index, onto that element. */
static void lay_on_element(Setting *setting, const char *path, cJSON *list, cJSON *element,
                           guint at)
{
  Documents *documents = setting->documents;

  wrap(setting, at + 1);
  if (cJSON_IsNull(setting->item)) {
    documents_adopt(documents, cJSON_DetachItemViaPointer(list, element));
    return;
  }
  if (cJSON_IsObject(element) && cJSON_IsObject(setting->item)) {
    if (at + 1 < setting->n_keys)
      documents_adopt(documents, setting->item);
    merge_objects(documents, path, element, setting->item);
    return;
  }
  if (at + 1 < setting->n_keys) {
    blame(setting, path, "this element has no keys");
    documents_adopt(documents, setting->item);
    return;
  }
  cJSON *wrapper = documents_wrap(documents, setting->item, setting->keys[at]);
  documents_adopt(documents, wrapper);
  documents_adopt(documents, cJSON_DetachItemViaPointer(list, element));
  cJSON_InsertItemInArray(list, setting->index[at],
                          cJSON_DetachItemViaPointer(wrapper, wrapper->child));
}

/* Walk down to the last list on the way. */
static void lay_in_list(Setting *setting, cJSON *root, guint last)
{
  g_autoptr(GString) path = g_string_new(NULL);
  cJSON *at = root;

  for (guint i = 0; i <= last; i++) {
    cJSON *list = cJSON_GetObjectItemCaseSensitive(at, setting->keys[i]);
    g_string_append_printf(path, "%s%s", i == 0 ? "" : ".", setting->keys[i]);
    at = list;
    if (setting->index[i] != NO_INDEX) {
      at = find_element(setting, path->str, list, i);
      g_string_append_printf(path, "[%d]", setting->index[i]);
      if (at == NULL)
        return;
    }
    if (i == last)
      lay_on_element(setting, path->str, list, at, i);
  }
}

/* What has no keys must not be replaced by what has the one that is set. */
static bool check_way(const Setting *setting, const cJSON *root)
{
  g_autoptr(GString) path = g_string_new(NULL);
  const cJSON *at = root;

  for (guint i = 0; i + 1 < setting->n_keys; i++) {
    at = cJSON_GetObjectItemCaseSensitive(at, setting->keys[i]);
    g_string_append_printf(path, "%s%s", i == 0 ? "" : ".", setting->keys[i]);
    if (at == NULL || cJSON_IsNull(at) ||
        (cJSON_IsString(at) && merge_takes_name(path->str)))
      return true;
    if (cJSON_IsObject(at))
      continue;
    g_autofree char *value = cJSON_PrintUnformatted(at);
    g_autofree char *cause =
      g_strdup_printf("%s has no keys to set; set \"%s\" as a whole",
                      strlen(value) < LONGEST_SHOWN ? value : "a list", path->str);
    return blame(setting, path->str, cause);
  }
  return true;
}

static void lay(Setting *setting, cJSON *root)
{
  guint last = setting->n_keys;

  if (!check_keys(setting))
    return;
  for (guint i = 0; i < setting->n_keys; i++)
    if (setting->index[i] != NO_INDEX)
      last = i;
  if (last < setting->n_keys) {
    lay_in_list(setting, root, last);
    return;
  }
  if (!check_way(setting, root))
    return;
  wrap(setting, 0);
  documents_adopt(setting->documents, setting->item);
  merge_objects(setting->documents, "", root, setting->item);
}

void setting_lay(Documents *documents, cJSON *root, const char *text, Problems *problems)
{
  const char *equals = strchr(text, '=');
  g_autofree char *path = g_strndup(text, equals == NULL ? 0 : (gsize)(equals - text));
  g_auto(GStrv) keys = g_strsplit(path, ".", -1);
  g_autofree int *index = g_new(int, g_strv_length(keys) + 1);
  Setting setting = {
    .documents = documents,
    .problems = problems,
    .keys = keys,
    .index = index,
    .n_keys = g_strv_length(keys),
    .item =
      documents_parse_setting(documents, text, equals == NULL ? "" : equals + 1, problems),
  };

  if (setting.item != NULL)
    lay(&setting, root);
}
