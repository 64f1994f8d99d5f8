#pragma once

#include <malloc.h>
#include <sys/prctl.h>

/// The kernel gives this process no page of 2 MB where it needs one of 4 kB, as for the stack of a thread (prctl(2)).
static inline int memory_without_huge_pages(void) { return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

/// glibc overwrites each block of the heap as it is given back (M_PERTURB of mallopt(3)).
static inline int memory_overwrite_freed(void) { return mallopt(M_PERTURB, 0x5a); }
