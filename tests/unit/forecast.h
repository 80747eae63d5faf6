/**
 * @file forecast.h
 * @brief From a scenario's text to a Result, for tests of the whole chain.
 *
 * SimGrid allows one engine per process: every forecast happens in a child, through the
 * same farm that the program uses.
 */
#pragma once

#include "sim/command/farm.h"
#include "sim/output/output.h"
#include "sim/scenario/scenario.h"
#include "sim/training/training.h"

#include <CUnit/Basic.h>
#include <string.h>

/* Relative error of the engine: rounding to whole amounts (network.h). */
#define TOL_ENGINE 1e-9

/* One collective for any size, with stated latencies. */
#define RULES(which, local_latency, net_latency)                                           \
  "{\"name\": \"rules\", \"launch\": \"0 s\", \"local_latency\": \"" local_latency         \
  "\", \"net_latency\": \"" net_latency "\", \"rules\": [{\"use\": \"" which "\"}]}"

typedef struct {
  const Scenario *scenario;
  TrainingConfig config;
} Forecast;

static inline bool forecast_here(guint index G_GNUC_UNUSED, void *data, GString *out,
                                 GError **error)
{
  const Forecast *forecast = data;
  g_autoptr(Result) result =
    training_forecast(scenario_setup(forecast->scenario), &forecast->config, error);
  if (result == NULL)
    return false;
  result_write_json_private((const Result *const[]){ result }, 1, out);
  return true;
}

/* GPUs of one kind are alike, as closed forms want them, unless @p text says otherwise. */
static inline Scenario *parse(const char *text)
{
  static const char *const alike[] = { "workload.compute.gpu_spread=0", NULL };
  g_autoptr(GError) error = NULL;
  const bool says = strstr(text, "gpu_spread") != NULL;
  Scenario *scenario =
    scenario_parse("test.json", text, strlen(text), says ? NULL : alike, &error);
  if (scenario == NULL)
    fprintf(stderr, "%s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  return scenario;
}

/* The bytes that a forecast of @p text gives, exact JSON. */
static inline GString *forecast_configured(const char *text, const TrainingConfig *config)
{
  g_autoptr(Scenario) scenario = parse(text);
  Forecast forecast = { .scenario = scenario, .config = *config };
  const Farm farm = {
    .n_tasks = 1, .n_workers = 1, .work = forecast_here, .data = &forecast
  };
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) answers = farm_run(&farm, &error);
  if (answers == NULL)
    fprintf(stderr, "%s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(answers);
  const GString *answer = g_ptr_array_index(answers, 0);
  return g_string_new_len(answer->str, (gssize)answer->len);
}

static inline GString *forecast_bytes(const char *text, bool fold, guint replica)
{
  return forecast_configured(
    text, &(TrainingConfig){ .fold = fold, .traced = true, .replica = replica });
}

static inline Result *result_of(GString *bytes)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) results = result_read_json(bytes->str, bytes->len, &error);
  if (results == NULL)
    fprintf(stderr, "%s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(results);
  g_string_free(bytes, TRUE);
  return g_ptr_array_steal_index(results, 0);
}

/* Every message of every collective simulated. */
static inline Result *forecast_by_messages(const char *text)
{
  return result_of(
    forecast_configured(text, &(TrainingConfig){ .fold = true, .messages = true }));
}

static inline Result *forecast_with(const char *text, bool fold)
{
  return result_of(forecast_bytes(text, fold, 0));
}
