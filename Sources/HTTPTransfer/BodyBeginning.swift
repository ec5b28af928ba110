import HTTPCaching
import Hashing
import Vocabulary

/// So much of a body has come as it should, and its rest could be asked for: what a sink may keep, so that
/// a later process does.
package struct BodyBeginning: Sendable {
  package let bytes: Int
  /// SHA-256 of those bytes, which the sink has been given.
  package let digest: Digest
  /// What the rest is asked with, and what the whole will say of itself.
  package let record: PartialRecord
}

/// What makes a body's beginning more than bytes: everything that a `PartialBody` needs beside them.
package struct PartialRecord: Sendable, Hashable {
  /// `ETag` or `Last-Modified`: strong.
  let validator: HTTPFields.Line
  /// Of the whole; nil where its beginning did not say.
  let total: Int?
  let firstBytes: [UInt8]
  /// Of the response that brought the beginning.
  package let fields: HTTPFields

  /// Lines of text, each value as its bytes on the wire:
  ///
  ///     validator ETag: "v1"
  ///     total 600000
  ///     first-bytes ffd8ffe0
  ///     field Content-Type: image/jpeg
  package var bytes: [UInt8] {
    var out: [UInt8] = []
    func line(_ word: String, _ field: HTTPFields.Line) {
      out += "\(word) \(field.name): ".utf8
      out += field.value.fieldBytes ?? []
      out.append(UInt8(ascii: "\n"))
    }
    line("validator", validator)
    if let total { out += "total \(total)\n".utf8 }
    out +=
      "first-bytes \(firstBytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())\n"
      .utf8
    for field in fields.lines { line("field", field) }
    return out
  }

  init(validator: HTTPFields.Line, total: Int?, firstBytes: [UInt8], fields: HTTPFields) {
    self.validator = validator
    self.total = total
    self.firstBytes = firstBytes
    self.fields = fields
  }

  /// - Returns: nil for what is no record, or one of another version.
  package init?(bytes: [UInt8]) {
    var validator: HTTPFields.Line?
    var total: Int?
    var firstBytes: [UInt8] = []
    var fields: [HTTPFields.Line] = []
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let blank = line.firstIndex(of: 0x20) else { return nil }
      let value = line[(blank + 1)...]
      switch String(decoding: line[..<blank], as: UTF8.self) {
      case "validator": validator = HTTPFields.Line(record: value)
      case "total": total = Int(String(decoding: value, as: UTF8.self))
      case "first-bytes": firstBytes = value.hexDecoded
      case "field":
        guard let field = HTTPFields.Line(record: value) else { return nil }
        fields.append(field)
      default: return nil
      }
    }
    guard let validator else { return nil }
    self.init(
      validator: validator, total: total, firstBytes: firstBytes, fields: HTTPFields(fields))
  }
}

extension HTTPFields.Line {
  /// - Parameter bytes: `Name: value`.
  fileprivate init?(record bytes: ArraySlice<UInt8>) {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon + 2 <= bytes.endIndex else {
      return nil
    }
    self.init(
      name: String(decoding: bytes[..<colon], as: UTF8.self),
      value: String(fieldBytes: bytes[(colon + 2)...]))
  }
}

extension ArraySlice<UInt8> {
  fileprivate var hexDecoded: [UInt8] {
    let digits = Array(self)
    return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
      UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
    }
  }
}

extension PartialBody {
  /// A beginning that an earlier process left.
  ///
  /// - Parameters:
  ///   - sink: holds `bytes` bytes and takes those that follow.
  ///   - hash: was fed those bytes, and belongs to this from now on.
  package convenience init(
    record: PartialRecord, sink: any BodySink, hash: SHA256, bytes: Int
  ) {
    self.init(
      sink: sink, hash: hash, bytes: bytes, firstBytes: record.firstBytes, total: record.total,
      validator: record.validator, fields: record.fields)
  }

  var record: PartialRecord {
    PartialRecord(validator: validator, total: total, firstBytes: firstBytes, fields: fields)
  }

  /// Lets the sink keep what is there, up to the last byte, for a later process. To be called when no
  /// exchange goes on with it.
  package func keep() {
    sink.note(BodyBeginning(bytes: bytes, digest: hash.digestSoFar(), record: record))
    sink.keep()
  }
}

extension Transfer {
  /// Bodies from here on are noted before they break off, in case this process does not live to see it:
  /// that costs a small file, and the rest of a smaller one is soon asked for anew.
  static let notedTotal = 1 << 20
  /// Between two notes: so much is lost at most.
  static let noteInterval = 1 << 20

  /// When the body has to be looked at first.
  var firstNote: Int {
    if let continued { return continued.bytes + Self.noteInterval }
    return decoder == nil && declaredLength ?? .max >= Self.notedTotal ? PartialBody.minBytes : .max
  }

  /// The body has reached `notesAt`.
  func noteBeginning() {
    let fields = continued?.fields ?? HTTPFields(head.lines)
    guard report.bodyBytes < declaredLength ?? .max, let validator = restValidator(of: fields)
    else {
      notesAt = .max
      return
    }
    notesAt = report.bodyBytes + Self.noteInterval
    let record = PartialRecord(
      validator: validator, total: declaredLength, firstBytes: report.firstBytes, fields: fields)
    sink?.note(
      BodyBeginning(bytes: report.bodyBytes, digest: hash.digestSoFar(), record: record))
  }

  /// What the rest would be asked with; nil where it cannot be.
  func restValidator(of fields: HTTPFields) -> HTTPFields.Line? {
    if let continued { return continued.validator }
    guard let responseTime = report.responseTime,
      fields.singleton("Accept-Ranges")?.lowercased() != "none"
    else { return nil }
    return fields.rangeValidator(near: responseTime)
  }
}
