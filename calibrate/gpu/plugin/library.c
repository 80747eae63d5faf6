#include "calibrate/gpu/plugin/library.h"

#include <stdarg.h>
#include <string.h>

bool fault_set(GpuFault *fault, GpuFaultKind kind, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  fault->kind = kind;
  g_vsnprintf(fault->text, sizeof fault->text, format, args);
  va_end(args);
  return false;
}

void *library_open(const char *const *names, GpuFault *fault)
{
  bool told = false;

  for (; *names != NULL; names++) {
    void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL)
      return library;
    if (!told)
      fault_set(fault, GPU_FAULT_NO_LIBRARY, "%s", dlerror());
    told = true;
  }
  return NULL;
}

/* Copied, because C has no cast from a pointer to an object to one to a function. */
bool library_bind(void *function, void *library, const char *name, GpuFault *fault)
{
  void *symbol = dlsym(library, name);

  if (symbol == NULL)
    return fault_set(fault, GPU_FAULT_NO_LIBRARY, "%s", dlerror());
  memcpy(function, &symbol, sizeof symbol);
  return true;
}
