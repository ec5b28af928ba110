import CSeccomp
import Glibc
import Synchronization

/// Font files that stay readable when this process is confined.
///
/// Whoever draws text opens a font's file anew for each drawing, which a confined process may not. So
/// what was opened while the decoder warmed up stays open, and who asks for it by its name again is
/// given another descriptor of it. Of any other file nothing is to be had.
///
/// `open`, `open64` and `access` take the place of the C library's for every library that we load: the
/// dynamic linker looks into the program first.
enum KeptFonts {
  private struct State {
    var isKeeping = false
    var descriptors: [String: Int32] = [:]
  }

  private static let state = Mutex(State())
  /// Enough for the families of the warm-up and their substitutes.
  private static let most = 16
  private static let endings = [".ttf", ".otf", ".ttc", ".t1", ".pfb", ".pfa"]

  /// Keeps the fonts that are opened by `body`.
  static func keep<Failure: Error>(during body: () throws(Failure) -> Void) throws(Failure) {
    state.withLock { $0.isKeeping = true }
    defer { state.withLock { $0.isKeeping = false } }
    try body()
  }

  static func isKept(_ path: UnsafePointer<CChar>) -> Bool {
    state.withLock { !$0.descriptors.isEmpty && $0.descriptors[String(cString: path)] != nil }
  }

  /// A new descriptor of a file that was kept; nil for any other.
  static func opened(_ path: UnsafePointer<CChar>) -> Int32? {
    state.withLock { state in
      state.descriptors.isEmpty ? nil : state.descriptors[String(cString: path)].map { dup($0) }
    }
  }

  /// - Parameter descriptor: of the file, opened for reading.
  static func note(_ path: UnsafePointer<CChar>, _ descriptor: Int32) {
    state.withLock { state in
      guard state.isKeeping, state.descriptors.count < most else { return }
      let name = String(cString: path)
      guard endings.contains(where: name.hasSuffix), state.descriptors[name] == nil else { return }
      let copy = dup(descriptor)
      if copy >= 0 { state.descriptors[name] = copy }
    }
  }
}

@_cdecl("open")
public func openedKeptOrNew(
  _ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t
) -> Int32 {
  let isReading = flags & O_ACCMODE == O_RDONLY
  if isReading, let kept = KeptFonts.opened(path) { return kept }
  let descriptor = tw_open(path, flags, mode)
  if isReading, descriptor >= 0 { KeptFonts.note(path, descriptor) }
  return descriptor
}

@_cdecl("open64")
public func openedKeptOrNew64(
  _ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t
) -> Int32 { openedKeptOrNew(path, flags, mode) }

@_cdecl("access")
public func isKeptOrAccessible(_ path: UnsafePointer<CChar>, _ mode: Int32) -> Int32 {
  mode == R_OK && KeptFonts.isKept(path) ? 0 : tw_access(path, mode)
}
