/**
 * @file merge.h
 * @brief One JSON object over another, file over included file.
 */
#pragma once

#include "sim/scenario/document.h"

/**
 * Lay @p over onto @p under, which is changed: objects are merged, anything else is
 * replaced, null takes a key away. Where the two name different modules (strategy.name),
 * the parameters of the other module go too.
 * @param path  of both in the scenario, "" for the whole: "cluster.node"
 * @param over  is emptied
 */
void merge_objects(Documents *documents, const char *path, cJSON *under, cJSON *over);

/** Does an object stand at @p path whose keys a name of the catalogue may stand for? */
bool merge_takes_name(const char *path);
