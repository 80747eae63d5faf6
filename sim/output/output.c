/**
 * @file output.c
 * @brief Where the bytes go: paths checked before the run, files replaced whole after it.
 */
#include "sim/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where one path leads. */
typedef struct {
  char *file;    /* the file itself, behind symbolic links */
  char *aside;   /* written, waiting to be renamed; NULL before */
  GString *text; /* what to write; NULL before */
  bool exists;
  mode_t mode;   /* if it exists */
  int fd;        /* an open descriptor that the path names; -1 */
  bool in_place; /* a device, a pipe or a descriptor: nothing to rename over */
} Target;

static void target_free(gpointer item)
{
  Target *target = item;

  if (target->aside != NULL)
    g_unlink(target->aside);
  if (target->text != NULL)
    g_string_free(target->text, TRUE);
  g_free(target->aside);
  g_free(target->file);
  g_free(target);
}

static bool refuse_io(const char *path, const char *what, int code, GError **error)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: %s: %s", path, what, g_strerror(code));
  return false;
}

/* The descriptor that @p path names, or -1. Opening such a path again would start at the
 * head of a redirected file and write over what is there. */
static int named_descriptor(const char *path)
{
  static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
  guint64 number;

  if (strcmp(path, "/dev/stdout") == 0)
    return STDOUT_FILENO;
  if (strcmp(path, "/dev/stderr") == 0)
    return STDERR_FILENO;
  for (guint i = 0; i < G_N_ELEMENTS(folders); i++)
    if (g_str_has_prefix(path, folders[i]) &&
        g_ascii_string_to_unsigned(path + strlen(folders[i]), 10, 0, INT_MAX, &number,
                                   NULL))
      return (int)number;
  return -1;
}

/* @p path with its folder's symbolic links and dots resolved, so that two names of one
 * file that does not exist yet are equal. */
static char *resolve_new(const char *path, GError **error)
{
  g_autofree char *folder = g_path_get_dirname(path);
  g_autofree char *base = g_path_get_basename(path);
  char *real = realpath(folder, NULL);

  if (real == NULL) {
    refuse_io(path, "cannot use its folder", errno, error);
    return NULL;
  }
  char *file = g_build_filename(real, base, NULL);
  free(real);
  return file;
}

static bool resolve(Target *target, const char *path, GError **error)
{
  struct stat status;

  target->fd = named_descriptor(path);
  if (target->fd >= 0) {
    target->in_place = true;
    target->file = g_strdup_printf("/dev/fd/%d", target->fd);
    return true;
  }
  target->exists = stat(path, &status) == 0;
  if (!target->exists && errno != ENOENT)
    return refuse_io(path, "cannot be written", errno, error);
  if (target->exists && S_ISDIR(status.st_mode))
    return refuse_io(path, "cannot be written", EISDIR, error);

  /* A file is replaced where it lies, not the link that leads to it. */
  char *real = target->exists && S_ISREG(status.st_mode) ? realpath(path, NULL) : NULL;
  target->file = real != NULL ? g_strdup(real) : resolve_new(path, error);
  free(real);
  target->in_place = target->exists && !S_ISREG(status.st_mode);
  target->mode = target->exists ? status.st_mode & 07777 : 0;
  return target->file != NULL;
}

/* Make an empty file beside the target: proof that one may, and the place to write to. */
static int open_aside(Target *target)
{
  g_autofree char *folder = g_path_get_dirname(target->file);
  g_autofree char *aside = g_build_filename(folder, ".stepcast-XXXXXX", NULL);
  const int fd = g_mkstemp_full(aside, O_WRONLY | O_CLOEXEC, 0666);

  if (fd >= 0)
    target->aside = g_steal_pointer(&aside);
  return fd;
}

/* Names that are too long fail only when they are used. */
static bool check_name(const Target *target)
{
  struct stat status;

  return lstat(target->file, &status) == 0 || errno == ENOENT;
}

static bool check_writable(Target *target, const char *path, GError **error)
{
  if (target->fd >= 0) {
    const int flags = fcntl(target->fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
      return refuse_io(path, "cannot be written", flags < 0 ? errno : EBADF, error);
    return true;
  }
  if (target->exists && access(target->file, W_OK) != 0)
    return refuse_io(path, "cannot be written", errno, error);
  if (target->in_place)
    return true;
  if (!check_name(target))
    return refuse_io(path, "cannot be written", errno, error);

  const int fd = open_aside(target);
  if (fd < 0)
    return refuse_io(path, "cannot write into its folder", errno, error);
  close(fd);
  g_unlink(target->aside);
  g_clear_pointer(&target->aside, g_free);
  return true;
}

static Target *target_of(GPtrArray *targets, const char *path, GError **error)
{
  const char *file = NULL;

  if (output_find(path, &file, error) == NULL)
    return NULL;
  if (*file == '\0' || g_str_has_suffix(file, "/")) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "%s: names no file", path);
    return NULL;
  }
  Target *target = g_new0(Target, 1);
  g_ptr_array_add(targets, target);
  if (!resolve(target, file, error))
    return NULL;
  for (guint i = 0; i + 1 < targets->len; i++) {
    const Target *other = g_ptr_array_index(targets, i);
    if (strcmp(other->file, target->file) == 0) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE, "%s: given twice", path);
      return NULL;
    }
  }
  return target;
}

bool output_check_all(const char *const *paths, GError **error)
{
  g_autoptr(GPtrArray) targets = g_ptr_array_new_with_free_func(target_free);

  for (guint i = 0; paths[i] != NULL; i++) {
    Target *target = target_of(targets, paths[i], error);
    if (target == NULL || !check_writable(target, paths[i], error))
      return false;
  }
  return true;
}

static bool write_fully(int fd, const GString *text)
{
  gsize done = 0;

  while (done < text->len) {
    const gssize n = write(fd, text->str + done, text->len - done);
    if (n < 0 && errno != EINTR)
      return false;
    if (n > 0)
      done += (gsize)n;
  }
  return true;
}

static bool write_aside(Target *target, const char *path, GError **error)
{
  const int fd = open_aside(target);

  if (fd < 0)
    return refuse_io(path, "cannot write into its folder", errno, error);
  bool written = write_fully(fd, target->text);
  if (written && target->exists)
    written = fchmod(fd, target->mode) == 0;
  int code = errno;
  if (close(fd) != 0 && written) {
    written = false;
    code = errno;
  }
  return written || refuse_io(path, "cannot be written", code, error);
}

static bool write_in_place(const Target *target, const char *path, GError **error)
{
  /* What the program printed before comes before. */
  fflush(NULL);
  const int fd =
    target->fd >= 0 ? target->fd : g_open(target->file, O_WRONLY | O_CLOEXEC, 0);
  if (fd < 0)
    return refuse_io(path, "cannot be written", errno, error);

  bool written = write_fully(fd, target->text);
  int code = errno;
  if (target->fd < 0 && close(fd) != 0 && written) {
    written = false;
    code = errno;
  }
  return written || refuse_io(path, "cannot be written", code, error);
}

/* What goes into the files. */
typedef struct {
  const Result *const *results;
  guint n_results;
  const Timings *timings; /* instead of results, if not NULL */
} Content;

static bool render(const OutputOps *writer, const Content *content, GString *out,
                   GError **error)
{
  if (content->timings == NULL)
    return output_render(writer, content->results, content->n_results, out, error);
  writer->render_timings(content->timings, out);
  return true;
}

static bool render_all(const char *const *paths, GPtrArray *targets, const Content *content,
                       GError **error)
{
  for (guint i = 0; paths[i] != NULL; i++) {
    Target *target = target_of(targets, paths[i], error);
    if (target == NULL)
      return false;
    target->text = g_string_new(NULL);
    if (!render(output_find(paths[i], NULL, NULL), content, target->text, error))
      return false;
  }
  return true;
}

static bool write_all(const char *const *paths, const Content *content, GError **error)
{
  g_autoptr(GPtrArray) targets = g_ptr_array_new_with_free_func(target_free);

  if (!render_all(paths, targets, content, error))
    return false;
  for (guint i = 0; i < targets->len; i++) {
    Target *target = g_ptr_array_index(targets, i);
    if (!target->in_place && !write_aside(target, paths[i], error))
      return false;
  }
  for (guint i = 0; i < targets->len; i++) {
    const Target *target = g_ptr_array_index(targets, i);
    if (target->in_place && !write_in_place(target, paths[i], error))
      return false;
  }
  for (guint i = 0; i < targets->len; i++) {
    Target *target = g_ptr_array_index(targets, i);
    if (target->in_place)
      continue;
    if (g_rename(target->aside, target->file) != 0)
      return refuse_io(paths[i], "cannot be replaced", errno, error);
    g_clear_pointer(&target->aside, g_free);
  }
  return true;
}

bool output_write_all(const char *const *paths, const Result *const *results, guint n,
                      GError **error)
{
  return write_all(paths, &(Content){ .results = results, .n_results = n }, error);
}

bool output_write_timings(const char *const *paths, const Timings *timings, GError **error)
{
  return write_all(paths, &(Content){ .timings = timings }, error);
}

bool output_check_timings(const char *const *paths, GError **error)
{
  if (!output_check_all(paths, error))
    return false;
  for (guint i = 0; paths[i] != NULL; i++) {
    const OutputOps *writer = output_find(paths[i], NULL, NULL);
    if (writer->render_timings == NULL) {
      g_set_error(
        error, SIM_ERROR, SIM_ERROR_USAGE,
        "%s: the writer '%s' has no form for a collective; use .json .csv .svg .txt",
        paths[i], writer->info.name);
      return false;
    }
  }
  return true;
}
