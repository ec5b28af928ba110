import Glibc
import Pipeline
import Synchronization

/// SIGINT and SIGTERM: the first stops what runs and keeps what was done, a second ends the process.
/// Where nothing runs, the first ends it. SIGHUP opens the log's file again, or stops like the others
/// where there is none: the terminal has gone.
///
/// The signals are blocked everywhere and awaited on the main thread, so that no code runs in a signal
/// handler.
package final class Interruption: Sendable {
  private struct State {
    var signal: Int32?
    var boards: [ObjectIdentifier: RunBoard] = [:]
    var hasWatched = false
    var reopen: (@Sendable () -> Void)?
  }

  private static let signals = [SIGINT, SIGTERM, SIGHUP]

  private let state = Mutex(State())

  /// Call it from the main thread before any other starts: they inherit the blocked signals.
  package init() {
    var signals = Self.set
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)
  }

  private static var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    return set
  }

  /// Waits for signals for ever, on the thread that made it.
  package func wait() -> Never {
    var signals = Self.set
    while true {
      var signal: Int32 = 0
      guard sigwait(&signals, &signal) == 0 else { continue }
      if signal == SIGHUP, let reopen = state.withLock(\.reopen) {
        reopen()
        continue
      }
      // Everything that is durable is so already; nothing is written half.
      if take(signal) { _exit(128 + signal) }
    }
  }

  /// - Returns: whether the process is to end now.
  private func take(_ signal: Int32) -> Bool {
    state.withLock { state in
      defer { state.signal = state.signal ?? signal }
      for board in state.boards.values { board.interrupt() }
      return !state.hasWatched || state.signal != nil
    }
  }

  /// The run that is to be stopped; one that starts after the signal is stopped at once.
  func watch(_ board: RunBoard) {
    state.withLock { state in
      state.hasWatched = true
      state.boards[ObjectIdentifier(board)] = board
      if state.signal != nil { board.interrupt() }
    }
  }

  /// The run has ended.
  func forget(_ board: RunBoard) {
    state.withLock { $0.boards[ObjectIdentifier(board)] = nil }
  }

  /// From now on a signal is for what runs to end in its own time: nothing may be under way yet.
  func expectRuns() { state.withLock { $0.hasWatched = true } }

  /// What SIGHUP does.
  func onHangup(_ reopen: @escaping @Sendable () -> Void) {
    state.withLock { $0.reopen = reopen }
  }

  var isStopping: Bool { state.withLock { $0.signal != nil } }

  var exitCode: ExitCode? {
    switch state.withLock(\.signal) {
    case SIGINT: .interrupted
    case SIGTERM: .terminated
    case SIGHUP: .hungUp
    default: nil
    }
  }
}
