/// What a JSON document consists of, in the order of its text.
///
/// A class to override rather than a protocol, because yajl's callbacks are C functions, which cannot
/// be generic. Each method says whether to read on; `stop` keeps why not. Bytes are lent for the
/// call, are UTF-8 as far as yajl checks it (overlong forms and surrogates pass), and have their
/// escapes resolved.
class JSONEvents {
  /// How many arrays and objects are open: 1 at a document's own object.
  final var depth = 0
  /// Why reading was ended before the document's end.
  final var stopReason: String?
  /// Counts events, so that the parser can tell a token that never ends.
  final var count = 0

  func null() -> Bool { true }
  func boolean(_ value: Bool) -> Bool { true }
  /// As it is written: no range is assumed.
  func number(_ text: UnsafeBufferPointer<UInt8>) -> Bool { true }
  func string(_ text: UnsafeBufferPointer<UInt8>) -> Bool { true }
  func openObject() -> Bool { true }
  func key(_ text: UnsafeBufferPointer<UInt8>) -> Bool { true }
  func closeObject() -> Bool { true }
  func openArray() -> Bool { true }
  func closeArray() -> Bool { true }

  final func stop(_ reason: String) -> Bool {
    stopReason = reason
    return false
  }
}

/// Bounds on a document, whoever wrote it.
enum JSONLimits {
  static let depth = 64
  static let stringBytes = 1 << 20
}
