/**
 * @file setting.h
 * @brief "--set path=value" over a scenario.
 */
#pragma once

#include "sim/scenario/document.h"

/**
 * Lay "path=value" onto @p root. The path is that of messages: "cluster.nic.count",
 * "library.rules[0].use"; objects that are missing are made, elements of lists are not;
 * null takes away.
 */
void setting_lay(Documents *documents, cJSON *root, const char *setting,
                 Problems *problems);
