#include "models/assembly.h"
#include "sim/scenario/bind.h"

/* Does the batch fit? */
static void check_memory(const Binder *binder, const Section *root, const Setup *setup)
{
  g_autofree char *path = NULL;
  const Section workload = bind_section(binder, root, "workload", NULL, &path);
  const guint batch = setup->workload.batch_per_gpu;
  MemoryUse use;

  if (!assembly_expected_memory(setup, &use) ||
      memory_total_B(&use, batch) <= use.capacity_B)
    return;
  g_autofree char *sum = memory_explain(&use, batch);
  g_autofree char *cause = g_strdup_printf(
    "%s. To forecast it all the same: \"memory\": {\"check\": \"warn\"}", sum);
  bind_blame(binder, &workload, "batch_per_gpu", bind_member(&workload, "batch_per_gpu"),
             cause);
}

void bind_memory(Binder *binder, const Section *root, Setup *setup)
{
  g_autofree char *path = NULL;
  const Section section = bind_section(binder, root, "memory", NULL, &path);

  effective_open(binder->effective, "memory");
  param_set_defaults(memory_params, &setup->memory);
  bind_params(binder, &section, memory_params, &setup->memory);
  bind_check_keys(binder, &section, memory_params, NULL);
  effective_close(binder->effective);
  if (problems_count(binder->problems) == 0 && setup->model != NULL &&
      setup->memory.check == MEMORY_REFUSE)
    check_memory(binder, root, setup);
}
