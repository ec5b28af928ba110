/// The keys met so far in each open object of an item's `meta`: none may stand twice.
struct MetaKeys {
  private var hashes: [Int] = []
  /// For each open array or object: where its keys begin in `hashes`.
  private var open: [(start: Int, isObject: Bool)] = []

  /// Whether the innermost one is an object, in which a key precedes each value.
  var isInObject: Bool { open.last?.isObject ?? false }

  mutating func open(isObject: Bool) { open.append((hashes.count, isObject)) }

  mutating func close() {
    guard let closed = open.popLast() else { return }
    hashes.removeLast(hashes.count - closed.start)
  }

  /// - Returns: false for a key that the object has already.
  mutating func insert(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
    var hasher = Hasher()
    hasher.combine(bytes: UnsafeRawBufferPointer(key))
    let hash = hasher.finalize()
    guard !hashes[(open.last?.start ?? 0)...].contains(hash) else { return false }
    hashes.append(hash)
    return true
  }
}
