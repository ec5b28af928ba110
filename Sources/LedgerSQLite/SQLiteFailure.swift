import CSQLite
import Glibc
import LedgerCore

/// What SQLite's result codes mean to whoever uses the ledger.
///
/// - Parameter waited: how long a lock was waited for.
/// - Source: https://www.sqlite.org/rescode.html
func ledgerFailure(
  _ code: CInt, handle: OpaquePointer?, path: String, waited: Duration = .zero
) -> LedgerFailure {
  // Read before any other call changes them.
  let words = String(cString: handle.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code))
  let systemError = handle.map { sqlite3_system_errno($0) } ?? 0
  switch code & 0xFF {
  case SQLITE_BUSY, SQLITE_LOCKED: return .busy(path: path, waited: waited)
  case SQLITE_FULL: return .diskFull(path: path)
  case SQLITE_NOTADB, SQLITE_CORRUPT: return .damaged(path: path, reason: words)
  case SQLITE_READONLY where code == movedWhileOpen: return .moved(path: path)
  case SQLITE_READONLY: return .readOnly(path: path)
  case SQLITE_IOERR where systemError == ENOSPC || systemError == EDQUOT:
    return .diskFull(path: path)
  case SQLITE_IOERR where systemError == EROFS: return .readOnly(path: path)
  case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
    return .unreadable(path: path, reason: systemError == 0 ? words : text(of: systemError))
  case SQLITE_IOERR where systemError != 0:
    return .other(path: path, reason: "\(words): \(text(of: systemError))")
  default: return .other(path: path, reason: words)
  }
}

/// SQLITE_READONLY_DBMOVED, which is a macro of shifts that Swift does not import.
private let movedWhileOpen: CInt = 8 | 4 << 8

func text(of systemError: CInt) -> String { String(cString: strerror(systemError)) }
