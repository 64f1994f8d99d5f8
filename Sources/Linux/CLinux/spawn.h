#pragma once

#include <spawn.h>

// In glibc 2.34 and later, declared only with _GNU_SOURCE, which Swift's Glibc module is built without.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);

#include <errno.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

// Declared only with _GNU_SOURCE.
extern int close_range(unsigned, unsigned, int);

static inline int spawn_close_on_exec_from(unsigned first) { return close_range(first, ~0U, CLOSE_RANGE_CLOEXEC); }

/// Programs started from now on cannot gain privileges, such as through set-user-ID files.
static inline int spawn_without_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

/// Makes orphaned descendants children of this process.
static inline int spawn_adopt_orphans(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

#if defined(__x86_64__)
#define SPAWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SPAWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__arm__)
#define SPAWN_ARCHITECTURE AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define SPAWN_ARCHITECTURE AUDIT_ARCH_RISCV64
#endif

/// Keeps programs started from now on in this process group, so that a signal to the group reaches all of them.
/// setsid(2) and setpgid(2) fail with EPERM (seccomp(2)). Programs of another architecture are killed: their syscall
/// numbers differ. Needs spawn_without_new_privileges(). Returns -1 with errno, ENOSYS on unsupported architectures.
static inline int spawn_stay_in_process_group(void) {
#ifdef SPAWN_ARCHITECTURE
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SPAWN_ARCHITECTURE, 0, 6),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        // Syscall numbers of x32 (x86_64 with 32-bit pointers).
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsid, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setpgid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {sizeof(instructions) / sizeof(instructions[0]), instructions};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
#else
    errno = ENOSYS;
    return -1;
#endif
}
