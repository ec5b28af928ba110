import HTTPCaching
import Hashing
import Vocabulary

/// The beginning of a body whose connection was lost, kept so that the rest can be asked for.
///
/// Its bytes are in the sink and in the running hash; both go on when the rest comes.
// Unchecked: it goes from the transfer thread to the task of its fetch and back to that thread with the
// next exchange. Between the two ends only the constants are read; the hash is fed on that thread.
package final class PartialBody: @unchecked Sendable {
  package let sink: any BodySink
  let hash: SHA256
  /// So many are there.
  package let bytes: Int
  let firstBytes: [UInt8]
  /// Of the whole; nil where its beginning did not say.
  package let total: Int?
  /// `ETag` or `Last-Modified`: what the rest has to carry as well.
  let validator: HTTPFields.Line
  /// Of the response that brought the beginning.
  package let fields: HTTPFields

  /// Less is asked for anew: that costs little, and the rest is one more thing that may go wrong.
  package static let minBytes = 256 << 10

  init(
    sink: any BodySink, hash: SHA256, bytes: Int, firstBytes: [UInt8], total: Int?,
    validator: HTTPFields.Line, fields: HTTPFields
  ) {
    self.sink = sink
    self.hash = hash
    self.bytes = bytes
    self.firstBytes = firstBytes
    self.total = total
    self.validator = validator
    self.fields = fields
  }

  /// What to ask with: the rest if nothing has changed, and the whole otherwise (RFC 9110 §13.1.5).
  package var requestFields: [HTTPFields.Line] {
    [
      .init(name: "Range", value: "bytes=\(bytes)-"),
      .init(name: "If-Range", value: validator.value),
    ]
  }

  /// The bytes of a whole that a 206 completes; what it says otherwise is thrown.
  ///
  /// - Throws: `TransferFault.unusableRest`.
  func total(completedBy fields: HTTPFields, _ frame: BodyFrame) throws(TransferFault) -> Int {
    guard let text = fields.singleton("Content-Range"), let range = ContentRange(text) else {
      throw .unusableRest("it says not which bytes it brings")
    }
    guard range.first == bytes, range.last == range.total - 1 else {
      throw .unusableRest(
        "bytes \(range.first) to \(range.last) of \(range.total) came instead of those from \(bytes)"
      )
    }
    guard total == nil || total == range.total else {
      throw .unusableRest("the whole has \(range.total) bytes now")
    }
    guard fields.singleton(validator.name) == validator.value else {
      throw .unusableRest("its \(validator.name) is another")
    }
    guard frame.coding == nil else { throw .unusableRest("it is encoded") }
    guard frame.length == nil || frame.length == range.total - bytes else {
      throw .unusableRest("its length contradicts its range")
    }
    return range.total
  }
}

/// `bytes 500-999/1000` (RFC 9110 §14.4), with the total given.
struct ContentRange: Equatable {
  let first: Int
  let last: Int
  let total: Int

  init?(_ text: String) {
    let words = text.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, ends.count == 2, let first = Self.number(ends[0]),
      let last = Self.number(ends[1]), let total = Self.number(parts[1]), first <= last,
      last < total
    else { return nil }
    self.first = first
    self.last = last
    self.total = total
  }

  private static func number(_ text: Substring) -> Int? {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }
}
