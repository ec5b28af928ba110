import CSQLite
import Glibc
import LedgerCore

// The WAL stays under 64 MiB, whatever readers do. What was committed since a reader began cannot be
// taken out of it: SQLite lets it grow as long as somebody reads. So from 40 MiB on nobody begins to write
// before all who read have ended; a transaction takes less than the rest.

extension Connection {
  /// Takes over from SQLite's own checkpoints, which never wait for a reader.
  func watchWAL() {
    sqlite3_wal_hook(
      handle,
      { context, _, _, pages in
        context!.assumingMemoryBound(to: CInt.self).pointee = pages
        return SQLITE_OK
      }, walPages)
  }

  /// Copies the WAL into the file every 16 MiB, without disturbing anybody. Unless somebody reads at that
  /// moment, the next transaction begins it anew.
  func keepWALSmall() {
    let pages = walPages.pointee
    if pages < walPagesAtLastCheckpoint { walPagesAtLastCheckpoint = 0 }
    guard pages - walPagesAtLastCheckpoint >= 4096, !hasMetDamage else { return }
    walPagesAtLastCheckpoint = pages
    // What was committed stays so; a checkpoint that fails is tried again by a later commit.
    _ = sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
  }

  private static let walLimit = 40 << 20
  /// So many times as long as for who writes it waits for who reads: a backup takes its time.
  private static let patienceWithReaders = 10

  /// To be asked under the write lock: nobody adds to it then. By the file's size, since others write it as
  /// well; it may be less full than that, and is cut then.
  var isWALWithinLimit: Bool {
    var about = stat()
    return stat(path + "-wal", &about) != 0 || about.st_size < Self.walLimit
  }

  /// Waits for readers to end and empties the WAL.
  func emptyWAL(since start: ContinuousClock.Instant) throws(LedgerFailure) {
    let patience = patience * Self.patienceWithReaders
    while true {
      let code = sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
      if code == SQLITE_OK { return }
      let waited = ContinuousClock.now - start
      guard code & 0xFF == SQLITE_BUSY || code & 0xFF == SQLITE_LOCKED else {
        throw failure(code)
      }
      guard waited < patience else { throw .readForTooLong(path: path, waited: waited) }
      usleep(5_000)  // this thread is ours to block
    }
  }
}
