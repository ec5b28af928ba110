import CVips
import Glibc
import Vocabulary

/// What this build of libvips can do.
package enum Abilities {
  /// libvips' version, such as `8.14.1`.
  package static var libvips: String {
    (0..<3).map { String(vips_version(gint($0))) }.joined(separator: ".")
  }

  /// What originals may be here.
  ///
  /// Found out at the first use, which must come before confinement, as with `encoders`.
  package static let reads = Set(ImageFormat.allCases.filter(canRead))

  /// What variants may be here, and by which encoders.
  package static let encoders = LoadedLibraries.encoderVersions

  static func has(_ operation: String) -> Bool {
    vips_type_find("VipsOperation", operation) != 0
  }

  static var writesAVIF: Bool { has("heifsave_buffer") && LibHEIF.encodes(.av1) }

  private static func canRead(_ format: ImageFormat) -> Bool {
    switch format {
    case .bmp: true  // our own reader
    case .avif: has("heifload_buffer") && LibHEIF.decodes(.av1)
    case .heic: has("heifload_buffer") && LibHEIF.decodes(.hevc)
    default: has(format.loader)
    }
  }
}

/// What libheif was built with: one loader of libvips stands for two formats.
private enum LibHEIF {
  /// `heif_compression_format`.
  enum Compression: Int32 {
    case hevc = 1
    case av1 = 4
  }

  static func decodes(_ compression: Compression) -> Bool {
    asks("heif_have_decoder_for_format", compression)
  }

  static func encodes(_ compression: Compression) -> Bool {
    asks("heif_have_encoder_for_format", compression)
  }

  /// libvips has loaded it with its module; we are not linked to it.
  private static func asks(_ name: String, _ compression: Compression) -> Bool {
    guard let library = dlopen("libheif.so.1", RTLD_NOLOAD | RTLD_NOW) else { return false }
    defer { dlclose(library) }
    guard let symbol = dlsym(library, name) else { return false }
    typealias Question = @convention(c) (Int32) -> Int32
    return unsafeBitCast(symbol, to: Question.self)(compression.rawValue) != 0
  }
}
