import CSQLite
import LedgerCore
import Vocabulary

/// One value on its way into a statement.
enum SQLValue {
  case null
  case int(Int64)
  case text(String)
  case key(EntryKey)
  case digest(Digest)
  /// Not empty.
  case blob([UInt8])

  static func int(_ value: Int) -> SQLValue { .int(Int64(value)) }
  static func int(_ value: Int?) -> SQLValue { value.map { .int(Int64($0)) } ?? .null }
  static func int(_ value: Bool) -> SQLValue { .int(value ? 1 : 0) }
  static func time(_ value: Timestamp) -> SQLValue { .int(value.milliseconds) }
  static func time(_ value: Timestamp?) -> SQLValue { value.map { .int($0.milliseconds) } ?? .null }
  static func text(_ value: String?) -> SQLValue { value.map { .text($0) } ?? .null }
  static func digest(_ value: Digest?) -> SQLValue { value.map { .digest($0) } ?? .null }
}

/// A prepared statement. It belongs to its connection and never leaves its thread.
final class Statement {
  let handle: OpaquePointer

  init(handle: OpaquePointer) { self.handle = handle }

  deinit { sqlite3_finalize(handle) }

  /// Binds in order, from the first parameter on.
  func bind(_ values: [SQLValue]) {
    for (i, value) in values.enumerated() { bind(Int32(i + 1), value) }
  }

  func bind(_ index: Int32, _ value: SQLValue) {
    switch value {
    case .null: sqlite3_bind_null(handle, index)
    case .int(let number): sqlite3_bind_int64(handle, index, number)
    case .text(let text): bind(index, text)
    case .key(let key):
      let words = (key.words.0.bigEndian, key.words.1.bigEndian)
      _ = withUnsafeBytes(of: words) { tw_sqlite_bind_blob(handle, index, $0.baseAddress, 16) }
    case .blob(let bytes):
      _ = bytes.withUnsafeBytes {
        tw_sqlite_bind_blob(handle, index, $0.baseAddress, Int32($0.count))
      }
    case .digest(let digest):
      let w = digest.words
      let words = (w.0.bigEndian, w.1.bigEndian, w.2.bigEndian, w.3.bigEndian)
      _ = withUnsafeBytes(of: words) { tw_sqlite_bind_blob(handle, index, $0.baseAddress, 32) }
    }
  }

  func bind(_ index: Int32, _ text: String) {
    var text = text
    text.withUTF8 { bytes in
      // An empty buffer may have no address, which SQLite would read as NULL.
      _ = bytes.withMemoryRebound(to: CChar.self) {
        tw_sqlite_bind_text(handle, index, $0.baseAddress ?? emptyText, Int32($0.count))
      }
    }
  }

  /// SQLITE_ROW, SQLITE_DONE or an error.
  func step() -> CInt { sqlite3_step(handle) }

  func reset() { sqlite3_reset(handle) }
}

// Never written, lives for ever: a valid address of no characters.
private nonisolated(unsafe) let emptyText: UnsafePointer<CChar> = {
  let byte = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
  byte.initialize(to: 0)
  return UnsafePointer(byte)
}()

/// The row on which a statement stands; valid until its next step.
struct Row {
  let handle: OpaquePointer

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

  func int(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
  func count(_ column: Int32) -> Int { Int(int(column)) }
  func time(_ column: Int32) -> Timestamp { Timestamp(milliseconds: int(column)) }

  /// What stands in the columns from there on: numbers and bytes.
  func values(from column: Int32) -> [SQLValue] {
    (column..<max(column, sqlite3_column_count(handle))).map { column in
      switch sqlite3_column_type(handle, column) {
      case SQLITE_INTEGER: .int(int(column))
      case SQLITE_BLOB: .blob(Array(blob(column)))
      default: .null
      }
    }
  }

  func publicationKey(_ column: Int32) -> PublicationKey? {
    isNull(column) ? nil : PublicationKey(rawValue: int(column))
  }

  func optionalCount(_ column: Int32) -> Int? { isNull(column) ? nil : count(column) }
  func optionalTime(_ column: Int32) -> Timestamp? { isNull(column) ? nil : time(column) }

  func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
    let start = sqlite3_column_text(handle, column)
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
  }

  func text(_ column: Int32) -> String { String(decoding: utf8(column), as: UTF8.self) }
  func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

  /// Empty for NULL; valid until the next step.
  func blob(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(handle, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
  }

  /// Nil for NULL; the schema's CHECKs admit no other length than 16.
  func key(_ column: Int32) -> EntryKey? {
    let bytes = blob(column)
    guard bytes.count == 16 else { return nil }
    return EntryKey(
      UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
  }

  /// Nil for NULL; the schema's CHECKs admit no other length than 32.
  func digest(_ column: Int32) -> Digest? { Digest(bytes: blob(column)) }
}
