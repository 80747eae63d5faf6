/**
 * @file profile_constants.h
 * @brief Are the constants of a profile constants of anything?
 */
#pragma once

#include "calibrate/profile.h"
#include "sim/scenario/document.h"

/**
 * Note every constant of @p profile that no module and no section of a scenario has, or
 * whose value, or an end of whose interval, its key does not take. A later minor version
 * may know more: there they are passed over.
 * @param root  what @p profile was read from
 */
void profile_constants_check(Profile *profile, const cJSON *root,
                             const Documents *documents, Problems *problems);
