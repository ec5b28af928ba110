import Vocabulary

extension HTTPFields {
  /// The lines that a later decision, or a person who asks why, may need: all that freshness and
  /// validation rest on, as received. Everything else, cookies above all, is dropped.
  package var worthStoring: HTTPFields {
    HTTPFields(lines.filter(\.isWorthStoring))
  }
}

extension HTTPFields.Line {
  fileprivate var isWorthStoring: Bool {
    keptNames.contains { isNamed($0) } || isTargetedCacheControl
  }

  /// `CDN-Cache-Control` and its kin (RFC 9213): a job may name any of them later.
  private var isTargetedCacheControl: Bool {
    let ending = "-cache-control"
    let bytes = name.utf8
    return bytes.count > ending.utf8.count
      && bytes.suffix(ending.utf8.count).elementsEqual(ending.utf8) { $0.asciiLowercased == $1 }
  }
}

private let keptNames = [
  "Cache-Control", "Expires", "Date", "Age", "Last-Modified", "ETag", "Vary", "Content-Type",
  "Content-Encoding", "Location", "Pragma",
]
