// SQLite (Debian: libsqlite3-dev), against which the key file is measured, and its functions that Swift cannot call.
//
// Also the C library's heap statistics (mallinfo2(3)), which Swift's Glibc module leaves out.
#pragma once

#include <malloc.h>
#include <sqlite3.h>

/// Binds a copy of `count` bytes.
static inline int sqlite_bind_copy(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/// Keeps the write-ahead log when the database is closed, as a power cut does.
static inline int sqlite_keep_log_on_close(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
