#pragma once

#include <sys/timex.h>

/// Returns 1 if the system clock is synchronised (adjtimex(2)), 0 if not, -1 with errno on failure. Changes nothing.
static inline int clock_is_synchronised(void) {
    struct timex state = {.modes = 0};
    if (adjtimex(&state) < 0) return -1;
    return (state.status & STA_UNSYNC) == 0;
}
