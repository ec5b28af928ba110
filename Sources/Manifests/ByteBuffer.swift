/// Bytes that come and go, in memory that stays: what is appended and cleared a million times costs
/// neither allocations nor reference counts.
final class ByteBuffer {
  private var start: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  private(set) var count = 0

  init(capacity: Int = 256) {
    self.capacity = capacity
    start = .allocate(capacity: capacity)
  }

  deinit { start.deallocate() }

  /// Lent until the next change.
  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }

  func clear() { count = 0 }

  func append(_ more: UnsafeBufferPointer<UInt8>) {
    guard let source = more.baseAddress else { return }
    makeRoom(for: more.count)
    (start + count).initialize(from: source, count: more.count)
    count += more.count
  }

  func append(_ byte: UInt8) {
    makeRoom(for: 1)
    start[count] = byte
    count += 1
  }

  private func makeRoom(for more: Int) {
    guard count + more > capacity else { return }
    capacity = max(capacity * 2, count + more)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    larger.initialize(from: start, count: count)
    start.deallocate()
    start = larger
  }
}

extension UnsafeBufferPointer<UInt8> {
  var isASCII: Bool {
    let raw = UnsafeRawBufferPointer(self)
    var i = 0
    var bits: UInt64 = 0
    while i + 8 <= count {
      bits |= raw.loadUnaligned(fromByteOffset: i, as: UInt64.self)
      i += 8
    }
    while i < count {
      bits |= UInt64(self[i])
      i += 1
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }

  /// Whether it is UTF-8 in RFC 3629's strict sense; yajl lets overlong forms and surrogates pass.
  var isStrictUTF8: Bool { isASCII || String(validating: self, as: UTF8.self) != nil }

  func isEqual(to text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    for i in 0..<count where self[i] != text.utf8Start[i] { return false }
    return true
  }
}
