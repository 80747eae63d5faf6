/**
 * @file profile.h
 * @brief A profile: what was measured, the laws found in it, the constants that follow, and
 *        where all of it comes from. JSON, version 1.
 *
 * Readers take every 1.x; what a newer minor version added is passed over, a newer major
 * one is refused. Numbers have nine digits and keys a fixed order, so that profiles diff
 * well.
 */
#pragma once

#include "calibrate/backend.h"
#include "calibrate/fit.h"

#include <cjson/cJSON.h>

#define PROFILE_FORMAT "calibration-profile"
#define PROFILE_MAJOR 1
#define PROFILE_MINOR 0

/** A file that was imported. */
typedef struct {
  char *kind;   /**< "nccl-tests", "osu", ... */
  char *path;   /**< as given, without its folder */
  char *sha256; /**< of its bytes; "" if it was a pipe */
  guint n_samples;
  guint n_unreadable; /**< cells */
} ProfileInput;

/** A default of a module's key that a forecast takes instead of its own. */
typedef struct {
  char *owner;      /**< a module, "transport:tcp", or a section of the scenario,
                         "workload.compute" */
  char *key;        /**< of its ParamSpec */
  char *value;      /**< as a user writes it: "14 us" */
  char *low, *high; /**< 95 %, likewise; both "" if unknown */
  Source source;
  char *from; /**< id of the law; "" if none */
} ProfileConstant;

typedef struct {
  char *id;
  char *created_utc; /**< "2026-11-30T22:00:00Z"; "" if it does not matter */
  char *tool_version;
  char *command;        /**< that made it */
  GPtrArray *facts;     /**< of BackendFact */
  GPtrArray *inputs;    /**< of ProfileInput */
  GPtrArray *samples;   /**< of Sample */
  GPtrArray *laws;      /**< of Law */
  GPtrArray *constants; /**< of ProfileConstant */
  GPtrArray *warnings;  /**< of char * */
} Profile;

/** Empty, of this version of the program. @param id  such as its file's name */
Profile *profile_new(const char *id);
void profile_free(Profile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Profile, profile_free)

/** Append copies. */
void profile_add_input(Profile *profile, const ProfileInput *input);
void profile_add_constant(Profile *profile, const ProfileConstant *constant);

/** Say @p value of @p name, in place of what was said of it before. */
void profile_set_fact(Profile *profile, const char *name, const char *value);

/** Append copies of @p samples and keep the order of sample_compare(). */
void profile_add_samples(Profile *profile, const GPtrArray *samples);

/** Forget laws, warnings and the constants that came from laws; find them anew from the
 *  samples. */
void profile_fit(Profile *profile, const FitOptions *options);

/** The constants that its laws support; part of profile_fit(). */
void profile_derive_constants(Profile *profile);

/** As JSON. */
void profile_write(const Profile *profile, GString *out);

/** Write it aside and rename it. @return false with an error of the file system */
bool profile_save(const Profile *profile, const char *path, GError **error);

/** Called for everything that is wrong. @param key  full path: "models[2].segments" */
typedef void (*ProfileBlame)(const cJSON *item, const char *key, const char *cause,
                             void *data);

/**
 * Read what a parser made of a profile.
 * @return NULL if anything was blamed. Transfer: caller frees
 */
Profile *profile_read(const cJSON *root, ProfileBlame blame, void *data);
