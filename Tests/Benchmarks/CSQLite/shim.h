// SQLite (Debian: libsqlite3-dev), which the key file is measured against, and what of it Swift cannot reach.
//
// Beside it, the C library's account of its heap (mallinfo2(3)), which Swift's Glibc module leaves out.
#pragma once

#include <malloc.h>
#include <sqlite3.h>

/// Binds a copy of `count` bytes.
static inline int sqlite_bind_copy(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/// Has closing leave the write-ahead log as it is: what a power cut leaves, too.
static inline int sqlite_keep_log_on_close(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
