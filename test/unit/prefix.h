// SPDX-License-Identifier: BSD-3-Clause
//
// What nearly all unit tests include, compiled once for all of them where UNIT_PCH asks for it
// (local.mk). A test includes what it uses all the same.
#ifndef VERITY_TEST_UNIT_PREFIX_H
#define VERITY_TEST_UNIT_PREFIX_H

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#endif  // VERITY_TEST_UNIT_PREFIX_H
