#include "calibrate/backend.h"

static void fact_free(gpointer data)
{
  BackendFact *fact = data;

  g_free(fact->name);
  g_free(fact->value);
  g_free(fact);
}

GPtrArray *backend_facts_new(void)
{
  return g_ptr_array_new_with_free_func(fact_free);
}

void backend_facts_add(GPtrArray *facts, const char *name, const char *value)
{
  BackendFact *fact = g_new(BackendFact, 1);

  *fact = (BackendFact){ g_strdup(name), g_strdup(value) };
  g_ptr_array_add(facts, fact);
}
