/**
 * @file registry.h
 * @brief Named, self-describing modules and how to find one by name.
 *
 * Every table of modules (collectives, strategies, networks, writers, ...) is a
 * NULL-terminated array of ModuleInfo. A module's ops struct begins with its
 * ModuleInfo, so a pointer to one converts to a pointer to the other.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct ParamSpec ParamSpec;

typedef struct {
  const char *name;        /**< what a scenario file says, e.g. "ring" */
  const char *summary;     /**< one line for `list`, under 72 characters */
  const char *source;      /**< paper, manual or repository it follows */
  const ParamSpec *params; /**< its keys; NULL if it has none */
  size_t params_size;      /**< sizeof the struct that @ref params fills; 0 if none [B] */
  const char *note;        /**< what others published about its effect; NULL if nothing */
} ModuleInfo;

#define SIM_ERROR sim_error_quark()
GQuark sim_error_quark(void);

typedef enum {
  SIM_ERROR_SYNTAX,  /**< the text is not what its format asks for */
  SIM_ERROR_UNKNOWN, /**< a key or name that nobody defines */
  SIM_ERROR_VALUE,   /**< known key, unacceptable value */
  SIM_ERROR_IO,      /**< the machine refused, not the user's text */
  SIM_ERROR_USAGE,   /**< the command line is wrong */
  SIM_ERROR_FAULT,   /**< our fault */
  SIM_ERROR_DEVICE,  /**< this machine lacks what was to be measured: a GPU, root */
  SIM_ERROR_PLUGIN,  /**< the part that measures it was not built or not found */
} SimError;

/**
 * Find @p name in @p table.
 * @param kind  what the table holds, for the message: "collective"
 * @return the module, or NULL with SIM_ERROR_UNKNOWN and a suggestion set
 */
const ModuleInfo *registry_find(const char *kind, const ModuleInfo *const *table,
                                const char *name, GError **error);

/**
 * The member of @p names (NULL-terminated) nearest to @p name by edit distance.
 * @return borrowed; NULL if less than half of the word matches
 */
const char *registry_nearest(const char *const *names, const char *name);

/**
 * The sentence that follows "unknown KIND 'NAME'": "; did you mean 'ring'?",
 * "; did you mean one of tree, tree_2?" or "; known: ring, tree". Transfer: caller frees.
 */
char *registry_suggestion(const char *const *names, const char *name);
