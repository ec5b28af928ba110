/// Which libvips makes variants, and which encoders: with other ones, equal recipes make other bytes.
package struct EncoderVersions: Sendable, Hashable {
  /// By what each format's bytes depend on, such as `vips-8.14.1+webp-1.2.4`, without spaces, `,`, `;`
  /// and `=`; a format that cannot be written is missing.
  package var byFormat: [ImageFormat: String]

  package init(_ byFormat: [ImageFormat: String]) { self.byFormat = byFormat }

  /// Before a decoder has told.
  package static let unknown = EncoderVersions([:])

  /// What the bytes of a recipe of that format depend on; `-` where that is not known.
  package func versions(for format: VariantSpec.Format) -> String {
    // `auto` is one or the other, which only the picture tells.
    let formats = format.imageFormat.map { [$0] } ?? [.jpeg, .webp]
    let known = formats.compactMap { byFormat[$0] }
    return known.isEmpty ? "-" : known.joined(separator: "+")
  }

  /// On one line: `jpeg=vips-8.14.1+jpeg-62.3.0,webp=…`.
  package var text: String {
    ImageFormat.allCases.compactMap { format in
      byFormat[format].map { "\(format.rawValue)=\($0)" }
    }.joined(separator: ",")
  }

  /// Reads `text` back; what it does not know is left out.
  package init(text: some StringProtocol) {
    byFormat = [:]
    for field in Substring(text).split(separator: ",") {
      let parts = field.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, let format = ImageFormat(rawValue: String(parts[0])) else { continue }
      byFormat[format] = String(parts[1])
    }
  }
}
