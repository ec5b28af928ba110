// HTTPTransfer: one HTTP exchange, no redirect, no retry.
//
//   ExchangeRequest ──► TransferEngine ──► Inbox ══► TransferLoop, on a thread of its own:
//                                                    the multi handle, every easy handle, every
//                                                    socket; bodies hashed and written to sinks
//                                                    └─ NameTable: which names are known; look-ups
//                                                       on threads of their own
//   ExchangeReport  ◄── the task resumes ◄══════════ Exchange.end
//
// What comes in: a URL, fields, limits. What goes out: what was seen, and why it was not whole.
// AddressGuard is asked when a socket is opened and before each request on a connection that is
// reused. Deadlines are the loop's own; libcurl never has the last word on time.

import Synchronization
import Threading
import Vocabulary

/// Makes exchanges, so many at a time, on one thread that it owns.
package final class TransferEngine: Sendable {
  package struct Options: Sendable {
    /// Exchanges under way at a time, and connections kept for later ones.
    package var connections: Int
    /// A file of certificates in PEM form that stand in for the system's store.
    package var caFile: String?
    /// Answers that come before the resolver's: `name:port:address[,address]`.
    package var fixedNames: [String]
    /// Looks up a name. It blocks, and is called on threads of its own, so many at a time.
    package var resolve: @Sendable (String) -> NameAnswer
    /// What deadlines are measured by, in milliseconds from an arbitrary start; it never goes back.
    /// A test's stands still until it is moved, and then `lookAtDeadlines` has to follow.
    package var clock: @Sendable () -> Int64

    package init(
      connections: Int, caFile: String? = nil, fixedNames: [String] = [],
      resolve: @escaping @Sendable (String) -> NameAnswer = { SystemResolver.answer(to: $0) },
      clock: @escaping @Sendable () -> Int64 = { TransferLoop.monotonicMilliseconds() }
    ) {
      self.connections = max(1, connections)
      self.caFile = caFile
      self.fixedNames = fixedNames
      self.resolve = resolve
      self.clock = clock
    }
  }

  private let inbox = Inbox()

  /// The transfer thread for tasks that only fetch and never block: between them and their exchanges
  /// no thread is switched (`withTaskExecutorPreference`).
  package var executor: any TaskExecutor { inbox }

  package convenience init(connections: Int) { self.init(Options(connections: connections)) }

  package init(_ options: Options) {
    _ = OwnedThread(name: "transfers") { [inbox] in
      TransferLoop(inbox: inbox, options: options).run()
    }
  }

  deinit { stop() }

  /// Ends every exchange as cancelled, closes the connections and ends the thread.
  package func stop() { _ = inbox.post(.stop) }

  /// Returns when every exchange that is overdue has ended: where the clock was moved by hand.
  package func lookAtDeadlines() async {
    await withCheckedContinuation { continuation in
      if !inbox.post(.look({ continuation.resume() })) { continuation.resume() }
    }
  }

  /// Waits in order of arrival for a free place, then makes the exchange. Cancelling the task aborts
  /// it wherever it stands.
  // Where its caller runs: a change of executor on the way in and out costs more than the rest of it.
  nonisolated(nonsending) package func perform(
    _ request: consuming ExchangeRequest
  ) async -> ExchangeReport {
    let exchange = Exchange(request)
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        exchange.tellAtEnd(continuation)
        if !start(exchange) { exchange.end(ExchangeReport(unstarted: .cancelled)) }
      }
    } onCancel: {
      cancel(exchange)
    }
    return exchange.takeReport()
  }

  /// Lets an exchange wait for a free place and makes it; for those who let it in from elsewhere than its
  /// own task.
  ///
  /// - Returns: false where the engine has stopped: it will not end.
  package func start(_ exchange: Exchange) -> Bool { inbox.post(.start(exchange)) }

  /// Aborts an exchange wherever it stands. It may come before the start, which then finds the mark.
  package func cancel(_ exchange: Exchange) {
    exchange.isCancelled.store(true, ordering: .relaxed)
    _ = inbox.post(.cancel(exchange))
  }
}
