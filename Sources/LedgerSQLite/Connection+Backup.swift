import Glibc
import LedgerCore

extension Connection {
  /// A consistent copy of the whole file, without gaps.
  ///
  /// It reads one state of the ledger from its start to its end; until then the WAL is not emptied.
  func backup(to file: String) throws(LedgerFailure) {
    let part = file + ".part"
    guard access(file, F_OK) != 0 else {
      throw .unwritable(path: file, reason: "something stands there already")
    }
    // What an earlier backup has left that was killed. Before SQLite opens it, for the mode.
    unlink(part)
    let descriptor = open(part, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.backupFailure(errno, file) }
    defer {
      close(descriptor)
      unlink(part)
    }
    try execute("VACUUM INTO '\(part.replacing("'", with: "''"))'")
    // Never over a file that has come meanwhile.
    guard fsync(descriptor) == 0, link(part, file) == 0 else {
      throw Self.backupFailure(errno, file)
    }
  }

  private static func backupFailure(_ code: Int32, _ file: String) -> LedgerFailure {
    switch code {
    case ENOSPC, EDQUOT: .diskFull(path: file)
    default: .unwritable(path: file, reason: String(cString: strerror(code)))
    }
  }
}
