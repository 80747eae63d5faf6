/** @file host_facts.c  @brief What is known of this machine without measuring it. */
#include "calibrate/backend/host.h"

#include "calibrate/backend/host_memory.h"
#include "sim/base/units.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

guint host_n_cores(void)
{
  return (guint)MAX(1, sysconf(_SC_NPROCESSORS_ONLN));
}

long host_n_displaced(void)
{
  struct rusage usage = { 0 };

  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

GPtrArray *host_describe(const char *kernels, double cache_B)
{
  GPtrArray *facts = backend_facts_new();
  g_autofree char *model = host_memory_proc("/proc/cpuinfo", "model name");
  g_autofree char *memory = host_memory_proc("/proc/meminfo", "MemTotal");
  g_autofree char *cache = units_show_bytes(cache_B, 4);
  g_autofree char *cores = g_strdup_printf("%u", host_n_cores());
  double load = 0;
  struct utsname system;

  backend_facts_add(facts, "cpu_model", model == NULL ? "unknown" : model);
  backend_facts_add(facts, "cpu_cores", cores);
  if (kernels != NULL) {
    backend_facts_add(facts, "cpu_kernels", kernels);
    backend_facts_add(facts, "last_level_cache", cache);
  }
  backend_facts_add(facts, "memory", memory == NULL ? "unknown" : memory);
  if (uname(&system) == 0)
    backend_facts_add(facts, "kernel", system.release);
  if (getloadavg(&load, 1) == 1) {
    g_autofree char *text = g_strdup_printf("%.2f", load);
    backend_facts_add(facts, "load_average", text);
  }
  return facts;
}
