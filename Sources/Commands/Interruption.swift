import Glibc
import Pipeline
import Synchronization

/// SIGINT and SIGTERM: the first stops the run and keeps what was done, a second ends the process.
/// Where no run is under way, the first ends it.
///
/// The signals are blocked everywhere and awaited on the main thread, so that no code runs in a signal
/// handler.
package final class Interruption: Sendable {
  private struct State {
    var signal: Int32?
    var board: RunBoard?
  }

  private let state = Mutex(State())

  /// Call it from the main thread before any other starts: they inherit the blocked signals.
  package init() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)
  }

  /// Waits for signals for ever, on the thread that made it.
  package func wait() -> Never {
    while true {
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGINT)
      sigaddset(&signals, SIGTERM)
      var signal: Int32 = 0
      guard sigwait(&signals, &signal) == 0 else { continue }
      let endsNow = state.withLock { state in
        defer { state.signal = state.signal ?? signal }
        state.board?.interrupt()
        return state.board == nil || state.signal != nil
      }
      // Everything that is durable is so already; nothing is written half.
      if endsNow { _exit(128 + signal) }
    }
  }

  /// The run that is to be stopped; one that starts after the signal is stopped at once.
  func watch(_ board: RunBoard) {
    state.withLock { state in
      state.board = board
      if state.signal != nil { board.interrupt() }
    }
  }

  var exitCode: ExitCode? {
    switch state.withLock(\.signal) {
    case SIGINT: .interrupted
    case SIGTERM: .terminated
    default: nil
    }
  }
}
