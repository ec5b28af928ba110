import CVips
import Glibc
import Vocabulary

/// Which builds of libvips and the codecs this process has, by the names of their files.
///
/// Most of the libraries have no call that tells; the dynamic linker's files all end in their version.
enum LoadedLibraries {
  /// What a format's bytes depend on besides libvips: parts of file names.
  private static let encoders: [(format: ImageFormat, operation: String, libraries: [String])] = [
    (.jpeg, "jpegsave_buffer", ["libjpeg"]),
    (.png, "pngsave_buffer", ["libpng16", "libspng", "libz", "libimagequant", "libquantizr"]),
    (.webp, "webpsave_buffer", ["libwebp"]),
    (.avif, "heifsave_buffer", ["libheif", "libaom", "librav1e", "libSvtAv1Enc"]),
    (.gif, "gifsave_buffer", ["libcgif", "libimagequant", "libquantizr"]),
  ]

  /// Of all formats that this process can write.
  static var encoderVersions: EncoderVersions {
    let versions = versions
    var known = EncoderVersions([:])
    for encoder in encoders where Abilities.has(encoder.operation) {
      if encoder.format == .avif, !Abilities.writesAVIF { continue }
      let parts = encoder.libraries.compactMap { name in
        versions[name].map { "\(name.dropFirst(3))-\($0)" }
      }
      known.byFormat[encoder.format] =
        (["vips-\(String(cString: vips_version_string()))"] + parts)
        .joined(separator: "+").filter { !" ,;=".contains($0) }
    }
    return known
  }

  /// `libwebp` → `7.1.5`, of everything that is mapped.
  private static var versions: [String: String] {
    guard let maps = fopen("/proc/self/maps", "r") else { return [:] }
    defer { fclose(maps) }
    var found: [String: String] = [:]
    var line = [CChar](repeating: 0, count: 4096 + 128)
    while fgets(&line, Int32(line.count), maps) != nil {
      let text = String(
        decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init), as: UTF8.self)
      guard let slash = text.lastIndex(of: "/"),
        let end = text[slash...].firstRange(of: ".so.")
      else { continue }
      let name = String(text[text.index(after: slash)..<end.lowerBound])
      found[name] = String(text[end.upperBound...])
    }
    return found
  }
}
