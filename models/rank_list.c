#include "models/rank_list.h"

#include "sim/base/registry.h"

static bool refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static bool refuse(GError **error, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *cause = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_set_error_literal(error, SIM_ERROR, SIM_ERROR_VALUE, cause);
  return false;
}

bool rank_list_number(const char **at, guint *number)
{
  char *end = NULL;
  const guint64 value = g_ascii_strtoull(*at, &end, 10);

  if (!g_ascii_isdigit(**at) || value > G_MAXUINT)
    return false;
  *at = end;
  *number = (guint)value;
  return true;
}

/* "7", "0-7", "0-30:2" */
static bool add_range(const char *text, guint n_ranks, GArray *ranks, GError **error)
{
  const char *at = text;
  guint first = 0, step = 1;

  bool good = rank_list_number(&at, &first);
  guint last = first;
  if (good && *at == '-') {
    at++;
    good = rank_list_number(&at, &last);
    if (good && *at == ':') {
      at++;
      good = rank_list_number(&at, &step);
    }
  }
  if (!good || *at != '\0' || step == 0)
    return refuse(error, "ranks: '%s' is no range: write \"0-7, 12, 16-30:2\"", text);
  if (last < first)
    return refuse(error, "ranks: '%s' runs backwards: write %u-%u", text, last, first);
  if (last >= n_ranks)
    return refuse(error, "ranks: there is no rank %u: the cluster has %u, 0 to %u", last,
                  n_ranks, n_ranks - 1);
  for (guint64 rank = first; rank <= last; rank += step) {
    const guint one = (guint)rank;
    g_array_append_val(ranks, one);
  }
  return true;
}

static int compare(gconstpointer a, gconstpointer b)
{
  const guint x = *(const guint *)a, y = *(const guint *)b;
  return (x > y) - (x < y);
}

GArray *rank_list_parse(const char *text, guint n_ranks, GError **error)
{
  g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(guint));
  g_auto(GStrv) ranges = g_strsplit(text, ",", -1);

  /* More than there are must repeat one. */
  for (char **range = ranges; *range != NULL && ranks->len <= n_ranks; range++)
    if (!add_range(g_strstrip(*range), n_ranks, ranks, error))
      return NULL;
  if (ranks->len == 0) {
    refuse(error, "ranks: none: write \"0-7, 12, 16-30:2\"");
    return NULL;
  }
  g_array_sort(ranks, compare);
  for (guint i = 1; i < ranks->len; i++)
    if (g_array_index(ranks, guint, i) == g_array_index(ranks, guint, i - 1)) {
      refuse(error, "ranks: rank %u is in the group twice", g_array_index(ranks, guint, i));
      return NULL;
    }
  return g_steal_pointer(&ranks);
}
