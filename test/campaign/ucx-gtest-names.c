/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes UCX's own tests run over the wrapped transports without a change in the tests, which name
 * transports everywhere. Preloaded, it gives the transports of the component "verity" the names of
 * those that they wrap (vtcp becomes tcp), and hides the raw ones of these names from everyone but
 * the plugin, which opens its lower interfaces by them. So each case has the same name on stock and
 * on wrapped transports, and what the tests decide by a transport's name is the same. What they
 * decide by the memory that a domain can allocate is made the same, too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT, dladdr */
#endif

#include <uct/api/uct.h>
#include <uct/base/uct_md.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REAL(name) ((__typeof__(&(name)))real(#name))

static void* real(const char* name) {
  void* function = dlsym(RTLD_NEXT, name);
  /* In the test program itself libuct comes behind this library; not so where it was opened with
   * RTLD_LOCAL. */
  if (function == NULL) {
    fprintf(stderr, "ucx-gtest-names: %s not found\n", name);
    abort();
  }
  return function;
}

static int is_verity(uct_md_h md) { return strcmp(md->component->name, "verity") == 0; }

/* The plugin's own calls are for the lower transports. */
static int is_plugin(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
         strstr(info.dli_fname, "libuct_verity") != NULL;
}

/* Of these the plugin has a wrapper wherever UCX has one. */
static int is_wrapped(const char* tl) {
  static const char* const names[] = {"tcp", "self", "posix", "sysv", "cma"};
  size_t i;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    if (strcmp(tl, names[i]) == 0) { return 1; }
  }
  return 0;
}

ucs_status_t uct_md_query_tl_resources(uct_md_h md, uct_tl_resource_desc_t** resources_p,
                                       unsigned* count_p) {
  const int plugin = is_plugin(__builtin_return_address(0));
  ucs_status_t status = REAL(uct_md_query_tl_resources)(md, resources_p, count_p);
  uct_tl_resource_desc_t* list;
  unsigned i;
  unsigned kept = 0;

  if (status != UCS_OK || plugin) { return status; }
  list = *resources_p;
  for (i = 0; i < *count_p; ++i) {
    if (is_verity(md)) {
      memmove(list[i].tl_name, list[i].tl_name + 1, sizeof(list[i].tl_name) - 1);
    } else if (is_wrapped(list[i].tl_name)) {
      continue;
    }
    list[kept++] = list[i];
  }
  *count_p = kept;
  return UCS_OK;
}

/* The wrapped domains allocate no memory, and the tests skip transfers that are longer than what
 * the raw one of posix or sysv could allocate, whatever memory they use. */
ucs_status_t uct_md_query(uct_md_h md, uct_md_attr_t* attr) {
  ucs_status_t status = REAL(uct_md_query)(md, attr);
  if (status == UCS_OK && is_verity(md) && attr->cap.max_alloc == 0) {
    attr->cap.max_alloc = SIZE_MAX;
  }
  return status;
}

ucs_status_t uct_md_iface_config_read(uct_md_h md, const char* tl_name, const char* env_prefix,
                                      const char* filename, uct_iface_config_t** config_p) {
  char name[UCT_TL_NAME_MAX + 1];
  if (tl_name != NULL && is_verity(md) && !is_plugin(__builtin_return_address(0))) {
    snprintf(name, sizeof(name), "v%s", tl_name);
    tl_name = name;
  }
  return REAL(uct_md_iface_config_read)(md, tl_name, env_prefix, filename, config_p);
}

ucs_status_t uct_iface_open(uct_md_h md, uct_worker_h worker, const uct_iface_params_t* params,
                            const uct_iface_config_t* config, uct_iface_h* iface_p) {
  char name[UCT_TL_NAME_MAX + 1];
  uct_iface_params_t renamed = *params;
  if (is_verity(md) && !is_plugin(__builtin_return_address(0)) &&
      (params->field_mask & UCT_IFACE_PARAM_FIELD_OPEN_MODE) != 0 &&
      (params->open_mode & UCT_IFACE_OPEN_MODE_DEVICE) != 0) {
    snprintf(name, sizeof(name), "v%s", params->mode.device.tl_name);
    renamed.mode.device.tl_name = name;
  }
  return REAL(uct_iface_open)(md, worker, &renamed, config, iface_p);
}
