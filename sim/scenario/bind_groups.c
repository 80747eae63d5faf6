#include "sim/scenario/bind.h"

/* "groups.named[1]". Transfer: caller frees with g_free(). */
static char *element_path(const Section *section, guint index)
{
  return g_strdup_printf("%s.named[%u]", section->path, index);
}

static void blame_element(const Binder *binder, const Section *section, guint index,
                          const char *cause)
{
  const cJSON *element = cJSON_GetArrayItem(bind_member(section, "named"), (int)index);
  g_autofree char *path = element_path(section, index);

  documents_blame(binder->documents, binder->problems, element, path, cause);
}

static void check_groups(const Binder *binder, const Section *section,
                         const Grouping *grouping, guint n_gpus)
{
  const guint n_before = problems_count(binder->problems);
  g_autoptr(GError) layout = NULL, overlap = NULL;
  guint bad = 0;

  if (!grouping_check_layout(grouping, n_gpus, &layout))
    bind_blame(binder, section, "", NULL, layout->message);
  for (guint i = 0; i < grouping->named->len; i++) {
    g_autoptr(GError) error = NULL;
    if (!grouping_check_named(grouping, i, n_gpus, &error))
      blame_element(binder, section, i, error->message);
  }
  if (problems_count(binder->problems) == n_before &&
      !grouping_check_disjoint(grouping, n_gpus, &bad, &overlap))
    blame_element(binder, section, bad, overlap->message);
}

void bind_groups(Binder *binder, const Section *root, Setup *setup)
{
  g_autofree char *path = NULL;
  const Section section = bind_section(binder, root, "groups", NULL, &path);

  effective_open(binder->effective, "groups");
  bind_params(binder, &section, grouping_params, &setup->grouping);
  bind_check_keys(binder, &section, grouping_params, NULL);
  effective_close(binder->effective);
  if (problems_count(binder->problems) == 0)
    check_groups(binder, &section, &setup->grouping,
                 setup->cluster.n_nodes * setup->cluster.node.n_gpus);
}
