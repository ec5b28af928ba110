import CVips
import Synchronization
import Vocabulary

/// Formats whose loaders are too rarely tried on strangers' bytes to be there unasked: a decoder has
/// them only where a job's `limits.formats` names them.
enum OptionalFormats {
  /// libvips' classes of loaders. BMP's is ours.
  private static let loaders: [ImageFormat: String] = [
    .svg: "VipsForeignLoadSvg", .pdf: "VipsForeignLoadPdf", .jp2: "VipsForeignLoadJp2k",
  ]

  private static let opened = Mutex<Set<ImageFormat>>([])

  /// Once, after everything was blocked.
  static func open(_ formats: Set<ImageFormat>) {
    for (format, loader) in loaders {
      vips_operation_block_set(loader, formats.contains(format) ? 0 : 1)
    }
    opened.withLock { $0 = formats }
  }

  static func isOpen(_ format: ImageFormat) -> Bool {
    loaders[format] == nil || opened.withLock { $0.contains(format) }
  }

  /// libvips' operations that must be refused now.
  static var closedLoaders: [String] {
    // Not PDF's: it reads before libvips asks whether it may.
    [ImageFormat.svg, .jp2].filter { !isOpen($0) }.map(\.loader)
  }

  /// A file of each format that is open, for the warm-up; with text, whose fonts are found at first
  /// use.
  static func samples() throws(VipsFailure) -> [[UInt8]] {
    var files: [[UInt8]] = []
    if isOpen(.svg), Abilities.reads.contains(.svg) { files.append(Array(svg.utf8)) }
    if isOpen(.pdf), Abilities.reads.contains(.pdf) { files.append(Array(pdf.utf8)) }
    if isOpen(.jp2), Abilities.reads.contains(.jp2), Abilities.has("jp2ksave_buffer") {
      let black = try vips("black", ["width": .int(64), "height": .int(48), "bands": .int(3)])
      files.append(try vips("jp2ksave_buffer", ["in": .picture(black)], read: { $0.bytes() }))
    }
    return files
  }

  /// Fonts are those of the usual families: text in another is drawn in none.
  private static let svg = """
    <svg xmlns="http://www.w3.org/2000/svg" width="64" height="48">\
    <filter id="b"><feGaussianBlur stdDeviation="2"/></filter>\
    <rect width="32" height="48" fill="red" filter="url(#b)"/>\
    <text y="9">abc</text>\
    \(["serif", "sans-serif", "Arial"].map { """
      <g font-family="\($0)"><text y="9">abc</text><text y="9" font-weight="bold">abc</text>\
      <text y="9" font-style="italic">abc</text></g>
      """ }.joined())\
    <text y="9" font-family="monospace">abc</text></svg>
    """

  private static let pdf = """
    %PDF-1.4
    1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
    2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
    3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 64 48] /Contents 4 0 R /Resources \
    <</Font <</F1 5 0 R /F2 6 0 R>>>>>> endobj
    4 0 obj <</Length 60>> stream
    BT /F1 12 Tf 4 8 Td (abc) Tj /F2 12 Tf 0 16 Td (abc) Tj ET  
    endstream endobj
    5 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj
    6 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Times-Roman>> endobj
    trailer <</Root 1 0 R>>

    """
}
