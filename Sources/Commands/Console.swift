import Glibc
import Synchronization

/// Standard output for results, standard error for people, one line at a time.
///
/// A progress bar is the last line of standard error; it is wiped before anything else is written
/// and drawn again after.
final class Console: Sendable {
  private let bar = Mutex<String?>(nil)
  private let lost = Mutex<String?>(nil)
  let isTerminal = isatty(STDERR_FILENO) == 1

  /// Results, on standard output.
  func print(_ lines: [String]) {
    bar.withLock { bar in
      if bar != nil { write(STDERR_FILENO, Self.wipe) }
      write(STDOUT_FILENO, lines.map { $0 + "\n" }.joined())
      if let bar { write(STDERR_FILENO, bar) }
    }
  }

  /// Why standard output did not take all that was printed, the first time; nil where it did. A reader
  /// that has gone away (`head`) has what it wanted.
  var lostOutput: String? { lost.withLock(\.self) }

  /// Messages for people, on standard error.
  func complain(_ lines: [String]) {
    bar.withLock { bar in
      write(
        STDERR_FILENO,
        (bar == nil ? "" : Self.wipe) + lines.map { $0 + "\n" }.joined() + (bar ?? ""))
    }
  }

  /// Draws the bar anew; nil takes it away.
  func draw(bar text: String?) {
    bar.withLock { bar in
      write(STDERR_FILENO, (bar == nil ? "" : Self.wipe) + (text ?? ""))
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
    guard descriptor == STDOUT_FILENO, code != EPIPE else { return }
    lost.withLock { $0 = $0 ?? String(cString: strerror(code)) }
  }

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
