import CExpat
import Vocabulary

/// The images of an XML sitemap, or the sitemaps that an index lists (sitemaps.org, with Google's
/// extension for images).
///
/// A document type is refused, so that there are no entities but XML's own five.
final class Sitemap: SourceParser {
  /// A sitemap that an index lists.
  struct Child { let url: ItemURL, line: Int }

  /// sitemaps.org: an index lists no more.
  static let mostChildren = 50_000
  private static let mostDepth = 64
  private static let mostURLBytes = 16 << 10

  private enum Element { case other, image, sitemap, location }

  private let items: SourceItems
  private let parser: XML_Parser
  private var open: [Element] = []
  private let text = ByteBuffer()
  private let raw = RawItem()
  private(set) var children: [Child] = []
  private var stopReason: String?
  /// Bytes fed since the last event: expat holds a tag until its end.
  private var quiet = 0

  init(into items: SourceItems) {
    self.items = items
    parser = XML_ParserCreateNS(nil, XML_Char(Self.separator))!
    XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    XML_SetElementHandler(
      parser,
      { context, name, _ in Sitemap.lend(context) { $0.start(Sitemap.localName(name!)) } },
      { context, _ in Sitemap.lend(context) { $0.end() } })
    XML_SetCharacterDataHandler(parser) { context, text, count in
      text!.withMemoryRebound(to: UInt8.self, capacity: Int(count)) { bytes in
        Sitemap.lend(context) {
          $0.characters(UnsafeBufferPointer(start: bytes, count: Int(count)))
        }
      }
    }
    XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in
      Sitemap.lend(context) { $0.stop("a sitemap has no document type") }
    }
  }

  deinit { XML_ParserFree(parser) }

  private static let separator = UInt8(ascii: "|")

  // MARK: Feeding

  func feed(_ piece: UnsafeRawBufferPointer) throws(SourceFault) {
    quiet += piece.count
    try parse(piece, isLast: false)
    guard quiet <= LineSplitter.mostBytes else { throw fault("a tag or a gap of over 1 MiB") }
  }

  func finish() throws(SourceFault) {
    try parse(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true)
  }

  private func parse(_ piece: UnsafeRawBufferPointer, isLast: Bool) throws(SourceFault) {
    let status = XML_Parse(
      parser, piece.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(piece.count),
      isLast ? 1 : 0)
    guard status != XML_STATUS_OK else { return }
    if let stopReason { throw fault(stopReason) }
    guard !isLast else { throw fault("not XML: the text ends too early") }
    throw fault("not XML: \(String(cString: XML_ErrorString(XML_GetErrorCode(parser))))")
  }

  private var line: Int { Int(XML_GetCurrentLineNumber(parser)) }

  private func fault(_ reason: String) -> SourceFault { SourceFault(line: line, reason: reason) }

  private func stop(_ reason: String) {
    if stopReason == nil { stopReason = reason }
    XML_StopParser(parser, XML_Bool(0))
  }

  // MARK: Elements

  private func start(_ name: UnsafeBufferPointer<UInt8>) {
    quiet = 0
    if open.isEmpty, !name.isEqual(to: "urlset"), !name.isEqual(to: "sitemapindex") {
      let shown = Shown.plain(String(decoding: name, as: UTF8.self))
      return stop("this is no sitemap: it begins with <\(shown)>")
    }
    guard open.count < Self.mostDepth else { return stop("elements over \(Self.mostDepth) deep") }
    if name.isEqual(to: "loc") {
      open.append(.location)
      items.line = line
      text.clear()
    } else {
      open.append(
        name.isEqual(to: "image") ? .image : name.isEqual(to: "sitemap") ? .sitemap : .other)
    }
  }

  private func characters(_ bytes: UnsafeBufferPointer<UInt8>) {
    quiet = 0
    guard open.last == .location, text.count <= Self.mostURLBytes else { return }
    text.append(bytes)
  }

  private func end() {
    quiet = 0
    guard open.popLast() == .location, let parent = open.last else { return }
    switch parent {
    case .image: takeImage()
    case .sitemap: takeChild()
    case .other, .location: break
    }
  }

  private func takeImage() {
    guard text.count <= Self.mostURLBytes else { return items.refuse("a URL of over 16 KiB") }
    raw.clear()
    let url = text.bytes.trimmed
    raw.hasURL = !url.isEmpty
    raw.url.append(url)
    items.take(raw)
  }

  private func takeChild() {
    guard children.count < Self.mostChildren else {
      return stop("an index of over \(Self.mostChildren) sitemaps")
    }
    let address = String(decoding: text.bytes.trimmed, as: UTF8.self)
    do {
      children.append(Child(url: try ItemURL(address), line: items.line))
    } catch {
      items.refuse("the sitemap's URL: \(UnusableURL(address, reason: error).failure.message)")
    }
  }

  // MARK: expat's calls

  /// Behind the namespace, if there is one: feeds write it in many ways.
  private static func localName(_ name: UnsafePointer<XML_Char>) -> UnsafeBufferPointer<UInt8> {
    var start = name
    var end = name
    while end.pointee != 0 {
      if UInt8(bitPattern: end.pointee) == separator { start = end + 1 }
      end += 1
    }
    return UnsafeBufferPointer(
      start: UnsafeRawPointer(start).assumingMemoryBound(to: UInt8.self), count: end - start)
  }

  /// The object behind the context pointer owns the parser, and so outlives its every call.
  private static func lend(_ context: UnsafeMutableRawPointer?, _ body: (Sitemap) -> Void) {
    Unmanaged<Sitemap>.fromOpaque(context!)._withUnsafeGuaranteedRef(body)
  }
}
