#pragma once

#include <spawn.h>

// glibc 2.34 and later. Its header shows it with _GNU_SOURCE only, which Swift's Glibc module is not built with.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
