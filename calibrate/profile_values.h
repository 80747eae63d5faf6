/** @file profile_values.h  @brief Values of a profile's objects, read by their rows. A part
 *  of profile_read.c. */
#pragma once

#include "calibrate/profile_fields.h"

/** The path says where we are. */
typedef struct {
  ProfileBlame blame;
  void *data;
  GString *path;
  bool is_newer; /**< a minor version that may have keys which we do not know */
  bool failed;
} ProfileReader;

/** Step into member @p key, or its element; give the mark to reader_leave(). */
gsize reader_enter(ProfileReader *reader, const char *key);
gsize reader_enter_element(ProfileReader *reader, const char *key, guint index);
void reader_leave(ProfileReader *reader, gsize mark);

/** Note that @p item, member @p key of what was entered, is wrong; "": that itself. */
void reader_blame(ProfileReader *reader, const cJSON *item, const char *key,
                  const char *format, ...) G_GNUC_PRINTF(4, 5);

/** The member @p key, or NULL. */
const cJSON *reader_member(const cJSON *object, const char *key);

/** Fill the fields of @p object that @p fields describes. */
void reader_fields(ProfileReader *reader, const ProfileField *fields, const cJSON *json,
                   void *object);
