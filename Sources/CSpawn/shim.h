#pragma once

#include <spawn.h>

// glibc 2.34 and later. Its header shows it with _GNU_SOURCE only, which Swift's Glibc module is not built with.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);

#include <linux/close_range.h>
#include <sys/prctl.h>

// The C library declares it with _GNU_SOURCE only.
extern int close_range(unsigned, unsigned, int);

static inline int spawn_close_on_exec_from(unsigned first) { return close_range(first, ~0U, CLOSE_RANGE_CLOEXEC); }

/// Whatever is started from here on can gain no privileges, by a set-user-id file for one.
static inline int spawn_without_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
