import Vocabulary

/// Everything in a response's fields that its lifetime rests on, found in one pass without a copy.
///
/// Dates are read when they are asked for: most responses have three and need none.
struct CachingFields {
  /// Where a field stands that may stand only once.
  fileprivate enum Place {
    case nowhere
    case line(Int)
    case several
  }

  /// The date of such a field.
  enum SingleDate: Equatable {
    case absent
    case at(Int64)
    /// No HTTP date, or lines that differ.
    case invalid
  }

  private let fields: HTTPFields
  /// When the response came: RFC 850's two-digit years are near it.
  private let reference: Timestamp

  private(set) var cacheControl = CacheControl()
  private(set) var variesByStar = false
  private(set) var hasValidators = false
  /// Seconds, 0 to 2³¹; nil where there is no usable Age.
  private(set) var age: Int64?
  private var isAgeRead = false
  private var datePlace = Place.nowhere
  private var expiresPlace = Place.nowhere
  private var lastModifiedPlace = Place.nowhere

  init(_ fields: HTTPFields, near reference: Timestamp) {
    self.fields = fields
    self.reference = reference
    for i in fields.lines.indices {
      add(fields.lines[i].name.utf8.span, fields.lines[i].value.utf8.span, at: i)
    }
  }

  private mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>, at line: Int) {
    let whole = 0..<name.count
    switch name.count {
    case 3 where name.isNamed("age", in: whole): addAge(value)
    case 4 where name.isNamed("date", in: whole): datePlace.add(line)
    case 4 where name.isNamed("etag", in: whole): hasValidators = hasValidators || !value.isEmpty
    case 4 where name.isNamed("vary", in: whole): variesByStar = variesByStar || varyHasStar(value)
    case 7 where name.isNamed("expires", in: whole): expiresPlace.add(line)
    case 13 where name.isNamed("cache-control", in: whole): cacheControl.add(value)
    case 13 where name.isNamed("last-modified", in: whole):
      hasValidators = hasValidators || !value.isEmpty
      lastModifiedPlace.add(line)
    default: break
    }
  }

  /// The first member of the first line that has one counts (RFC 9111 §5.1).
  private mutating func addAge(_ value: Span<UInt8>) {
    guard !isAgeRead else { return }
    var start = 0
    while start < value.count {
      let end = value.next(UInt8(ascii: ","), from: start)
      let member = value.trimmed(start..<end)
      if !member.isEmpty {
        age = value.deltaSeconds(in: member)
        isAgeRead = true
        return
      }
      start = end + 1
    }
  }
}

extension CachingFields {
  /// Milliseconds; nil where there is no usable Date.
  var date: Int64? { read(datePlace, "Date").milliseconds }

  var expires: SingleDate { read(expiresPlace, "Expires") }

  /// Milliseconds; nil where there is no usable Last-Modified.
  var lastModified: Int64? { read(lastModifiedPlace, "Last-Modified").milliseconds }

  private func read(_ place: Place, _ name: String) -> SingleDate {
    switch place {
    case .nowhere: return .absent
    case .line(let i): return read(fields.lines[i].value)
    case .several:
      let dates = fields[name].map(read)
      return dates.allSatisfy { $0 == dates[0] } ? dates[0] : .invalid
    }
  }

  private func read(_ text: String) -> SingleDate {
    guard let time = parseHTTPDate(text, near: reference) else { return .invalid }
    return .at(time.milliseconds)
  }
}

extension CachingFields.SingleDate {
  fileprivate var milliseconds: Int64? { if case .at(let time) = self { time } else { nil } }
}

extension CachingFields.Place {
  fileprivate mutating func add(_ line: Int) {
    if case .nowhere = self { self = .line(line) } else { self = .several }
  }
}
