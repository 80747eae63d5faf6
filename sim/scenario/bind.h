/**
 * @file bind.h
 * @brief From JSON objects to parameter structs, by the rows of ParamSpec tables.
 */
#pragma once

#include "models/network/graph.h"
#include "models/setup.h"
#include "sim/scenario/document.h"
#include "sim/scenario/effective.h"
#include "sim/scenario/profile_file.h"

/** What binding works with. */
typedef struct {
  Documents *documents;
  Problems *problems;
  Effective *effective;   /**< NULL: do not note what is understood */
  GArray *constants;      /**< of Constant; NULL likewise */
  const char *file;       /**< the scenario's path */
  const Profile *profile; /**< whose constants are the defaults; NULL: none */
  const char *owner;      /**< "library:nccl" while its keys are bound, else NULL */
  guint replica;          /**< from 1 on the profile's constants are drawn */
  guint64 seed;           /**< of the draws */
} Binder;

/** An object of the scenario. */
typedef struct {
  const char *path;   /**< "cluster.nic"; "" for the whole */
  cJSON *object;      /**< NULL: not given, all defaults */
  const cJSON *place; /**< what to blame for what is missing */
} Section;

/** Note a problem of @p key in @p section; @p item is its value, or NULL. */
void bind_blame(const Binder *binder, const Section *section, const char *key,
                const cJSON *item, const char *cause);

/** The same of element @p index of the list @p key. */
void bind_blame_element(const Binder *binder, const Section *section, const char *key,
                        guint index, const char *cause);

/** The value of @p key, or NULL. */
cJSON *bind_member(const Section *section, const char *key);

/** Set every field of @p params that @p specs describes: given, default, or a problem. */
void bind_params(Binder *binder, const Section *section, const ParamSpec *specs,
                 void *params);

/** The same for one row, whose value @p item may be NULL. */
void bind_value(Binder *binder, const Section *section, const ParamSpec *spec, void *params,
                const cJSON *item);

/** Note @p item, which is understood elsewhere, for `show`. */
void bind_note(Binder *binder, const char *key, const cJSON *item);

/** Refuse keys that are neither in @p specs nor in @p extra (NULL-terminated, or NULL). */
void bind_check_keys(const Binder *binder, const Section *section, const ParamSpec *specs,
                     const char *const *extra);

/** A kind of module and the key that names one. */
typedef struct {
  const char *kind; /**< "strategy" */
  const char *key;  /**< "name" */
  const ModuleInfo *const *table;
  const char *fallback;     /**< NULL: the key is required */
  const char *const *extra; /**< further keys of the object, NULL-terminated, or NULL */
} ModuleChoice;

/** The object @p key of @p parent, which may be missing.
 *  @param choice  what it names a module by, or NULL
 *  @param path    set to its path; owned by the caller, who keeps it as long */
Section bind_section(const Binder *binder, const Section *parent, const char *key,
                     const ModuleChoice *choice, char **path);

/**
 * Find the module that @p section names and bind its parameters.
 * @param params  set to a new struct, freed with param_clear() and g_free()
 * @return NULL after a problem with the name
 */
const ModuleInfo *bind_module(Binder *binder, const Section *section,
                              const ModuleChoice *choice, void **params);

/**
 * The object that @p item stands for: itself, or a catalogue's entry, or what it lays over
 * its "base". Gets the entry's name as "name".
 * @param kind  of the catalogue: "node"
 * @return NULL after a problem
 */
cJSON *bind_catalogue(Binder *binder, const char *kind, const char *path, cJSON *item);

/** What the file of a node describes, under what @p item, its object, says itself.
 *  @return NULL after a problem */
cJSON *bind_import_node(Binder *binder, const char *path, cJSON *item);

/** Turn the "file" of @p section into a full path if it was included from another folder,
 *  so that what `show` prints means the same file. */
void bind_import_anchor(const Binder *binder, const Section *section);

/** Read the file of @p section, the network, into @p params. */
void bind_import_network(Binder *binder, const Section *section, GraphParams *params);

/** Parts of the scenario. */
void bind_cluster(Binder *binder, const Section *root, ClusterSpec *cluster);
void bind_groups(Binder *binder, const Section *root, Setup *setup);
void bind_workload(Binder *binder, const Section *root, Setup *setup);
/** After all other parts. */
void bind_memory(Binder *binder, const Section *root, Setup *setup);

/** The profile that "calibration" names: one of the program's, or a file. NULL if none, or
 *  after a problem. Transfer: caller frees */
Profile *bind_calibration_open(const Binder *binder, const Section *root);

/** Take the times of collectives that the binder's profile measured; the library must be
 *  bound. */
void bind_calibration_curves(const Binder *binder, Setup *setup);
