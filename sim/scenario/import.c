#include "sim/scenario/import.h"

bool import_blame(GError **error, const ImportFile *file, guint line, const char *format,
                  ...)
{
  va_list arguments;

  va_start(arguments, format);
  g_autofree char *cause = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  if (line == 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYNTAX, "%s: %s", file->name, cause);
  else
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYNTAX, "%s:%u: %s", file->name, line, cause);
  return false;
}
