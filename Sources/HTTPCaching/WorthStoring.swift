import Vocabulary

extension HTTPFields {
  /// The lines that a later decision, or a person who asks why, may need: all that freshness and
  /// validation rest on, as received. Everything else, cookies above all, is dropped.
  package var worthStoring: HTTPFields {
    HTTPFields(lines.filter(\.isWorthStoring))
  }
}

extension HTTPFields.Line {
  var isWorthStoring: Bool {
    let bytes = name.utf8.span
    let whole = 0..<bytes.count
    switch bytes.count {
    case 3: return bytes.isNamed("age", in: whole)
    case 4:
      return bytes.isNamed("date", in: whole) || bytes.isNamed("etag", in: whole)
        || bytes.isNamed("vary", in: whole)
    case 6: return bytes.isNamed("pragma", in: whole)
    case 7: return bytes.isNamed("expires", in: whole)
    case 8: return bytes.isNamed("location", in: whole)
    case 12: return bytes.isNamed("content-type", in: whole)
    case 13:
      return bytes.isNamed("cache-control", in: whole) || bytes.isNamed("last-modified", in: whole)
    case 16 where bytes.isNamed("content-encoding", in: whole): return true
    // `CDN-Cache-Control` and its kin (RFC 9213): a job may name any of them later.
    case 15...: return bytes.isNamed("-cache-control", in: bytes.count - 14..<bytes.count)
    default: return false
    }
  }
}
