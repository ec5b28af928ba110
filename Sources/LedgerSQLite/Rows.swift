import HTTPCaching
import LedgerCore
import Vocabulary

// How values lie in columns, and how they are read back.

extension FailureRecord {
  /// In the order code, message, hint, disposition.
  var columns: [SQLValue] {
    [.text(code), .text(message), .text(hint), .int(disposition.stored)]
  }

  static let noColumns: [SQLValue] = [.null, .null, .null, .null]
}

extension Disposition {
  fileprivate var stored: Int64 {
    switch self {
    case .retry(nil): 0
    case .retry(let notBefore?): max(1, notBefore.milliseconds)
    case .giveUp: -1
    case .stopRun: -2
    }
  }

  fileprivate init(stored: Int64) {
    switch stored {
    case -1: self = .giveUp
    case -2: self = .stopRun
    case 1...: self = .retry(notBefore: Timestamp(milliseconds: stored))
    default: self = .retry(notBefore: nil)
    }
  }
}

extension Row {
  /// Columns code, message, hint, disposition; nil where the first is NULL.
  func failure(from column: Int32) -> FailureRecord? {
    guard let code = optionalText(column) else { return nil }
    return FailureRecord(
      code: code, message: text(column + 1), hint: text(column + 2),
      disposition: disposition(column + 3))
  }

  /// Of a column that is not NULL.
  func disposition(_ column: Int32) -> Disposition { Disposition(stored: int(column)) }
}

extension HTTPFields {
  /// A `name:value` line each. Neither holds a line break in HTTP; one that does loses it.
  var stored: String {
    let length = lines.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 2 }
    return String(unsafeUninitializedCapacity: length) { text in
      var end = 0
      func append(_ byte: UInt8) {
        text[end] = byte
        end += 1
      }
      for line in lines {
        if end > 0 { append(UInt8(ascii: "\n")) }
        for byte in line.name.utf8 { append(byte.orBlankForLineBreak) }
        append(UInt8(ascii: ":"))
        for byte in line.value.utf8 { append(byte.orBlankForLineBreak) }
      }
      return end
    }
  }

  /// - Parameter stored: as `stored` writes it.
  init(stored: UnsafeBufferPointer<UInt8>) {
    self.init()
    lines.reserveCapacity(stored.count { $0 == UInt8(ascii: "\n") } + 1)
    var rest = stored[...]
    while !rest.isEmpty {
      let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
      let line = rest[..<end]
      let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? end
      lines.append(
        Line(
          name: String(decoding: line[..<colon], as: UTF8.self),
          value: String(decoding: line[colon...].dropFirst(), as: UTF8.self)))
      rest = rest[end...].dropFirst()
    }
  }
}

extension UInt8 {
  fileprivate var orBlankForLineBreak: UInt8 { self == 0x0A || self == 0x0D ? 0x20 : self }
}

/// Which of a job's variants an item wants, in one column.
enum VariantNames {
  /// Names hold no comma.
  static func stored(_ names: [String]?) -> String? { names?.joined(separator: ",") }

  static func read(_ text: String?) -> [String]? {
    text.map { $0.split(separator: ",").map(String.init) }
  }
}

extension Entry {
  /// All columns of `entries`, in their order.
  var columns: [SQLValue] {
    [
      .key(key), .text(url.unredactedText), .int(response?.status),
      .text(response?.fields.stored), .text(response?.varyValues.stored),
      .time(response?.requestTime), .time(response?.responseTime),
      .text(redirectTarget?.unredactedText), .digest(original?.digest), .int(original?.bytes),
      .text(original?.format?.rawValue), .int(original?.width), .int(original?.height),
      .time(validatedAt),
    ] + (failure?.failure.columns ?? FailureRecord.noColumns) + [
      .int(failure?.status), .time(failure?.at), .int(failure?.count), .time(failure?.nextTry),
      failure.map { .int($0.isServersWord) } ?? .null, .time(failure?.since),
      .text(lastAnswer?.rawValue), .time(failure?.missingSince),
      .text(original?.placeholder?.color.description),
      original?.placeholder.map { .blob($0.thumbHash) } ?? .null,
      original.flatMap { $0.warnings.isEmpty ? nil : .text($0.warnings.joined(separator: "\n")) }
        ?? .null,
    ]
  }
}

extension Row {
  /// All columns of `entries` in their order; nil where the URL is none that this program knows.
  func entry(from column: Int32 = 0) -> Entry? {
    guard let key = key(column), let url = try? ItemURL(text(column + 1)) else { return nil }
    var entry = Entry(key: key, url: url)
    entry.response = response(from: column + 2)
    entry.redirectTarget = optionalText(column + 7).flatMap { try? ItemURL($0) }
    entry.original = original(from: column + 8)
    entry.original?.placeholder = placeholder(from: column + 26)
    entry.original?.warnings =
      optionalText(column + 28)?.split(separator: "\n").map(String.init) ?? []
    entry.validatedAt = optionalTime(column + 13)
    entry.failure = failure(from: column + 14).map { failure in
      EntryFailure(
        failure: failure, status: optionalCount(column + 18), at: time(column + 19),
        count: count(column + 20), nextTry: time(column + 21),
        isServersWord: int(column + 22) == 1, since: time(column + 23),
        missingSince: optionalTime(column + 25))
    }
    entry.lastAnswer = optionalText(column + 24).flatMap(LastAnswer.init(rawValue:))
    return entry
  }

  private func placeholder(from column: Int32) -> Placeholder? {
    guard let color = optionalText(column).flatMap({ VariantSpec.Color($0) }) else { return nil }
    return Placeholder(color: color, thumbHash: Array(blob(column + 1)))
  }

  private func response(from column: Int32) -> StoredResponse? {
    guard let status = optionalCount(column) else { return nil }
    return StoredResponse(
      status: status, fields: HTTPFields(stored: utf8(column + 1)),
      requestTime: time(column + 3), responseTime: time(column + 4),
      varyValues: HTTPFields(stored: utf8(column + 2)))
  }

  private func original(from column: Int32) -> Original? {
    guard let digest = digest(column) else { return nil }
    return Original(
      digest: digest, bytes: count(column + 1),
      format: optionalText(column + 2).flatMap(ImageFormat.init(rawValue:)),
      width: optionalCount(column + 3), height: optionalCount(column + 4))
  }
}

extension VariantRecord {
  /// All columns of `variants`, in their order.
  var columns: [SQLValue] {
    let key: [SQLValue] = [.digest(original), .key(recipe.key)]
    switch state {
    case .made(let made):
      return key + [
        .digest(made.digest), .int(made.bytes), .text(made.format.rawValue), .int(made.width),
        .int(made.height),
      ] + FailureRecord.noColumns + [.int(made.isCapped)]
    case .failed(let failure):
      return key + [.null, .null, .null, .null, .null] + failure.columns + [.int(false)]
    }
  }
}

extension Row {
  /// All columns of `variants`, in their order; nil where the format is none that we know.
  func variant() -> VariantRecord? {
    guard let original = digest(0), let recipe = recipe(1) else { return nil }
    if let failure = failure(from: 7) {
      return VariantRecord(original: original, recipe: recipe, state: .failed(failure))
    }
    guard let digest = digest(2), let format = ImageFormat(rawValue: text(4)) else { return nil }
    return VariantRecord(
      original: original, recipe: recipe,
      state: .made(
        StoredVariant(
          digest: digest, bytes: count(3), format: format, width: count(5), height: count(6),
          isCapped: int(11) == 1)))
  }
}

extension Row {
  /// Nil for NULL.
  func recipe(_ column: Int32) -> RecipeKey? { key(column).flatMap { RecipeKey(bytes: $0.bytes) } }
}
