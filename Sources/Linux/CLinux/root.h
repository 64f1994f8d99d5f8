// openat2(2) of Linux 5.6, which the C libraries do not wrap.
#pragma once

#include <stdint.h>
#include <unistd.h>

/// Opens a file with `folder` as the root: neither `..` nor a symbolic link leaves it. Returns -1 with errno on
/// failure, ENOSYS before Linux 5.6.
static inline int root_open(int folder, const char *path, int flags) {
    // `struct open_how` with RESOLVE_IN_ROOT (linux/openat2.h). The syscall number is equal on all architectures.
    const struct {
        uint64_t flags, mode, resolve;
    } how = {(unsigned)flags, 0, 0x10};
    return (int)syscall(437, folder, path, &how, sizeof(how));
}
