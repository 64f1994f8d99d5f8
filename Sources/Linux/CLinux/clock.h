#pragma once

#include <sys/timex.h>

/// Whether a program keeps the system's time (adjtimex(2)): 1 or 0, or -1 where the kernel may not be asked. Changes nothing.
static inline int clock_is_synchronised(void) {
    struct timex state = {.modes = 0};
    if (adjtimex(&state) < 0) return -1;
    return (state.status & STA_UNSYNC) == 0;
}
