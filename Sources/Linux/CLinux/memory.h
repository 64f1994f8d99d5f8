#pragma once

#include <malloc.h>
#include <sys/prctl.h>

/// Disables huge pages: otherwise a thread's stack may take 2 MB instead of 4 kB (prctl(2)).
static inline int memory_without_huge_pages(void) { return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

/// Makes glibc overwrite freed heap blocks (M_PERTURB of mallopt(3)).
static inline int memory_overwrite_freed(void) { return mallopt(M_PERTURB, 0x5a); }
