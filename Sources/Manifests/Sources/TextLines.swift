/// A URL on each line. Blank lines and those that begin with `#` are passed over.
final class TextLines: SourceParser {
  private let items: SourceItems
  private let lines = LineSplitter()
  private let raw = RawItem()

  init(into items: SourceItems) { self.items = items }

  func feed(_ piece: UnsafeRawBufferPointer) { lines.feed(piece, take) }

  func finish() { lines.finish(take) }

  private func take(_ line: UnsafeBufferPointer<UInt8>?) {
    items.line = lines.number
    guard let line else { return items.refuse(tooLong) }
    let text = line.trimmed
    guard let first = text.first, first != UInt8(ascii: "#") else { return }
    raw.clear()
    raw.url.append(text)
    raw.hasURL = true
    items.take(raw)
  }
}

let tooLong = "has over 1 MiB"
