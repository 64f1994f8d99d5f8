// openat2(2) of Linux 5.6, which the C libraries have no function for.
#pragma once

#include <stdint.h>
#include <unistd.h>

/// Opens a file as a process would whose root is this folder: neither `..` nor a symbolic link leads out of it. Returns -1
/// with errno, which is ENOSYS on an older kernel.
static inline int root_open(int folder, const char *path, int flags) {
    // `struct open_how` with RESOLVE_IN_ROOT (linux/openat2.h). The call has this number on every architecture.
    const struct {
        uint64_t flags, mode, resolve;
    } how = {(unsigned)flags, 0, 0x10};
    return (int)syscall(437, folder, path, &how, sizeof(how));
}
