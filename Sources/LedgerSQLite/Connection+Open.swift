import CSQLite
import Glibc
import LedgerCore

extension Connection {
  /// The writing connection: makes the file where there is none, brings it to the newest schema.
  static func openForWriting(
    path: String, patience: Duration
  ) throws(LedgerFailure) -> Connection {
    try createIfAbsent(path)
    let connection = try Connection(path: path, access: .readWrite, patience: patience)
    guard !connection.isReadOnly else { throw .readOnly(path: path) }
    // Before anything is set: what is no ledger of ours stays as it is.
    _ = try connection.checkedVersion()
    try connection.useWAL()
    try connection.execute(
      """
      PRAGMA synchronous = NORMAL;
      PRAGMA journal_size_limit = 67108864;
      PRAGMA cache_size = -16384;
      PRAGMA temp_store = MEMORY;
      PRAGMA trusted_schema = OFF;
      """)
    connection.watchWAL()
    try connection.migrate()
    try connection.execute(Claiming.view)
    return connection
  }

  /// The reading connection to a ledger that exists.
  static func openForReading(
    path: String, patience: Duration
  ) throws(LedgerFailure) -> Connection {
    guard access(path, F_OK) == 0 else {
      throw .unreadable(
        path: path, reason: Glibc.errno == ENOENT ? "no such file" : text(of: errno))
    }
    let connection = try connectionForReading(path, patience)
    try connection.execute(
      "PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;")
    return connection
  }

  private static func connectionForReading(
    _ path: String, _ patience: Duration
  ) throws(LedgerFailure) -> Connection {
    do throws(LedgerFailure) {
      let connection = try Connection(path: path, access: .readOnly, patience: patience)
      try connection.checkReadable()
      return connection
    } catch {
      // The folder cannot be written, so SQLite cannot make the WAL's index. Without a WAL nobody
      // writes either, and the file can be read as it is.
      guard case .unreadable = error, access(path, R_OK) == 0, access(path + "-wal", F_OK) != 0
      else { throw error }
      let connection = try Connection(path: path, access: .immutable, patience: patience)
      try connection.checkReadable()
      return connection
    }
  }

  private func checkReadable() throws(LedgerFailure) {
    let version = try checkedVersion()
    guard version != 0 else {
      throw .unreadable(path: path, reason: "nothing was written to it yet")
    }
    guard version == Schema.version else {
      throw .older(path: path, version: version, supported: Schema.version)
    }
  }

  /// With a mode that lets nobody else read: it holds URLs with their secrets. SQLite gives its WAL
  /// the same mode.
  private static func createIfAbsent(_ path: String) throws(LedgerFailure) {
    let file = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    if file >= 0 {
      Glibc.close(file)
      return
    }
    // An existing file is not opened here: closing it would drop locks that this process holds on it.
    switch errno {
    case EEXIST: return
    case EROFS, EACCES, EPERM: throw .readOnly(path: path)
    case ENOSPC, EDQUOT: throw .diskFull(path: path)
    case let other: throw .unreadable(path: path, reason: text(of: other))
    }
  }

  /// Changing the mode needs the file for itself for a moment, and does not wait for it.
  private func useWAL() throws(LedgerFailure) {
    let start = ContinuousClock.now
    while true {
      do throws(LedgerFailure) {
        let mode = try first("PRAGMA journal_mode = WAL") { $0.text(0) }
        guard mode == "wal" else {
          throw .other(path: path, reason: "its file system does not support a WAL")
        }
        return
      } catch {
        guard case .busy = error, ContinuousClock.now - start < patience else { throw error }
        usleep(5_000)  // this thread is ours to block
      }
    }
  }
}
