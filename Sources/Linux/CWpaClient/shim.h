// libwpa_client: the client side of wpa_supplicant's control socket (Debian: libwpa-client-dev).
//
// Adds two functions of Linux that Swift cannot call, to detect at once that wpa_supplicant died: the sender of a
// datagram (unix(7), SCM_CREDENTIALS) and a descriptor that is readable when a process ends (pidfd_open(2)).
#pragma once

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wpa_ctrl.h>

// Declared only with _GNU_SOURCE, which the module's importer may not set.
#define WPA_CLIENT_SCM_CREDENTIALS 0x02
#define WPA_CLIENT_MSG_CMSG_CLOEXEC 0x40000000

/// Requests the sender's credentials with each datagram received on `socket`. Returns 0, or -1 with errno.
static inline int wpa_client_ask_for_senders(int socket) {
    int on = 1;
    return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
}

/// Receives one datagram without waiting. Sets `*sender` to the process ID of the sender; 0 if unknown (another PID
/// namespace). Returns the length of the datagram, which exceeds `capacity` if truncated, or -1 with errno.
static inline ssize_t wpa_client_receive(int socket, void *buffer, size_t capacity, int *sender) {
    struct {
        int pid;
        unsigned uid, gid;
    } credentials;
    union {
        struct cmsghdr alignment;
        char bytes[CMSG_SPACE(sizeof(credentials))];
    } control;
    struct iovec data = {.iov_base = buffer, .iov_len = capacity};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    *sender = 0;
    ssize_t length = recvmsg(socket, &message, MSG_DONTWAIT | MSG_TRUNC | WPA_CLIENT_MSG_CMSG_CLOEXEC);
    if (length < 0) return length;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == WPA_CLIENT_SCM_CREDENTIALS
        && header->cmsg_len >= CMSG_LEN(sizeof(credentials))) {
        memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
        *sender = credentials.pid;
    }
    return length;
}

/// Opens a descriptor that becomes readable when process `pid` ends. Returns -1 with errno without such a process or
/// before Linux 5.3.
static inline int wpa_client_watch_process(int pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
