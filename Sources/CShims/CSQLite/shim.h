// SQLite.
#pragma once
#include <sqlite3.h>

// Swift cannot import SQLITE_TRANSIENT, a cast of -1 to a function pointer: the bytes are copied.
static inline int tw_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int length) {
  return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}

// As above, for bytes.
static inline int tw_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int length) {
  return sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}

// sqlite3_config is variadic, and Swift cannot import it. Without its statistics SQLite need not lock a
// mutex at each allocation.
static inline int tw_sqlite_keep_no_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// sqlite3_db_config is variadic as well. The last connection that closes leaves the WAL as it is.
static inline int tw_sqlite_leave_wal(sqlite3 *connection) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
