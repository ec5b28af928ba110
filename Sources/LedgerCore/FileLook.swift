import Vocabulary

/// Of which entries somebody looks whether their files are there: the original's, and those of variants, which
/// the ledger tells to whoever claims.
///
/// What the ledger names was durable before it did, so its word is taken for nearly all: to look for five files
/// costs a quarter of what a confirmed picture does, and much more where so many are there that each look
/// reads the disk. What is lost behind the ledger's back shows in the sample.
package enum FileLook: Sendable, Hashable {
  case all
  /// One entry in eight, others in each run: within any thirteen runs that follow each other, each entry.
  case sample

  package func takes(_ entry: EntryKey, in run: RunNumber) -> Bool {
    switch self {
    case .all: true
    case .sample: (entry.words.1 &+ UInt64(bitPattern: run.value) &* Self.step) >> 61 == 0
    }
  }

  /// The golden section of a turn: steps of it come to the same eighth again after 5, 8 or 13 of them, and
  /// they come to it also where an entry is due in each second or each eighth run only.
  private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15
}
