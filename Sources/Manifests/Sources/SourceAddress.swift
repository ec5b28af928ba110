import Vocabulary

/// Where the bytes of one of a manifest's `sources` are.
package struct SourceAddress: Sendable, Hashable {
  package enum Location: Sendable, Hashable {
    /// An absolute path.
    case file(String)
    case standardInput
    case web(ItemURL)
  }

  package let location: Location
  /// Fit for logs and reports: as the manifest has it, secrets removed.
  package let shown: String

  /// By what the ledger knows it: an absolute path, `-`, or a URL with every secret.
  package var text: String {
    switch location {
    case .file(let path): path
    case .standardInput: "-"
    case .web(let url): url.unredactedText
    }
  }

  package var url: ItemURL? {
    if case .web(let url) = location { url } else { nil }
  }

  /// - Parameter text: as `text` was; nil for what never was one.
  package init?(recorded text: String) {
    guard let address = try? SourceAddress(text, folder: "/") else { return nil }
    self = address
  }

  /// Whether a text in a manifest's place is rather a source: by its name's extension, or since it is a
  /// URL or standard input.
  package static func isLikely(_ text: String) -> Bool {
    text == "-" || scheme(of: text) != nil
      || SourceFormat(name: String(text.split(separator: "/").last ?? "")) != nil
  }

  package init(_ url: ItemURL) {
    location = .web(url)
    shown = url.description
  }

  /// - Parameter folder: what paths are relative to.
  /// - Throws: what is wrong with it, as a sentence without its place.
  init(_ text: String, folder: String) throws(SourceAddressFault) {
    if text == "-" {
      (location, shown) = (.standardInput, "standard input")
      return
    }
    guard let scheme = Self.scheme(of: text) else {
      guard !text.isEmpty, !text.utf8.contains(0) else {
        throw SourceAddressFault(message: "must be a path, a URL or \"-\"")
      }
      (location, shown) = (.file(FilePaths.absolute(text, from: folder)), Shown.plain(text))
      return
    }
    guard scheme == "http" || scheme == "https" else {
      throw SourceAddressFault(
        message: "\"\(scheme):\" is no kind of source: write a path, an http or https URL, or \"-\""
      )
    }
    do {
      self = SourceAddress(try ItemURL(text))
    } catch {
      let unusable = UnusableURL(text, reason: error)
      throw SourceAddressFault(message: "\(unusable.shown): \(unusable.failure.message)")
    }
  }

  /// What stands before `://`, in lower case.
  private static func scheme(of text: String) -> String? {
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://"),
      text[..<colon].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
    else { return nil }
    return text[..<colon].lowercased()
  }
}

struct SourceAddressFault: Error {
  let message: String
}
