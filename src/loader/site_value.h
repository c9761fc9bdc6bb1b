/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERITY_LOADER_SITE_VALUE_H
#define VERITY_LOADER_SITE_VALUE_H

enum { VERITY_SITE_VALUE_SIZE = 4097 }; /* of policy.h, and the end */

/* The value of a variable in force: a lock of the site's policy, else the environment's, else the
 * site's default, else "". It is in `value`, or in the environment. Reads files. */
const char* verity_site_value(const char* name, char value[VERITY_SITE_VALUE_SIZE]);

#endif
