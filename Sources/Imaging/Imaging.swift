// Imaging: bytes of an image in, bytes of its variants out. Linked into the decoder and nowhere else.
//
//   file ─► Sniffer: what is it? ─► Original: header, limits ─► LevelPlan: which sizes from which
//        ─► Base: pixels, once (shrunk on load where exact) ─► levels: resized, sRGB, upright
//        ─► for each recipe: crop or pad ─► flatten ─► Encoding ─► bytes
//
// It runs on the decoder's only thread of ours; libvips uses one more. It reads no file and writes
// none. `start` must come first; nothing here may be called from two threads at once.

import CVips
import Glibc
import Vocabulary

package enum Imaging {
  /// Readies libvips: no operation cache, one thread, nothing that is unfit for strangers' bytes.
  ///
  /// - Parameters:
  ///   - outOfMemoryStatus: what the process exits with where GLib cannot get memory, which it does
  ///     not survive.
  ///   - formats: what jobs allow; the loaders of the optional ones among them are opened.
  /// - Throws: libvips' words where it does not start or cannot block what must be blocked.
  package static func start(
    outOfMemoryStatus: Int32, formats: Set<ImageFormat> = ImageFormat.allowedByDefault
  ) throws(ImagingFailure) {
    // Large pictures would go to a file in /tmp, where a confined process has none.
    setenv("VIPS_DISC_THRESHOLD", "1000g", 1)
    // It would compile code while it runs, which a confined process may not.
    setenv("VIPS_NOVECTOR", "1", 1)
    guard vips_init("thumbdecoder") == 0 else { throw .refused() }
    vips_concurrency_set(1)
    vips_cache_set_max(0)
    vips_cache_set_max_mem(0)
    vips_cache_set_max_files(0)
    vips_block_untrusted_set(1)
    // What libvips flags as unfit differs by version: no loader, then, but those of our formats.
    vips_operation_block_set("VipsForeignLoad", 1)
    for format in ["Jpeg", "Png", "Webp", "Nsgif", "Tiff", "Heif"] {
      vips_operation_block_set("VipsForeignLoad\(format)", 0)
    }
    // Stays so whatever a job allows.
    vips_operation_block_set("VipsForeignLoadOpenslide", 1)
    OptionalFormats.open(formats)
    WarningLog.install(outOfMemoryStatus: outOfMemoryStatus)
    try proveBlocking()
  }

  /// We call none of them anyhow.
  private static func proveBlocking() throws(ImagingFailure) {
    for loader in OptionalFormats.closedLoaders + ["jxlload_buffer", "radload_buffer"]
    where vips_type_find("VipsOperation", loader) != 0 {
      guard let words = wordsOfTrying(loader) else {
        throw ImagingFailure(.corrupt, "libvips ran \(loader) though it was blocked")
      }
      guard words.contains("blocked") else {
        throw ImagingFailure(.corrupt, "libvips did not block \(loader): \(words)")
      }
    }
  }

  private static func wordsOfTrying(_ loader: String) -> String? {
    Array("<svg".utf8).withUnsafeBytes { bytes -> String? in
      do throws(VipsFailure) {
        _ = try vips(loader, ["buffer": .bytes(bytes)])
        return nil
      } catch {
        vips_error_clear()
        return error.words
      }
    }
  }
}

extension ImagingFailure {
  fileprivate static func refused() -> ImagingFailure {
    ImagingFailure(.corrupt, VipsFailure.take().words)
  }
}
