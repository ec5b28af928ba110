import Vocabulary

/// Gives a source's items out in order, a page at a time.
///
///     SourceInput (file, pipe, gzip, Zstandard) ─► TextLines, NDJSONLines, CSVItems, Sitemap ─► SourceItems
///
/// Blocks on the disk or the pipe and belongs to one thread. Memory: two pieces, one line, one page.
package final class SourceReader {
  /// What one reading needs to know.
  package struct Order: Sendable {
    /// Of the file to read; nil: standard input.
    package var path: String?
    /// The source's name in messages.
    package var shown: String
    /// What the ids of bad lines begin with: `sources[0]`.
    package var place: String
    /// Nil: its first bytes tell.
    package var format: SourceFormat?
    /// The names that its items may give.
    package var variants: Set<String>

    package init(
      path: String?, shown: String, place: String, format: SourceFormat?, variants: Set<String>
    ) {
      self.path = path
      self.shown = shown
      self.place = place
      self.format = format
      self.variants = variants
    }
  }

  private let order: Order
  private let input: SourceInput
  private let items: SourceItems
  private var parser: (any SourceParser)?
  private var isAtEnd = false
  /// Thrown when the items before it were given out.
  private var failure: SourceFailure?
  private(set) package var format: SourceFormat?

  /// - Parameter isCancelled: asked now and then; then `next` throws.
  package init(
    _ order: Order, isCancelled: @escaping @Sendable () -> Bool = { false }
  ) throws(SourceFailure) {
    self.order = order
    format = order.format
    input = try SourceInput(path: order.path, shown: order.shown, isCancelled: isCancelled)
    items = SourceItems(shown: order.shown, place: order.place, variants: order.variants)
  }

  /// Of a regular file, before its first byte was read; nil of a pipe.
  package var identity: ManifestFile.Identity? { input.identity }
  /// Lines so far that were no items.
  package var badLines: Int { items.badLines }
  /// The sitemaps that it lists, where it is an index and was read to its end.
  package var children: [(url: ItemURL, line: Int)] {
    ((parser as? Sitemap)?.children ?? []).map { ($0.url, $0.line) }
  }

  /// Of its bytes as they are; once, after the last page.
  package func digest() -> Digest { input.digest() }

  /// - Parameter most: 1 or more.
  /// - Returns: the next items, fewer than `most` at the end and where a pipe has paused; none at the end.
  /// - Throws: where it cannot be read on. What was given out before was right.
  package func next(atMost most: Int) throws(SourceFailure) -> SourcePage {
    do throws(SourceFailure) {
      while items.items.count < most, !isAtEnd, failure == nil {
        if items.items.count > 0, input.hasPaused { break }
        try step()
      }
    } catch {
      failure = error
    }
    if let failure, items.items.count == 0 { throw failure }
    return items.takeFirst(most)
  }

  private func step() throws(SourceFailure) {
    let piece = try input.next()
    do throws(SourceFault) {
      if parser == nil {
        try begin(with: piece)
      } else if piece.isEmpty {
        try parser?.finish()
      } else {
        try parser?.feed(piece)
      }
    } catch {
      throw SourceFailure(order.shown, line: error.line, error.reason)
    }
    isAtEnd = piece.isEmpty
  }

  /// An empty source is rather one that somebody failed to write than one without pictures.
  private func begin(with first: UnsafeRawBufferPointer) throws(SourceFault) {
    if first.isEmpty { throw SourceFault(reason: "is empty") }
    let hasMark = first.starts(with: [0xEF, 0xBB, 0xBF])
    let text = UnsafeRawBufferPointer(rebasing: first[(hasMark ? 3 : 0)...])
    let format = format ?? SourceFormat(beginning: text)
    self.format = format
    let isUTF16 = first.starts(with: [0xFF, 0xFE]) || first.starts(with: [0xFE, 0xFF])
    // XML says itself what it is written in.
    if format != .sitemap {
      if isUTF16 { throw SourceFault(reason: "is UTF-16: save it as UTF-8") }
      if text.prefix(4096).contains(0) { throw SourceFault(reason: "is no text") }
      let start = text.first { !$0.isBlank }
      if start == UInt8(ascii: "<") {
        throw SourceFault(reason: "is a web page or XML, and no list of URLs")
      }
      // Nobody means so many bad lines.
      if format != .csv, start == UInt8(ascii: "[") {
        throw SourceFault(
          reason: "is a JSON array: write an item on each line, as jq -c '.[]' does")
      }
    }
    let parser = makeParser(format)
    self.parser = parser
    try parser.feed(format == .sitemap ? first : text)
  }

  private func makeParser(_ format: SourceFormat) -> any SourceParser {
    switch format {
    case .ndjson: NDJSONLines(into: items)
    case .csv: CSVItems(into: items)
    case .text: TextLines(into: items)
    case .sitemap: Sitemap(into: items)
    }
  }
}
