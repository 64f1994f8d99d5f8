// Packet and raw sockets (packet(7), raw(7)), whose addresses and control messages Swift cannot import. All functions
// return -1 with errno on failure.
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/// Opens a socket that receives nothing until packet_bind(), so the filter is set before the first packet. Packets come
/// without the link's header.
static inline int packet_open(void) { return socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

/// Sets the filter program of `count` instructions. The socket receives only accepted packets.
static inline int packet_filter(int descriptor, const struct sock_filter *program, unsigned short count) {
    struct sock_fprog filter = {count, (struct sock_filter *)program};
    return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

/// Receives the packets of a protocol (`ETH_P_*`) at an interface.
static inline int packet_bind(int descriptor, unsigned short protocol, int index) {
    int on = 1;
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = index};
    if (setsockopt(descriptor, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) < 0) return -1;
    return bind(descriptor, (struct sockaddr *)&address, sizeof(address));
}

/// - Parameter hardware: six bytes.
static inline ssize_t packet_send(
    int descriptor, unsigned short protocol, int index, const void *hardware, const void *bytes, size_t count) {
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = index, .sll_halen = 6};
    memcpy(address.sll_addr, hardware, 6);
    return sendto(descriptor, bytes, count, 0, (struct sockaddr *)&address, sizeof(address));
}

/// Sets `*is_partial` to 1 if the checksum is not filled in yet (checksum offload), else to 0.
/// - Parameter sender: set to the sender's hardware address of six bytes; zeros if the link has none.
/// - Returns: length of the packet in bytes, which may exceed `size`.
static inline ssize_t packet_receive(int descriptor, void *buffer, size_t size, int *is_partial, void *sender) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
    } control;
    struct iovec part = {buffer, size};
    struct sockaddr_ll address = {0};
    struct msghdr message = {
        .msg_name = &address, .msg_namelen = sizeof(address), .msg_iov = &part, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof(control)};
    *is_partial = 0;
    ssize_t count = recvmsg(descriptor, &message, MSG_TRUNC);
    if (count < 0) return count;
    memset(sender, 0, 6);
    if (address.sll_halen == 6) memcpy(sender, address.sll_addr, 6);
    for (struct cmsghdr *entry = CMSG_FIRSTHDR(&message); entry; entry = CMSG_NXTHDR(&message, entry)) {
        struct tpacket_auxdata data;
        if (entry->cmsg_level != SOL_PACKET || entry->cmsg_type != PACKET_AUXDATA ||
            entry->cmsg_len < CMSG_LEN(sizeof(data)))
            continue;
        memcpy(&data, CMSG_DATA(entry), sizeof(data));
        *is_partial = (data.tp_status & TP_STATUS_CSUMNOTREADY) != 0;
    }
    return count;
}

/// Opens a send-only socket for complete IPv4 packets through one interface (raw(7), `IPPROTO_RAW`).
static inline int packet_open_sender(int index) {
    int descriptor = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
    if (descriptor < 0) return -1;
#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif
    if (setsockopt(descriptor, SOL_SOCKET, SO_BINDTOIFINDEX, &index, sizeof(index)) == 0) return descriptor;
    int failure = errno;
    close(descriptor);
    errno = failure;
    return -1;
}

/// - Parameter destination: four bytes.
static inline ssize_t packet_send_routed(int descriptor, const void *destination, const void *bytes, size_t count) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    memcpy(&address.sin_addr, destination, 4);
    return sendto(descriptor, bytes, count, 0, (struct sockaddr *)&address, sizeof(address));
}

/// Opens a socket that receives all Ethernet frames of one interface, without outgoing ones.
static inline int packet_open_frames(int index) {
    int descriptor = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif
    int on = 1, size = 4 << 20;
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = index};
    if (setsockopt(descriptor, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) == 0 &&
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) == 0 &&
        bind(descriptor, (struct sockaddr *)&address, sizeof(address)) == 0)
        return descriptor;
    int failure = errno;
    close(descriptor);
    errno = failure;
    return -1;
}
