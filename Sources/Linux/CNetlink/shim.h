// libnl-3 and libnl-genl-3, and the kernel's own constants for what is spoken through them.
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
