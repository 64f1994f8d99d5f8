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
