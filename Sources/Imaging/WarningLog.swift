import CVips
import Glibc
import Synchronization

/// What libvips and its libraries remark on without giving up.
///
/// One for the process, as GLib's log is; libvips writes to it from its own thread as well.
enum WarningLog {
  /// What is kept of one image.
  static let capacity = 16

  private static let outOfMemoryStatus = Atomic<Int32>(1)
  private struct State {
    var lines: [String] = []
    var hasHeardLibraries = false
  }

  private static let state = Mutex(State())

  /// Takes the place of GLib's own log, which writes to standard error, and of its way to die.
  static func install(outOfMemoryStatus status: Int32) {
    outOfMemoryStatus.store(status, ordering: .relaxed)
    _ = g_log_set_default_handler(
      { domain, level, message, _ in
        let words = message.map { String(cString: $0) } ?? ""
        if level.rawValue & G_LOG_FLAG_FATAL.rawValue != 0 {
          WarningLog.die(domain: domain.map { String(cString: $0) }, words)
        }
        let told =
          G_LOG_LEVEL_ERROR.rawValue | G_LOG_LEVEL_CRITICAL.rawValue
          | G_LOG_LEVEL_WARNING.rawValue
        if level.rawValue & told != 0 { WarningLog.add(words) }
      }, nil)
    takeStructured()
  }

  /// GLib's newer log, which Pango uses. It has no end of its own to put off: a fatal one ends here.
  private static func takeStructured() {
    g_log_set_writer_func(
      { level, fields, count, _ in
        let fields = UnsafeBufferPointer(start: fields, count: Int(count))
        let words = WarningLog.value(of: "MESSAGE", in: fields) ?? ""
        if level.rawValue & (G_LOG_FLAG_FATAL.rawValue | G_LOG_LEVEL_ERROR.rawValue) != 0 {
          WarningLog.die(domain: WarningLog.value(of: "GLIB_DOMAIN", in: fields), words)
        }
        if level.rawValue & (G_LOG_LEVEL_CRITICAL.rawValue | G_LOG_LEVEL_WARNING.rawValue) != 0 {
          WarningLog.add(words)
        }
        return G_LOG_WRITER_HANDLED
      }, nil, nil)
  }

  private static func value(
    of name: String, in fields: UnsafeBufferPointer<GLogField>
  ) -> String? {
    guard let field = fields.first(where: { String(cString: $0.key) == name }),
      let value = field.value
    else { return nil }
    if field.length < 0 { return String(cString: value.assumingMemoryBound(to: CChar.self)) }
    return String(
      decoding: UnsafeRawBufferPointer(start: value, count: Int(field.length)), as: UTF8.self)
  }

  /// Called by GLib before it would abort. GLib itself gives up when memory or a thread cannot be
  /// had, and on nothing else that we call.
  private static func die(domain: String?, _ words: String) -> Never {
    let line = Array("\(domain ?? "-"): \(words)\n".utf8)
    _ = write(2, line, line.count)
    if domain == "GLib" { _exit(outOfMemoryStatus.load(ordering: .relaxed)) }
    abort()
  }

  /// What a library says.
  static func add(_ words: String) {
    guard !isChatter(words), !words.isEmpty else { return }
    append(words, isLibrarys: true)
  }

  /// What we say ourselves.
  static func note(_ words: String) { append(words, isLibrarys: false) }

  private static func append(_ words: String, isLibrarys: Bool) {
    let line = String(words.prefix(VipsFailure.maxWords))
    state.withLock { state in
      state.hasHeardLibraries = state.hasHeardLibraries || isLibrarys
      if state.lines.count < capacity, !state.lines.contains(line) { state.lines.append(line) }
    }
  }

  /// Empties the error buffer, which calls that do not fail write to as well.
  static func hearErrors() {
    if let words = VipsFailure.takeWords() { add(words) }
  }

  /// Whether a library had anything to say since the last `take`.
  static var hasHeardLibraries: Bool {
    hearErrors()
    return state.withLock { $0.hasHeardLibraries }
  }

  /// What is said of sound HEIF files: libheif looks for their end by reading past it.
  private static func isChatter(_ words: String) -> Bool {
    words.split(separator: ";").allSatisfy {
      $0.contains("bad seek to") || $0.contains("ignoring nclx profile")
    }
  }

  /// What was said since the last call.
  static func take() -> [String] {
    hearErrors()
    return state.withLock { state in
      defer { state = State() }
      return state.lines
    }
  }
}
