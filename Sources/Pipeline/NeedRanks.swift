import LedgerCore
import Vocabulary

/// How much is needed how little: which entries to let go first, in memory that does not grow with them.
///
/// Three classes, one after the other: what no item needs, what a job needs and is due for another look
/// anyway, what a job needs and is fresh. Within a class by the hour that it was last seen in.
struct NeedRanks {
  struct Rank: Hashable, Comparable {
    /// 0: no item needs it. 1: it is due. 2: it is fresh.
    var need: Int
    /// Since 1970, of the last word of its origin; of what is not needed, of the last need.
    var hour: Int64

    static func < (a: Rank, b: Rank) -> Bool { (a.need, a.hour) < (b.need, b.hour) }

    init(_ entry: EntryOverview, at now: Timestamp) {
      let isDue = entry.dueAt.map { $0 <= now } ?? true
      need = entry.jobs.isEmpty ? 0 : isDue ? 1 : 2
      let time = (entry.jobs.isEmpty ? entry.unneededSince : nil) ?? entry.lastSeen ?? now
      hour = time.milliseconds / 3_600_000
    }
  }

  private var holdings: [Rank: Excess] = [:]

  mutating func count(_ entry: EntryOverview, at now: Timestamp) {
    holdings[Rank(entry, at: now), default: Excess()] += Excess(entry)
  }

  /// The last rank that has to give something if the excess is to go; nil without any entries.
  func last(toCover excess: Excess) -> Rank? {
    var left = excess
    for (rank, held) in holdings.sorted(by: { $0.key < $1.key }) {
      left -= held
      if !left.isPositive { return rank }
    }
    return holdings.keys.max()
  }
}

/// What a store holds beyond its limits.
struct Excess {
  var bytes = 0
  var objects = 0

  init() {}

  /// - Parameter free: bytes of the file system; nil where it does not tell.
  init(bytes: Int, objects: Int, free: Int?, over rule: CollectionRule) {
    // Where there is no limit, nothing is beyond it.
    let overLimit = rule.maxBytes.map { bytes - $0 }
    let missing = rule.minFree.flatMap { floor in free.map { floor - $0 } }
    self.bytes = [overLimit, missing].compactMap(\.self).max() ?? 0
    self.objects = rule.maxCount.map { objects - $0 } ?? 0
  }

  /// What goes with an entry.
  init(_ entry: EntryOverview) {
    bytes = entry.bytes
    objects = entry.files
  }

  var isPositive: Bool { bytes > 0 || objects > 0 }

  static func += (sum: inout Excess, other: Excess) {
    sum.bytes += other.bytes
    sum.objects += other.objects
  }

  static func -= (sum: inout Excess, other: Excess) {
    sum.bytes -= other.bytes
    sum.objects -= other.objects
  }
}
