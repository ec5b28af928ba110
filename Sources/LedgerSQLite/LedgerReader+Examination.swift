import Glibc
import LedgerCore
import Vocabulary

/// What a ledger's file is like, for whoever asks whether it can be used.
package struct LedgerExamination: Sendable, Hashable {
  /// Of its schema; 0: nothing was written to it yet.
  package var version: Int
  /// The one that this program writes; an older one is brought to it by the next run.
  package var newestVersion: Int
  /// What is wrong with its pages, in SQLite's words; nil where nothing is.
  package var fault: String?
  /// When a run last ended, by the clock of that time.
  package var lastRun: Timestamp?
}

extension LedgerReader {
  /// Looks at every page, which takes as long as reading the file does. Nothing is changed.
  func examine(patience: Duration) throws(LedgerFailure) -> LedgerExamination {
    let connection = try Connection.openForExamination(path: path, patience: patience)
    let version = try connection.checkedVersion()
    let words = try connection.all("PRAGMA quick_check(3)") { $0.text(0) }
    let lastRun =
      version == 0
      ? nil : try connection.first("SELECT max(last_run) FROM jobs") { $0.optionalTime(0) } ?? nil
    return LedgerExamination(
      version: version, newestVersion: Schema.version,
      fault: words == ["ok"] ? nil : words.joined(separator: "; "), lastRun: lastRun)
  }
}

extension Connection {
  /// Of any version, and also where its folder cannot be written.
  fileprivate static func openForExamination(
    path: String, patience: Duration
  ) throws(LedgerFailure) -> Connection {
    do throws(LedgerFailure) {
      let connection = try Connection(path: path, access: .readOnly, patience: patience)
      _ = try connection.checkedVersion()
      return connection
    } catch {
      guard case .unreadable = error, access(path, R_OK) == 0, access(path + "-wal", F_OK) != 0
      else { throw error }
      return try Connection(path: path, access: .immutable, patience: patience)
    }
  }
}

extension LedgerSQLite {
  /// Whether a file is a ledger, of which version and whole.
  package static func examine(
    path: String, patience: Duration = .seconds(10)
  ) async throws(LedgerFailure) -> LedgerExamination {
    try await LedgerReader(path: path).examine(patience: patience)
  }
}
