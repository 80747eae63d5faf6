/**
 * @file catalogue_read.h
 * @brief Reading catalogue files from the repository root, where tests run.
 */
#pragma once

#include "sim/scenario/model_file.h"

#include <CUnit/Basic.h>
#include <string.h>

/** The root of the JSON in @p path; a failed assertion ends the test. */
static inline cJSON *read_json(Documents *documents, const char *path)
{
  g_autoptr(Problems) problems = problems_new();
  g_autoptr(GError) error = NULL;
  g_autofree char *text = NULL;
  gsize length = 0;

  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, &length, NULL));
  cJSON *root = documents_parse(documents, path, text, length, problems);
  if (!problems_report(problems, &error))
    CU_FAIL(error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(root);
  return root;
}

/** Bind @p text, or the file models/catalogue/model/NAME.json for a @p name. NULL after
 *  problems, whose report is in @p error. */
static inline Model *bind_text(const char *text, guint sequence, GError **error)
{
  g_autoptr(Documents) documents = documents_new();
  g_autoptr(Problems) problems = problems_new();
  const cJSON *root = documents_parse(documents, "m.json", text, strlen(text), problems);
  g_autoptr(Model) model =
    root != NULL ? model_file_bind(root, "", documents, problems, sequence) : NULL;

  return problems_report(problems, error) ? g_steal_pointer(&model) : NULL;
}

static inline Model *read_model(const char *name, guint sequence)
{
  g_autofree char *path = g_strdup_printf("models/catalogue/model/%s.json", name);
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;

  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, NULL, NULL));
  Model *model = bind_text(text, sequence, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(model);
  return model;
}
