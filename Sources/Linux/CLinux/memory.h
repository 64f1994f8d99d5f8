#pragma once

#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/// The kernel gives this process no page of 2 MB where it needs one of 4 kB, as for the stack of a thread (prctl(2)).
static inline int memory_without_huge_pages(void) { return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

/// Gives whole pages back that lie between what is used of the heap, and behind it (malloc_trim(3)).
static inline void memory_give_back_heap(void) { malloc_trim(0); }

/// glibc overwrites each block of the heap as it is given back (M_PERTURB of mallopt(3)).
static inline int memory_overwrite_freed(void) { return mallopt(M_PERTURB, 0x5a); }

/// Unmaps the program's instructions and constants, which the kernel maps again where they are used (MADV_DONTNEED of madvise(2),
/// on the segments that are not written to).
/// - Returns: 0, or -1 with errno.
static inline int memory_unmap_program(void) {
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    const unsigned long count = getauxval(AT_PHNUM);
    const uintptr_t page = (uintptr_t)getauxval(AT_PAGESZ);
    uintptr_t base = 0;
    int result = -1;
    for (unsigned long i = 0; i < count; i++) {
        if (headers[i].p_type != PT_PHDR) continue;
        base = (uintptr_t)headers - headers[i].p_vaddr;
        result = 0;
    }
    // Where it does not say where it is, nothing is done.
    if (result != 0) return result;
    for (unsigned long i = 0; i < count; i++) {
        if (headers[i].p_type != PT_LOAD || (headers[i].p_flags & PF_W)) continue;
        const uintptr_t start = (base + headers[i].p_vaddr) & ~(page - 1);
        const uintptr_t end = (base + headers[i].p_vaddr + headers[i].p_memsz + page - 1) & ~(page - 1);
        if (madvise((void *)start, end - start, MADV_DONTNEED) != 0) result = -1;
    }
    return result;
}
