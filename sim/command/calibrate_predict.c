#include "sim/command/calibrate_predict.h"

#include "calibrate/interval.h"

#include "sim/base/units.h"
#include "sim/command/calibrate.h"

#include <math.h>
#include <string.h>

enum { DIGITS = 4 };

/* What is asked; 0 and NULL: nothing said. */
typedef struct {
  const char *text;
  char *op;
  double size;
  guint ranks, nodes;
} Question;

static void question_clear(Question *question)
{
  g_free(question->op);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Question, question_clear)

static bool refuse(const char *text, const char *cause, GError **error)
{
  g_set_error(error, SIM_ERROR, SIM_ERROR_USAGE,
              "calibrate show: --predict %s: %s; write it like all_reduce:64M, or "
              "all_reduce:64M:n=1600:nodes=200",
              text, cause);
  return false;
}

/* "n=16", "nodes=2" */
static bool read_count(Question *question, const char *part, GError **error)
{
  const char *equals = strchr(part, '=');
  guint64 number = 0;

  if (!g_ascii_string_to_unsigned(equals + 1, 10, 1, 1000000, &number, NULL))
    return refuse(question->text, "wants a whole number from 1 after =", error);
  if (strncmp(part, "n=", 2) == 0)
    question->ranks = (guint)number;
  else if (strncmp(part, "nodes=", 6) == 0)
    question->nodes = (guint)number;
  else
    return refuse(question->text, "only n= and nodes= can be said", error);
  return true;
}

static bool read_size(Question *question, const char *part, GError **error)
{
  char *end = NULL;

  if (question->size > 0)
    return refuse(question->text, "two sizes", error);
  /* Operations and counts are bare numbers, of any magnitude. */
  question->size = g_ascii_strtod(part, &end);
  if (*end != '\0' &&
      !options_parse_size(&calibrate_show, "--predict", part, &question->size, error))
    return false;
  return (isfinite(question->size) && question->size > 0) ||
         refuse(question->text, "the size is above 0", error);
}

static bool read_question(const char *text, Question *question, GError **error)
{
  g_auto(GStrv) parts = g_strsplit(text, ":", -1);

  *question = (Question){ .text = text };
  for (char **part = parts; *part != NULL; part++) {
    if (strchr(*part, '=') != NULL) {
      if (!read_count(question, *part, error))
        return false;
    } else if (g_ascii_isdigit(**part)) {
      if (!read_size(question, *part, error))
        return false;
    } else if (question->op != NULL || **part == '\0') {
      return refuse(text, "expected one operation", error);
    } else {
      question->op = g_strdup(*part);
    }
  }
  return question->size > 0 || refuse(text, "there is no size in it", error);
}

/* A law of hops holds for any cluster, and must be told which. */
static bool answers(const Law *law, const Question *question)
{
  if (question->op != NULL && strcmp(question->op, law->key->probe) != 0)
    return false;
  if (law->form == LAW_HOPS)
    return question->ranks > 0 && question->nodes > 0 &&
           question->ranks % question->nodes == 0;
  return (question->ranks == 0 || question->ranks == law->key->ranks) &&
         (question->nodes == 0 || question->nodes == law->key->nodes);
}

static void append_answer(const Law *law, const Question *question, GString *out)
{
  const bool hops = law->form == LAW_HOPS;
  const guint ranks = hops ? question->ranks : 0, nodes = hops ? question->nodes : 0;
  const Estimate estimate = interval_of(law, question->size, ranks, nodes);
  g_autofree char *size = law->key->axis == SAMPLE_BYTES
                            ? units_show_bytes(question->size, DIGITS)
                            : g_strdup_printf("%.4g", question->size);
  g_autofree char *time = units_show_seconds(estimate.value, DIGITS);
  g_autofree char *low = units_show_seconds(estimate.low, DIGITS);
  g_autofree char *high =
    isfinite(estimate.high) ? units_show_seconds(estimate.high, DIGITS) : g_strdup("any");
  const bool is_outside = interval_is_outside(law, question->size, nodes);

  g_string_append_printf(out, "%12s  %10s  95 %%: %s to %s  %s%s", size, time, low, high,
                         law->id, is_outside ? "  extrapolated" : "");
  if (hops)
    g_string_append_printf(out, "  at %u ranks on %u nodes", ranks, nodes);
  g_string_append_c(out, '\n');
}

static bool refuse_unanswered(const Profile *profile, const Question *question,
                              GError **error)
{
  g_autoptr(GPtrArray) probes = g_ptr_array_new();

  for (guint i = 0; i < profile->laws->len; i++) {
    const Law *law = g_ptr_array_index(profile->laws, i);
    guint p = 0;
    while (p < probes->len && strcmp(probes->pdata[p], law->key->probe) != 0)
      p++;
    if (p == probes->len)
      g_ptr_array_add(probes, law->key->probe);
  }
  g_ptr_array_add(probes, NULL);
  const char *const *names = (const char *const *)probes->pdata;
  g_autofree char *suggestion =
    question->op != NULL && !g_strv_contains(names, question->op)
      ? registry_suggestion(names, question->op)
      : g_strdup("; `calibrate show` lists what it has, and for how many ranks and nodes");
  g_set_error(error, SIM_ERROR, SIM_ERROR_VALUE, "profile %s: no law answers %s%s",
              profile->id, question->text, suggestion);
  return false;
}

bool calibrate_predict(const Profile *profile, char *const *questions, GString *out,
                       GError **error)
{
  for (; *questions != NULL; questions++) {
    g_auto(Question) question = { 0 };
    bool is_answered = false;
    if (!read_question(*questions, &question, error))
      return false;
    for (guint i = 0; i < profile->laws->len; i++) {
      const Law *law = g_ptr_array_index(profile->laws, i);
      if (!answers(law, &question))
        continue;
      is_answered = true;
      append_answer(law, &question, out);
    }
    if (!is_answered)
      return refuse_unanswered(profile, &question, error);
  }
  return true;
}
