#include "calibrate/profile.h"

#include "sim/base/version.h"

#include <string.h>

static void input_free(gpointer data)
{
  ProfileInput *input = data;

  g_free(input->kind);
  g_free(input->path);
  g_free(input->sha256);
  g_free(input);
}

static void constant_free(gpointer data)
{
  ProfileConstant *constant = data;

  g_free(constant->owner);
  g_free(constant->key);
  g_free(constant->value);
  g_free(constant->low);
  g_free(constant->high);
  g_free(constant->from);
  g_free(constant);
}

Profile *profile_new(const char *id)
{
  Profile *profile = g_new0(Profile, 1);

  profile->id = g_strdup(id);
  profile->created_utc = g_strdup("");
  profile->tool_version = g_strdup(STEPCAST_VERSION);
  profile->command = g_strdup("");
  profile->facts = backend_facts_new();
  profile->inputs = g_ptr_array_new_with_free_func(input_free);
  profile->samples = sample_list_new();
  profile->laws = g_ptr_array_new_with_free_func((GDestroyNotify)law_free);
  profile->constants = g_ptr_array_new_with_free_func(constant_free);
  profile->warnings = g_ptr_array_new_with_free_func(g_free);
  return profile;
}

void profile_free(Profile *profile)
{
  if (profile == NULL)
    return;
  g_free(profile->id);
  g_free(profile->created_utc);
  g_free(profile->tool_version);
  g_free(profile->command);
  g_ptr_array_unref(profile->facts);
  g_ptr_array_unref(profile->inputs);
  g_ptr_array_unref(profile->samples);
  g_ptr_array_unref(profile->laws);
  g_ptr_array_unref(profile->constants);
  g_ptr_array_unref(profile->warnings);
  g_free(profile);
}

void profile_add_input(Profile *profile, const ProfileInput *input)
{
  ProfileInput *copy = g_new(ProfileInput, 1);

  *copy = *input;
  copy->kind = g_strdup(input->kind);
  copy->path = g_strdup(input->path == NULL ? "" : input->path);
  copy->sha256 = g_strdup(input->sha256 == NULL ? "" : input->sha256);
  g_ptr_array_add(profile->inputs, copy);
}

void profile_add_constant(Profile *profile, const ProfileConstant *constant)
{
  ProfileConstant *copy = g_new(ProfileConstant, 1);

  *copy = (ProfileConstant){
    .owner = g_strdup(constant->owner),
    .key = g_strdup(constant->key),
    .value = g_strdup(constant->value),
    .low = g_strdup(constant->low == NULL ? "" : constant->low),
    .high = g_strdup(constant->high == NULL ? "" : constant->high),
    .source = constant->source,
    .from = g_strdup(constant->from == NULL ? "" : constant->from),
  };
  g_ptr_array_add(profile->constants, copy);
}

void profile_set_fact(Profile *profile, const char *name, const char *value)
{
  for (guint i = 0; i < profile->facts->len; i++) {
    BackendFact *fact = g_ptr_array_index(profile->facts, i);
    if (strcmp(fact->name, name) != 0)
      continue;
    g_free(fact->value);
    fact->value = g_strdup(value);
    return;
  }
  backend_facts_add(profile->facts, name, value);
}

static gint compare_samples(gconstpointer a, gconstpointer b)
{
  return sample_compare(*(const Sample *const *)a, *(const Sample *const *)b);
}

void profile_add_samples(Profile *profile, const GPtrArray *samples)
{
  for (guint i = 0; i < samples->len; i++)
    g_ptr_array_add(profile->samples, sample_copy(g_ptr_array_index(samples, i)));
  g_ptr_array_sort(profile->samples, compare_samples);
}

/* What somebody wrote by hand stays. */
static void forget_derived(GPtrArray *constants)
{
  for (guint i = constants->len; i > 0; i--) {
    const ProfileConstant *constant = g_ptr_array_index(constants, i - 1);
    if (*constant->from != '\0')
      g_ptr_array_remove_index(constants, i - 1);
  }
}

void profile_fit(Profile *profile, const FitOptions *options)
{
  g_ptr_array_set_size(profile->warnings, 0);
  forget_derived(profile->constants);
  g_ptr_array_unref(profile->laws);
  profile->laws = fit_all(profile->samples, options, profile->warnings);
  profile_derive_constants(profile);
}
