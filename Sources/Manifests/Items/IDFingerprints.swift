/// Eight bytes for each id of a manifest, to find those that may stand in it twice.
///
/// Kept in 256 buckets by their first byte, in pages that are never moved: ten million ids take
/// 80 MB, and a bucket at a time is sorted.
final class IDFingerprints {
  private static let perPage = 512

  private struct Bucket {
    /// The last one has room for more unless `count` is a multiple of `perPage`.
    var pages: [UnsafeMutablePointer<UInt64>] = []
    var count = 0
  }

  private let buckets: UnsafeMutableBufferPointer<Bucket>

  init() {
    buckets = .allocate(capacity: 256)
    buckets.initialize(repeating: Bucket())
  }

  deinit {
    for bucket in buckets { for page in bucket.pages { page.deallocate() } }
    buckets.deinitialize()
    buckets.deallocate()
  }

  static func fingerprint(_ id: UnsafeBufferPointer<UInt8>) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(bytes: UnsafeRawBufferPointer(id))
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  func insert(_ fingerprint: UInt64) {
    let bucket = buckets.baseAddress! + Int(fingerprint >> 56)
    let i = bucket.pointee.count % Self.perPage
    if i == 0 { bucket.pointee.pages.append(.allocate(capacity: Self.perPage)) }
    bucket.pointee.pages[bucket.pointee.pages.count - 1][i] = fingerprint
    bucket.pointee.count += 1
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
