/// Eight bytes for each id of a manifest, to find those that may stand in it twice.
///
/// Kept in 256 buckets by their first byte, in pages that are never moved: ten million ids take
/// 80 MB, and a bucket at a time is sorted.
final class IDFingerprints {
  private static let perPage = 512

  private struct Bucket {
    var pages: [UnsafeMutablePointer<UInt64>] = []
    var count = 0
  }

  private var buckets = [Bucket](repeating: Bucket(), count: 256)

  deinit {
    for bucket in buckets { for page in bucket.pages { page.deallocate() } }
  }

  static func fingerprint(_ id: UnsafeRawBufferPointer) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(bytes: id)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  func insert(_ fingerprint: UInt64) {
    let b = Int(fingerprint >> 56)
    let i = buckets[b].count % Self.perPage
    if i == 0 { buckets[b].pages.append(.allocate(capacity: Self.perPage)) }
    buckets[b].pages[buckets[b].pages.count - 1][i] = fingerprint
    buckets[b].count += 1
  }

  /// - Parameter most: how many different ones are kept.
  /// - Returns: those that were inserted more than once, and how many insertions of others than those
  ///   kept came after their first.
  func repeated(most: Int) -> (kept: Set<UInt64>, others: Int) {
    var kept: Set<UInt64> = []
    var others = 0
    for bucket in buckets {
      var all: [UInt64] = []
      all.reserveCapacity(bucket.count)
      for (p, page) in bucket.pages.enumerated() {
        let used = min(Self.perPage, bucket.count - p * Self.perPage)
        all.append(contentsOf: UnsafeBufferPointer(start: page, count: used))
      }
      all.sort()
      for i in all.indices.dropFirst() where all[i] == all[i - 1] {
        if kept.count < most || kept.contains(all[i]) { kept.insert(all[i]) } else { others += 1 }
      }
    }
    return (kept, others)
  }
}
