#include "calibrate/backend/host_memory.h"

#include "sim/base/registry.h"
#include "sim/base/rng.h"
#include "sim/base/units.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Random values are drawn for this many, and copied on: 1 MiB of floats. */
#define N_DRAWN (1u << 18)

#define FREE_SHARE                                                                         \
  0.25 /* of the free memory that we take; assumed: nobody else misses it */

char *host_memory_proc(const char *path, const char *key)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents(path, &text, NULL, NULL))
    return NULL;
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (char **line = lines; *line != NULL; line++) {
    char *colon = strchr(*line, ':');
    if (colon == NULL)
      continue;
    *colon = '\0';
    if (strcmp(g_strstrip(*line), key) == 0)
      return g_strdup(g_strstrip(colon + 1));
  }
  return NULL;
}

static double free_B(void)
{
  g_autofree char *text = host_memory_proc("/proc/meminfo", "MemAvailable");
  return text == NULL ? 0 : 1024.0 * g_ascii_strtod(text, NULL); /* "24123456 kB" */
}

/* Linux tells of the caches of a CPU by index, the last of which is the largest. The C
 * library asks the CPU itself, which under a hypervisor may name another's. */
static guint64 last_cache_B(void)
{
  guint64 largest_B = 0;

  for (guint index = 0; index < 8; index++) {
    g_autofree char *path =
      g_strdup_printf("/sys/devices/system/cpu/cpu0/cache/index%u/size", index);
    g_autofree char *text = NULL;
    if (g_file_get_contents(path, &text, NULL, NULL)) {
      char *unit = NULL;
      const guint64 number = g_ascii_strtoull(text, &unit, 10);
      largest_B = MAX(largest_B, number << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : 0));
    }
  }
  if (largest_B == 0)
    largest_B = (guint64)MAX(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
  return largest_B > 0 ? largest_B : 32u << 20; /* assumed where nobody says */
}

static gsize buffers_B(const HostMemory *memory)
{
  return memory->n * (3 * sizeof(float) + sizeof(guint16));
}

static void fill(HostMemory *memory)
{
  const gsize n = MIN(memory->n, N_DRAWN);

  for (gsize i = 0; i < n; i++) {
    const guint64 word = rng_hash(1, i, 0);
    memory->from[i] = (float)((double)(word >> 40) * 0x1p-23 - 1);
    /* A sign, an exponent from 2^-8 to 2^7 and any mantissa. */
    memory->halves[i] = (guint16)((word & 0x83ff) | (7 + (word >> 16) % 16) << 10);
  }
  for (gsize done = n; done < memory->n; done *= 2) {
    memcpy(memory->from + done, memory->from, done * sizeof(float));
    memcpy(memory->halves + done, memory->halves, done * sizeof(guint16));
  }
  memcpy(memory->to, memory->from, memory->n * sizeof(float));
  memset(memory->out, 0, memory->n * sizeof(float));
}

HostMemory *host_memory_new(guint64 largest_B, GError **error)
{
  g_autoptr(HostMemory) memory = g_new0(HostMemory, 1);
  const double limit_B = FREE_SHARE * free_B();

  memory->cache_B = last_cache_B();
  memory->n = largest_B / sizeof(float);
  while ((double)buffers_B(memory) < 2.0 * (double)memory->cache_B * HOST_MEMORY_FACTOR)
    memory->n *= 2;
  if ((double)buffers_B(memory) > limit_B) {
    g_autofree char *wanted = units_show_bytes((double)buffers_B(memory), 3);
    g_autofree char *left = units_show_bytes(limit_B, 3);
    g_set_error(error, SIM_ERROR, SIM_ERROR_DEVICE,
                "not enough free memory: buffers take %s, a quarter of what is free is %s; "
                "give a smaller --largest",
                wanted, left);
    return NULL;
  }
  void *bytes = mmap(NULL, buffers_B(memory), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_DEVICE, "cannot allocate buffers: %s",
                g_strerror(errno));
    return NULL;
  }
  /* A fork would share the pages, and every write after it stop for one of our own. */
  madvise(bytes, buffers_B(memory), MADV_DONTFORK);
  memory->from = bytes;
  memory->to = memory->from + memory->n;
  memory->out = memory->to + memory->n;
  memory->halves = (guint16 *)(void *)(memory->out + memory->n);
  fill(memory);
  return g_steal_pointer(&memory);
}

void host_memory_free(HostMemory *memory)
{
  if (memory->from != NULL)
    munmap(memory->from, buffers_B(memory));
  g_free(memory);
}

gsize host_memory_place(const HostMemory *memory, gsize n, guint64 visit)
{
  const guint64 n_places = MAX(memory->n / n, 1); /* a power of two */
  const guint64 step = n_places * 5 / 8 | 1;      /* odd, so that all are visited */

  return (gsize)(visit * step % n_places) * n;
}
