/** @file version.h  @brief The release that --version and the files it writes name. */
#pragma once

#define STEPCAST_VERSION "0.1.0"
