// ioctl(2) requests of raw flash (linux/mtd) and block devices, whose numbers Swift cannot compute. All return -1 with
// errno on failure.
#pragma once

#include <linux/fs.h>
#include <linux/major.h>
#include <mtd/mtd-user.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

static inline int flash_get_info(int device, struct mtd_info_user *info) { return ioctl(device, MEMGETINFO, info); }

/// Erases erase blocks. `start` and `length` are bytes, multiples of the erase block.
static inline int flash_erase(int device, unsigned start, unsigned length) {
    struct erase_info_user range = {.start = start, .length = length};
    return ioctl(device, MEMERASE, &range);
}

/// Returns 1 if the erase block at byte `offset` is marked bad, else 0.
static inline int flash_is_bad(int device, long long offset) {
    __kernel_loff_t start = offset;
    return ioctl(device, MEMGETBADBLOCK, &start);
}

/// Sets `*is_read_only` to 1 or 0.
static inline int block_get_read_only(int device, int *is_read_only) { return ioctl(device, BLKROGET, is_read_only); }
