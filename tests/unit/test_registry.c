/**
 * @file test_registry.c
 * @brief What every table of modules and every row of its parameters must obey.
 */
#include "sim/base/param.h"
#include "sim/command/kinds.h"

#include <CUnit/Basic.h>
#include <string.h>

static bool is_word(const char *text)
{
  return *text != '\0' &&
         strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
}

static void test_every_module_says_what_it_is(void)
{
  for (const Kind *kind = kinds; kind->name != NULL; kind++)
    for (guint i = 0; kind->table != NULL && kind->table[i] != NULL; i++) {
      const ModuleInfo *info = kind->table[i];
      CU_ASSERT_TRUE(is_word(info->name));
      CU_ASSERT_TRUE(info->summary != NULL && *info->summary != '\0');
      CU_ASSERT_TRUE(strlen(info->summary) < 72);
      CU_ASSERT_PTR_NOT_NULL(info->source);
      CU_ASSERT_EQUAL(param_count(info->params) > 0, info->params != NULL);
      for (guint j = 0; j < i; j++)
        CU_ASSERT_STRING_NOT_EQUAL(info->name, kind->table[j]->name);
    }
}

static bool is_sound(const ParamSpec *spec)
{
  guint64 room[16] = { 0 }; /* any field fits */
  ParamSpec alone = *spec;
  g_autoptr(GError) error = NULL;

  alone.offset = 0;
  if (!is_word(spec->key) || spec->help == NULL || g_str_has_suffix(spec->help, "."))
    return false;
  if (spec->type == PARAM_NAME && spec->names == NULL)
    return false;
  if (spec->type == PARAM_LIST)
    return spec->item != NULL && spec->item_size > 0;
  if (spec->fallback == NULL)
    return true;
  if (!param_set(&alone, room, spec->fallback, &error)) {
    g_printerr("\n%s: %s\n", spec->key, error->message);
    return false;
  }
  param_clear((const ParamSpec[]){ alone, PARAM_END }, room);
  return true;
}

static void assert_rows_are_sound(const ParamSpec *specs)
{
  for (const ParamSpec *spec = specs; spec != NULL && spec->key != NULL; spec++) {
    CU_ASSERT_TRUE(is_sound(spec));
    CU_ASSERT_PTR_EQUAL(param_find(specs, spec->key), spec); /* no key twice */
    assert_rows_are_sound(spec->item);
  }
}

static void test_every_default_is_in_range(void)
{
  for (const Kind *kind = kinds; kind->name != NULL; kind++)
    for (guint i = 0; kind->table != NULL && kind->table[i] != NULL; i++)
      assert_rows_are_sound(kind->table[i]->params);
}

static void test_everything_listed_can_be_explained(void)
{
  for (const Kind *kind = kinds; kind->name != NULL; kind++) {
    g_auto(GStrv) members = kinds_members(kind);
    for (char **member = members; *member != NULL; member++) {
      g_autoptr(GError) error = NULL;
      g_autofree char *summary = kinds_summary(kind, *member);
      g_autofree char *text = kinds_describe(kind, *member, &error);
      CU_ASSERT_TRUE(summary != NULL && *summary != '\0');
      CU_ASSERT_PTR_NOT_NULL(text);
      CU_ASSERT_PTR_NULL(error);
    }
  }
}

static void test_slips_of_the_keyboard_are_recognised(void)
{
  static const char *const names[] = { "nodes", "node", "network", "nic", NULL };
  static const struct {
    const char *name, *suggestion;
  } rows[] = {
    { "nodse", "; did you mean 'nodes'?" },
    { "nide", "; did you mean 'node'?" },
    { "netwrok", "; did you mean 'network'?" },
    { "ne", "; did you mean 'network'?" },
    { "no", "; did you mean one of nodes, node?" },
    { "topology", "; known: nodes, node, network, nic" },
    { "", "; known: nodes, node, network, nic" },
  };

  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *suggestion = registry_suggestion(names, rows[i].name);
    CU_ASSERT_STRING_EQUAL(suggestion, rows[i].suggestion);
    if (strcmp(suggestion, rows[i].suggestion) != 0)
      g_printerr("\n%s: %s\n", rows[i].name, suggestion);
  }
}

int main(void)
{
  CU_initialize_registry();
  CU_pSuite suite = CU_add_suite("registry", NULL, NULL);
  CU_ADD_TEST(suite, test_every_module_says_what_it_is);
  CU_ADD_TEST(suite, test_every_default_is_in_range);
  CU_ADD_TEST(suite, test_everything_listed_can_be_explained);
  CU_ADD_TEST(suite, test_slips_of_the_keyboard_are_recognised);
  CU_basic_run_tests();
  const guint n_failed = CU_get_number_of_failures();
  CU_cleanup_registry();
  return n_failed == 0 ? 0 : 1;
}
