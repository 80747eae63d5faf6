#include "sim/command/kinds.h"
#include "sim/command/options.h"

#include <string.h>

static void append_kind(GString *out, const Kind *kind)
{
  g_auto(GStrv) members = kinds_members(kind);
  int width = 0;

  for (char **member = members; *member != NULL; member++)
    width = MAX(width, (int)strlen(*member));
  for (char **member = members; *member != NULL; member++) {
    g_autofree char *summary = kinds_summary(kind, *member);
    g_string_append_printf(out, "  %-*s  %s\n", width, *member, summary);
  }
}

static bool list_run(int argc, char **argv, GString *out, GError **error)
{
  bool is_done = false;

  if (!options_parse(&command_list, NULL, &argc, &argv, out, &is_done, error) || is_done)
    return is_done;
  if (!options_check_count(&command_list, argc, 0, 1, "at most one KIND", error))
    return false;
  if (argc == 2) {
    const Kind *kind = kinds_find(argv[1], error);
    if (kind != NULL)
      append_kind(out, kind);
    return kind != NULL;
  }
  for (const Kind *kind = kinds; kind->name != NULL; kind++) {
    g_string_append_printf(out, "%s%s (%s)\n", kind == kinds ? "" : "\n", kind->name,
                           kind->summary);
    append_kind(out, kind);
  }
  return true;
}

const Command command_list = {
  .name = "list",
  .summary = "list what a scenario can name",
  .usage = "[KIND]",
  .run = list_run,
};
