// SPDX-License-Identifier: BSD-3-Clause
//
// What configure found out: VERITY_UCX_VERSION (and _MAJOR, _MINOR, _PATCH), PACKAGE_VERSION.
// Included through this header so that no file depends on the generated one's place.
#ifndef VERITY_UTIL_BUILD_CONFIG_H
#define VERITY_UTIL_BUILD_CONFIG_H

#include "verity_config.h"

#endif
