#include "calibrate/import.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define HEAD_B 65536
#define LINE_LIMIT_B (1 << 20)
#define N_NOTES_LIMIT 200

struct ImportInput {
  const char *name;
  GInputStream *stream;
  GString *buffer; /* read, not yet handed out */
  gsize used;      /* of the buffer, handed out */
  GString *line;
  guint line_number;
  bool ended;
};

const ModuleInfo *const importer_table[] = {
  &importer_nccl_tests.info,
  &importer_nccl_json.info,
  &importer_osu.info,
  &importer_perftest.info,
  &importer_iperf3.info,
  &importer_nvidia_topo.info,
  &importer_nccl_tuning.info,
  &importer_kineto.info,
  &importer_astra.info,
  &importer_chakra.info,
  NULL,
};

static void fact_free(BackendFact *fact)
{
  g_free(fact->name);
  g_free(fact->value);
  g_free(fact);
}

static Imported *imported_new(void)
{
  Imported *imported = g_new0(Imported, 1);

  imported->samples = sample_list_new();
  imported->facts = g_ptr_array_new_with_free_func((GDestroyNotify)fact_free);
  imported->notes = g_ptr_array_new_with_free_func(g_free);
  return imported;
}

void imported_free(Imported *imported)
{
  if (imported == NULL)
    return;
  g_ptr_array_unref(imported->samples);
  g_ptr_array_unref(imported->facts);
  g_ptr_array_unref(imported->notes);
  g_free(imported->scenario);
  g_free(imported);
}

void imported_add_fact(Imported *imported, const char *name, const char *value)
{
  for (guint i = 0; i < imported->facts->len; i++) {
    const BackendFact *fact = imported->facts->pdata[i];
    if (strcmp(fact->name, name) == 0)
      return;
  }
  BackendFact *fact = g_new0(BackendFact, 1);
  fact->name = g_strdup(name);
  fact->value = g_utf8_make_valid(value, -1);
  g_ptr_array_add(imported->facts, fact);
}

/* "file:line:column", so far as it is known. Transfer: caller frees. */
static char *show_place(const ImportInput *input, ImportPlace place)
{
  if (place.line == 0)
    return g_strdup(input->name);
  return place.column == 0
           ? g_strdup_printf("%s:%u", input->name, place.line)
           : g_strdup_printf("%s:%u:%u", input->name, place.line, place.column);
}

static void add_note(Imported *imported, const ImportInput *input, ImportPlace place,
                     const char *format, va_list arguments)
{
  if (imported->notes->len > N_NOTES_LIMIT)
    return;
  if (imported->notes->len == N_NOTES_LIMIT) {
    g_ptr_array_add(imported->notes, g_strdup_printf("%s: and more", input->name));
    return;
  }
  g_autofree char *text = g_strdup_vprintf(format, arguments);
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  g_autofree char *at = show_place(input, place);
  g_ptr_array_add(imported->notes, g_strdup_printf("%s: %s", at, valid));
}

void imported_note(Imported *imported, const ImportInput *input, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  add_note(imported, input, (ImportPlace){ .line = input->line_number }, format, arguments);
  va_end(arguments);
}

void imported_note_at(Imported *imported, const ImportInput *input, ImportPlace place,
                      const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  add_note(imported, input, place, format, arguments);
  va_end(arguments);
}

static bool fail(const ImportInput *input, ImportPlace place, GError **error,
                 const char *format, va_list arguments)
{
  g_autofree char *text = g_strdup_vprintf(format, arguments);
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  g_autofree char *at = show_place(input, place);

  g_set_error(error, SIM_ERROR, SIM_ERROR_SYNTAX, "%s: %s", at, valid);
  return false;
}

bool import_fail(const ImportInput *input, GError **error, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  fail(input, (ImportPlace){ .line = input->line_number }, error, format, arguments);
  va_end(arguments);
  return false;
}

bool import_fail_at(const ImportInput *input, ImportPlace place, GError **error,
                    const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  fail(input, place, error, format, arguments);
  va_end(arguments);
  return false;
}

const char *import_name(const ImportInput *input)
{
  return input->name;
}

guint import_line_number(const ImportInput *input)
{
  return input->line_number;
}

/* Drop what was handed out and read some more behind the rest. */
static bool fill(ImportInput *input, GError **error)
{
  const gsize at = input->buffer->len - input->used;

  g_string_erase(input->buffer, 0, (gssize)input->used);
  input->used = 0;
  if (input->ended)
    return true;
  g_string_set_size(input->buffer, at + HEAD_B);
  g_autoptr(GError) cause = NULL;
  const gssize n =
    g_input_stream_read(input->stream, input->buffer->str + at, HEAD_B, NULL, &cause);
  g_string_set_size(input->buffer, at + (gsize)MAX(n, 0));
  if (n < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: cannot be read: %s", input->name,
                cause->message);
    return false;
  }
  input->ended = n == 0;
  return true;
}

bool import_next_line(ImportInput *input, const char **line, GError **error)
{
  g_string_truncate(input->line, 0);
  input->line_number++;
  for (;;) {
    const char *begin = input->buffer->str + input->used;
    const gsize n = input->buffer->len - input->used;
    const char *end = n > 0 ? memchr(begin, '\n', n) : NULL;
    const gsize take = end == NULL ? n : (gsize)(end - begin);

    if (input->line->len + take > LINE_LIMIT_B)
      return import_fail(input, error, "a line of over 1 MiB; this is not a log");
    g_string_append_len(input->line, begin, (gssize)take);
    input->used += take + (end != NULL);
    if (end != NULL || (input->ended && input->used == input->buffer->len))
      break;
    if (!fill(input, error))
      return false;
    if (input->ended && input->buffer->len == 0)
      break;
  }
  if (input->line->len == 0 && input->ended && input->used == input->buffer->len) {
    *line = NULL;
    return true;
  }
  if (input->line->len > 0 && input->line->str[input->line->len - 1] == '\r')
    g_string_truncate(input->line, input->line->len - 1);
  *line = input->line->str;
  return true;
}

gssize import_next_bytes(ImportInput *input, char *bytes, gsize size, GError **error)
{
  if (input->used == input->buffer->len && !fill(input, error))
    return -1;
  const gsize n = MIN(size, input->buffer->len - input->used);

  memcpy(bytes, input->buffer->str + input->used, n);
  input->used += n;
  return (gssize)n;
}

char *import_read_all(ImportInput *input, gsize limit_B, GError **error)
{
  g_autoptr(GString) text = g_string_new(NULL);
  char bytes[4096];

  for (;;) {
    const gssize n = import_next_bytes(input, bytes, sizeof bytes, error);
    if (n < 0)
      return NULL;
    if (n == 0)
      return g_string_free(g_steal_pointer(&text), FALSE);
    if (text->len + (gsize)n > limit_B) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_SYNTAX, "%s: over %" G_GSIZE_FORMAT " MiB",
                  input->name, limit_B >> 20);
      return NULL;
    }
    if (memchr(bytes, '\0', (gsize)n) != NULL) {
      import_fail(input, error, "a NUL byte; this is no text");
      return NULL;
    }
    g_string_append_len(text, bytes, n);
  }
}

guint import_numbers(const char *line, double *value, guint n_max)
{
  guint n = 0;

  for (line += strspn(line, " \t"); *line != '\0'; line += strspn(line, " \t")) {
    char *end = NULL;
    if (n == n_max)
      return 0;
    value[n] = g_ascii_strtod(line, &end);
    if (end == line || strchr(" \t", *end) == NULL || !isfinite(value[n++]))
      return 0;
    line = end;
  }
  return n;
}

static void input_clear(ImportInput *input)
{
  g_clear_object(&input->stream);
  g_string_free(input->buffer, TRUE);
  g_string_free(input->line, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ImportInput, input_clear)

/* Fill the buffer until a head's worth or the end. */
static bool fill_head(ImportInput *input, GError **error)
{
  while (!input->ended && input->buffer->len < HEAD_B)
    if (!fill(input, error))
      return false;
  return true;
}

/* gzip begins with 1f 8b: what is inside is read instead. Transfer: the stream. */
static GInputStream *unpacked(GInputStream *raw, const char *name, GError **error)
{
  g_autoptr(GInputStream) buffered = g_buffered_input_stream_new_sized(raw, HEAD_B);
  g_autoptr(GError) cause = NULL;
  gsize n;

  if (g_buffered_input_stream_fill(G_BUFFERED_INPUT_STREAM(buffered), 2, NULL, &cause) <
      0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: cannot be read: %s", name,
                cause->message);
    return NULL;
  }
  const char *head =
    g_buffered_input_stream_peek_buffer(G_BUFFERED_INPUT_STREAM(buffered), &n);
  if (n < 2 || memcmp(head, "\x1f\x8b", 2) != 0)
    return g_steal_pointer(&buffered);
  g_autoptr(GConverter) gunzip =
    G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
  return g_converter_input_stream_new(buffered, gunzip);
}

static const ImporterOps *importer_for(const ImportInput *input,
                                       const ImportOptions *options, GError **error)
{
  if (options->kind != NULL)
    return (const ImporterOps *)registry_find("kind of file", importer_table, options->kind,
                                              error);
  g_autofree char *head =
    g_strndup(input->buffer->str, MIN(input->buffer->len, (gsize)HEAD_B));
  for (guint i = 0; importer_table[i] != NULL; i++) {
    const ImporterOps *ops = (const ImporterOps *)importer_table[i];
    if (ops->recognises(head))
      return ops;
  }
  g_autoptr(GString) known = g_string_new(NULL);
  for (guint i = 0; importer_table[i] != NULL; i++)
    g_string_append_printf(known, "%s%s", i > 0 ? ", " : "", importer_table[i]->name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_SYNTAX,
              "%s: nobody knows this kind of file; known: %s. --kind NAME insists",
              input->name, known->str);
  return NULL;
}

/* @p raw: taken. */
static Imported *import_stream(const char *name, GInputStream *raw,
                               const ImportOptions *options, const ImporterOps **importer,
                               GError **error)
{
  g_autoptr(GInputStream) taken = raw;
  g_auto(ImportInput)
    input = { .name = name, .buffer = g_string_new(NULL), .line = g_string_new(NULL) };
  g_autoptr(Imported) imported = imported_new();

  input.stream = unpacked(taken, name, error);
  if (input.stream == NULL || !fill_head(&input, error))
    return NULL;
  const ImporterOps *ops = importer_for(&input, options, error);
  if (ops == NULL || !ops->read(&input, options, imported, error))
    return NULL;
  if (importer != NULL)
    *importer = ops;
  for (guint i = 0; i < imported->samples->len; i++)
    ((Sample *)g_ptr_array_index(imported->samples, i))->source = SOURCE_IMPORTED;
  return g_steal_pointer(&imported);
}

Imported *import_text(const char *name, const char *text, gsize length,
                      const ImportOptions *options, const ImporterOps **importer,
                      GError **error)
{
  return import_stream(name,
                       g_memory_input_stream_new_from_data(text, (gssize)length, NULL),
                       options, importer, error);
}

Imported *import_file(const char *path, const ImportOptions *options,
                      const ImporterOps **importer, GError **error)
{
  const bool is_stdin = strcmp(path, "-") == 0;
  g_autoptr(GFile) file = g_file_new_for_path(is_stdin ? "/dev/stdin" : path);
  g_autoptr(GError) cause = NULL;
  GStatBuf status;

  if (!is_stdin && (g_stat(path, &status) != 0 || !S_ISREG(status.st_mode))) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: %s", path,
                g_file_test(path, G_FILE_TEST_EXISTS) ? "not a file; - reads standard input"
                                                      : g_strerror(ENOENT));
    return NULL;
  }
  GInputStream *raw = G_INPUT_STREAM(g_file_read(file, NULL, &cause));
  if (raw == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_IO, "%s: cannot be read: %s",
                is_stdin ? "stdin" : path, cause->message);
    return NULL;
  }
  return import_stream(is_stdin ? "stdin" : path, raw, options, importer, error);
}
