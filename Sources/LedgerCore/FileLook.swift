import Vocabulary

/// Of which entries the files are looked for, the original's and those of its variants.
///
/// What the ledger names was durable before, so its word is taken for nearly all. To look for each file would
/// cost more than what the ledger does for a confirmed picture, and where there are so many that the kernel
/// does not keep their inodes, each look would read the disk. What is lost behind the ledger's back shows in
/// the sample.
package enum FileLook: Sendable, Hashable {
  case all
  /// One entry in eight, drawn anew in each run, whatever was drawn before.
  case sample

  package func takes(_ entry: EntryKey, in run: RunNumber) -> Bool {
    guard self == .sample else { return true }
    // Another draw in each process; a run has but one.
    var lot = Hasher()
    lot.combine(entry)
    lot.combine(run.value)
    return lot.finalize() & 7 == 0
  }
}
