import Vocabulary

/// Everything in a response's fields that its lifetime rests on, read in one pass without a copy.
struct CachingFields {
  /// The date of a field that may stand only once.
  enum SingleDate: Equatable {
    case absent
    case at(Timestamp)
    /// No HTTP date, or lines that differ.
    case invalid

    fileprivate mutating func add(_ text: Span<UInt8>, near reference: Timestamp) {
      let other = parseHTTPDate(text, near: reference).map { SingleDate.at($0) } ?? .invalid
      self = self == .absent || self == other ? other : .invalid
    }

    var timestamp: Timestamp? { if case .at(let time) = self { time } else { nil } }
  }

  private(set) var cacheControl = CacheControl()
  private(set) var expires = SingleDate.absent
  private(set) var date = SingleDate.absent
  private(set) var lastModified = SingleDate.absent
  private(set) var variesByStar = false
  /// Seconds, 0 to 2³¹; nil where there is no usable Age.
  var age: Int64? { if case .seconds(let age) = ageField { age } else { nil } }
  private var ageField = AgeField.unread

  private enum AgeField {
    case unread
    case unusable
    case seconds(Int64)
  }

  /// - Parameter reference: when the response came; two-digit years are near it.
  init(_ fields: HTTPFields, near reference: Timestamp) {
    for i in fields.lines.indices {
      add(fields.lines[i].name.utf8.span, fields.lines[i].value.utf8.span, near: reference)
    }
  }

  private mutating func add(
    _ name: Span<UInt8>, _ value: Span<UInt8>, near reference: Timestamp
  ) {
    let whole = 0..<name.count
    switch name.count {
    case 3 where name.isNamed("age", in: whole): addAge(value)
    case 4 where name.isNamed("date", in: whole): date.add(value, near: reference)
    case 4 where name.isNamed("vary", in: whole): variesByStar = variesByStar || varyHasStar(value)
    case 7 where name.isNamed("expires", in: whole): expires.add(value, near: reference)
    case 13 where name.isNamed("cache-control", in: whole): cacheControl.add(value)
    case 13 where name.isNamed("last-modified", in: whole): lastModified.add(value, near: reference)
    default: break
    }
  }

  /// The first member of the first line that has one counts (RFC 9111 §5.1).
  private mutating func addAge(_ value: Span<UInt8>) {
    guard case .unread = ageField else { return }
    var start = 0
    while start < value.count {
      let end = value.next(UInt8(ascii: ","), from: start)
      let member = value.trimmed(start..<end)
      if !member.isEmpty {
        ageField = value.deltaSeconds(in: member).map { .seconds($0) } ?? .unusable
        return
      }
      start = end + 1
    }
  }
}
