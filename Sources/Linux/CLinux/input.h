// ioctl(2) requests for keys of input devices (Documentation/input/input.rst): macros that Swift cannot import. All
// return -1 with errno on failure.
#pragma once

#include <errno.h>
#include <linux/input.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/// Returns 1 if the device has the key, else 0.
static inline int input_has_key(int descriptor, unsigned code) {
    unsigned char bits[KEY_MAX / 8 + 1];
    if (code > KEY_MAX) return 0;
    memset(bits, 0, sizeof(bits));
    if (ioctl(descriptor, EVIOCGBIT(EV_KEY, sizeof(bits)), bits) < 0) return -1;
    return bits[code / 8] >> code % 8 & 1;
}

/// Switches the times of events to the monotonic clock.
static inline int input_use_monotonic_clock(int descriptor) {
    int clock = CLOCK_MONOTONIC;
    return ioctl(descriptor, EVIOCSCLOCKID, &clock);
}

/// Limits this descriptor to events of one key and the ends of reports, so that it gets no other keystrokes. Needs
/// Linux 4.4.
static inline int input_listen_to_key(int descriptor, unsigned code) {
    unsigned char keys[KEY_MAX / 8 + 1];
    memset(keys, 0, sizeof(keys));
    if (code > KEY_MAX) {
        errno = EINVAL;
        return -1;
    }
    keys[code / 8] = 1 << code % 8;
    struct input_mask mask = {.type = EV_KEY, .codes_size = sizeof(keys), .codes_ptr = (__u64)(unsigned long)keys};
    return ioctl(descriptor, EVIOCSMASK, &mask);
}

/// Opens a non-blocking descriptor that is readable after a file appears in the folder or its permissions change.
static inline int input_watch_folder(const char *path) {
    int descriptor = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (descriptor < 0) return -1;
    if (inotify_add_watch(descriptor, path, IN_CREATE | IN_ATTRIB | IN_ONLYDIR) >= 0) return descriptor;
    int failure = errno;
    close(descriptor);
    errno = failure;
    return -1;
}

struct input_key_event {
    /// Monotonic time in microseconds.
    long long time;
    /// 1: a key, 2: the kernel has dropped events, 3: the end of a report, 0: other.
    int kind;
    unsigned code;
    /// Key: 0 released, 1 pressed, 2 repeated. End of a report: 0 from the device, 1 from the kernel.
    int value;
};

/// - Returns: 1 with an event, 0 if none is pending.
static inline int input_read(int descriptor, struct input_key_event *event) {
    struct input_event raw;
    ssize_t count = read(descriptor, &raw, sizeof(raw));
    if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (count != sizeof(raw)) {
        errno = ENODEV;
        return -1;
    }
    event->time = (long long)raw.input_event_sec * 1000000 + raw.input_event_usec;
    event->kind = raw.type == EV_KEY                              ? 1
                  : raw.type == EV_SYN && raw.code == SYN_DROPPED ? 2
                  : raw.type == EV_SYN && raw.code == SYN_REPORT  ? 3
                                                                  : 0;
    event->code = raw.code;
    event->value = raw.value;
    return 1;
}
