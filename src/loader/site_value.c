/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A setting as a site's policy leaves it, for the preload, which can have no more than libc: the
 * plugin reads the same files by src/policy, where their form is described. A file whose lines are
 * not of that form, or that cannot be trusted, is not used here either; which variables and values
 * there are, the plugin alone knows.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv */
#endif
#include "site_value.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kMostBytes = 65536 }; /* of a file, as in policy.h */

/* What the site says of one variable. */
struct entry {
  char value[VERITY_SITE_VALUE_SIZE];
  int is_set;
  int is_locked;
};

static char* trim(char* text) {
  char* end;

  text += strspn(text, " \t\r");
  for (end = text + strlen(text); end > text && strchr(" \t\r", end[-1]) != NULL; --end) {}
  *end = '\0';
  return text;
}

static int is_name(const char* name) {
  static const char prefix[] = "UCX_VERITY_";
  const char* rest = name + sizeof(prefix) - 1;

  return strncmp(name, prefix, sizeof(prefix) - 1) == 0 && rest[0] != '\0' &&
         rest[strspn(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == '\0';
}

static int starts_with(const char* line, const char* keyword) {
  const size_t length = strlen(keyword);

  return strncmp(line, keyword, length) == 0 && (line[length] == ' ' || line[length] == '\t');
}

/* Reads one line, without blanks at its ends, into the entry if it is about this variable. False
 * where it is no line of a policy. */
static int read_line(char* line, const char* name, struct entry* entry) {
  char* equals = strchr(line, '=');
  const char* value;
  const int locks = starts_with(line, "lock");
  const int limits = starts_with(line, "limit"); /* of variables that are not for this library */

  if (line[0] == '\0' || line[0] == '#') { return 1; }
  if (equals == NULL) { return 0; }
  *equals = '\0';
  line = trim(line + (locks ? 4 : limits ? 5 : 0));
  value = trim(equals + 1);
  if (!is_name(line) || strlen(value) >= sizeof(entry->value)) { return 0; }
  if (limits || strcmp(line, name) != 0) { return 1; }
  if (entry->is_set) { return 0; } /* twice */
  entry->is_set = 1;
  entry->is_locked = locks;
  memcpy(entry->value, value, strlen(value) + 1);
  return 1;
}

/* The account that installs software, or root where a user namespace gives it another number. */
static int owns_folder_of(const char* path, uid_t user) {
  const char* slash = strrchr(path, '/');
  char folder[PATH_MAX];
  struct stat found;

  (void)snprintf(folder, sizeof(folder), "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1,
                 slash == NULL ? "." : path);
  return stat(folder, &found) == 0 && found.st_uid == user;
}

/* Fills `text` and ends it; false where there is no such file, or none to be trusted. */
static int read_file(const char* path, char* text) {
  /* Not waiting for a writer, should it be a FIFO. */
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat file;
  ssize_t got = -1;
  size_t length = 0;

  if (fd < 0) { return 0; }
  if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
      (file.st_uid == 0 || file.st_uid == geteuid() || owns_folder_of(path, file.st_uid)) &&
      (file.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
    while ((got = read(fd, text + length, kMostBytes + 1 - length)) > 0 ||
           (got < 0 && errno == EINTR)) {
      if (got > 0) { length += (size_t)got; }
    }
  }
  (void)close(fd);
  text[length] = '\0';
  return got == 0 && length <= kMostBytes && strlen(text) == length;
}

/* What the file says goes over the entry, unless the file is not to be used. */
static void read_policy(const char* path, const char* name, char* text, struct entry* entry) {
  struct entry found = {"", 0, 0};
  char* rest = text;
  char* line;

  if (!read_file(path, text)) { return; }
  while ((line = strsep(&rest, "\n")) != NULL) {
    if (!read_line(trim(line), name, &found)) { return; }
  }
  if (found.is_set) { *entry = found; }
}

/* The policy beside the installation: above the plugin's folder, where UCX is given one, else
 * beside this library. */
static const char* installation_file(char* path, size_t size) {
  const char* folder = secure_getenv("UCX_MODULE_DIR");
  size_t length;
  Dl_info info;

  if (folder == NULL || folder[0] == '\0') {
    if (dladdr((const void*)&trim, &info) == 0 || info.dli_fname == NULL) { return NULL; }
    folder = info.dli_fname;
  }
  length = strlen(folder);
  while (length > 0 && folder[length - 1] == '/') { --length; }
  if (length == 0 || length >= size) { return NULL; }
  if (folder[length - 1] == '.') { /* . or .. */
    return snprintf(path, size, "%.*s/../ucx-verity.conf", (int)length, folder) < (int)size ? path
                                                                                            : NULL;
  }
  while (length > 0 && folder[length - 1] != '/') { --length; }
  return snprintf(path, size, "%.*sucx-verity.conf", (int)length, folder) < (int)size ? path : NULL;
}

const char* verity_site_value(const char* name, char value[VERITY_SITE_VALUE_SIZE]) {
  const char* set = secure_getenv(name);
  char* text = malloc(kMostBytes + 2);
  struct entry entry = {"", 0, 0};
  char path[PATH_MAX];

  if (text != NULL) {
    if (installation_file(path, sizeof(path)) != NULL) { read_policy(path, name, text, &entry); }
    read_policy(VERITY_SYSCONFDIR "/ucx-verity.conf", name, text, &entry);
    free(text);
  }
  if (set != NULL && !entry.is_locked) { return set; }
  memcpy(value, entry.value, sizeof(entry.value));
  return value;
}
