import Glibc
import Synchronization

/// Standard output for results, standard error or a log file for people, one line at a time.
///
/// A progress bar is the last line of standard error; it is wiped before anything else is written
/// and drawn again after.
final class Console: Sendable {
  private let bar = Mutex<String?>(nil)
  private let lost = Mutex<String?>(nil)
  private let reader = Mutex(true)
  /// Where messages for people go.
  private struct Messages {
    var descriptor = STDERR_FILENO
    /// Nil: standard error.
    var file: String?
  }

  private let messages = Mutex(Messages())
  private let isErrorTerminal = isatty(STDERR_FILENO) == 1
  var isTerminal: Bool { isErrorTerminal && messages.withLock { $0.file == nil } }

  /// From now on messages for people are appended to a file.
  ///
  /// - Throws: where it cannot be written.
  func write(toFile path: String) throws(UsageError) {
    guard let descriptor = Self.openLog(path) else {
      throw UsageError(
        message: "--log: \(path): \(String(cString: strerror(errno)))",
        hint: "name a file that can be written")
    }
    messages.withLock { $0 = Messages(descriptor: descriptor, file: path) }
  }

  /// After the file was renamed: by its name again. Where that fails, the renamed one goes on.
  func reopenFile() {
    messages.withLock { messages in
      guard let descriptor = messages.file.flatMap(Self.openLog) else { return }
      close(messages.descriptor)
      messages.descriptor = descriptor
    }
  }

  /// - Returns: nil where that fails, which `errno` explains.
  private static func openLog(_ path: String) -> Int32? {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o640)
    return descriptor >= 0 ? descriptor : nil
  }

  /// Results, on standard output.
  func print(_ lines: [String]) {
    bar.withLock { bar in
      if bar != nil { tell(Self.wipe) }
      write(STDOUT_FILENO, lines.map { $0 + "\n" }.joined())
      if let bar { tell(bar) }
    }
  }

  /// Why standard output did not take all that was printed, the first time; nil where it did. A reader
  /// that has gone away (`head`) has what it wanted.
  var lostOutput: String? { lost.withLock(\.self) }

  /// Whether nobody reads standard output any more.
  var isReaderGone: Bool { reader.withLock { !$0 } }

  /// Messages for people, on standard error.
  func complain(_ lines: [String]) {
    bar.withLock { bar in
      tell((bar == nil ? "" : Self.wipe) + lines.map { $0 + "\n" }.joined() + (bar ?? ""))
    }
  }

  /// Draws the bar anew; nil takes it away.
  func draw(bar text: String?) {
    bar.withLock { bar in
      tell((bar == nil ? "" : Self.wipe) + (text ?? ""))
      bar = text
    }
  }

  /// Of the terminal, in columns; 80 where that is not known.
  var width: Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  private static let wipe = "\r\u{1B}[K"

  /// Of standard error there is nowhere left to say it.
  private func note(_ code: Int32, on descriptor: Int32) {
    guard descriptor == STDOUT_FILENO else { return }
    guard code != EPIPE else { return reader.withLock { $0 = false } }
    lost.withLock { $0 = $0 ?? String(cString: strerror(code)) }
  }

  private func tell(_ text: String) { messages.withLock { write($0.descriptor, text) } }

  private func write(_ descriptor: Int32, _ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var done = 0
      while done < bytes.count {
        let count = Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return note(errno, on: descriptor) }
        done += count
      }
    }
  }
}
