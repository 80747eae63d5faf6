/**
 * @file profile_fields.h
 * @brief The keys of a profile's objects, for its writer and its reader: the one list.
 */
#pragma once

#include "calibrate/profile.h"

typedef enum {
  PROFILE_TEXT,     /**< char *, owned; left out if "" */
  PROFILE_NUMBER,   /**< double; NaN is null */
  PROFILE_COUNT,    /**< guint */
  PROFILE_NAME,     /**< an enumeration, by name */
  PROFILE_FLAGS,    /**< guint of SampleFlags: a list of names, left out if empty */
  PROFILE_ESTIMATE, /**< Estimate: the number, and KEY_ci95 as [low, high] */
} ProfileFieldType;

typedef struct {
  const char *key;
  ProfileFieldType type;
  size_t offset;
  bool required;
  const char *const *names; /**< PROFILE_NAME only, NULL-terminated */
  double min, max;          /**< of numbers, inclusive; both 0: 0 and above */
} ProfileField;

/** Each ends with a NULL key. */
extern const ProfileField profile_head_fields[];      /**< of Profile */
extern const ProfileField profile_tool_fields[];      /**< of Profile */
extern const ProfileField profile_input_fields[];     /**< of ProfileInput */
extern const ProfileField profile_key_fields[];       /**< of Sample: what names a curve */
extern const ProfileField profile_sample_fields[];    /**< of Sample: the rest */
extern const ProfileField profile_law_fields[];       /**< of Law */
extern const ProfileField profile_segment_fields[];   /**< of LawSegment */
extern const ProfileField profile_parameter_fields[]; /**< of LawParameter */
extern const ProfileField profile_candidate_fields[]; /**< of LawCandidate */
extern const ProfileField profile_fit_fields[];       /**< of LawFit */
extern const ProfileField profile_constant_fields[];  /**< of ProfileConstant */
