// libnl-3, libnl-genl-3, and the kernel's constants for the netlink protocols.
#pragma once

#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/ip.h>
#include <linux/mptcp.h>
#include <linux/netlink.h>
#include <linux/nl80211.h>
#include <linux/rtnetlink.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <string.h>
#include <sys/ioctl.h>

/// The index of an interface, by one request on a socket of any kind (netdevice(7)); 0 where there is none.
static inline int interface_index(int descriptor, const char *name) {
    // As struct ifreq, whose header would hide others of the C library's from Swift.
    struct { char name[16]; int index; char rest[20]; } request = {.index = 0};
    strncpy(request.name, name, sizeof(request.name) - 1);
    return ioctl(descriptor, SIOCGIFINDEX, &request) < 0 ? 0 : request.index;
}
