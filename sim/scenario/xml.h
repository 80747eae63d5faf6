/**
 * @file xml.h
 * @brief XML as a tree of elements that know their lines. A part of the importers.
 */
#pragma once

#include "sim/scenario/import.h"

typedef struct XmlElement XmlElement;

struct XmlElement {
  char *name;
  char **keys, **values; /**< attributes, as written; NULL-terminated */
  GPtrArray *children;   /**< of XmlElement, owned */
  XmlElement *parent;    /**< NULL for the root */
  guint line;            /**< where its tag ends */
};

/** The root of @p file. Text between tags is refused; comments are skipped.
 *  Transfer: caller frees with xml_free(). @return NULL with SIM_ERROR_SYNTAX */
XmlElement *xml_parse(const ImportFile *file, GError **error);
void xml_free(XmlElement *root);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(XmlElement, xml_free)

XmlElement *xml_child(const XmlElement *element, guint index);
bool xml_is(const XmlElement *element, const char *name);

/** The value of an attribute, or NULL. Borrowed. */
const char *xml_get(const XmlElement *element, const char *key);

/** The same; NULL with SIM_ERROR_SYNTAX if it is not there. */
const char *xml_require(const ImportFile *file, const XmlElement *element, const char *key,
                        GError **error);

/** A whole number of at most @p max. */
bool xml_require_count(const ImportFile *file, const XmlElement *element, const char *key,
                       guint max, guint *out, GError **error);
