import CCurl
import Glibc
import Synchronization

/// Where other threads leave work for the transfer thread; also the executor of tasks that prefer it.
final class Inbox: TaskExecutor {
  enum Message {
    case start(Exchange)
    case cancel(Exchange)
    /// What the resolver says of a name.
    case answer(NameAnswer, String)
    /// A piece of a task that prefers this thread.
    case run(UnownedJob)
    /// To be called once the deadlines have been looked at.
    case look(@Sendable () -> Void)
    case stop
  }

  private struct State {
    var messages: [Message] = []
    /// The thread waits, or is about to: whoever posts has to wake it.
    var isAsleep = false
    var isClosed = false
    /// Pieces of tasks for which there is no thread any more.
    var orphans: [UnownedJob] = []
    /// Somebody runs them.
    var runsOrphans = false
  }

  private let state = Mutex(State())
  /// Readable when the thread is to look here.
  let bell = eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK))

  deinit { Glibc.close(bell) }

  /// - Returns: false where the thread has ended and nobody will read it.
  func post(_ message: Message) -> Bool {
    let (isTaken, mustRing) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      state.messages.append(message)
      defer { state.isAsleep = false }
      return (true, state.isAsleep)
    }
    if mustRing { _ = eventfd_write(bell, 1) }
    return isTaken
  }

  func take(into messages: inout [Message]) {
    messages.removeAll(keepingCapacity: true)
    state.withLock { swap(&$0.messages, &messages) }
  }

  /// Promises to wait for the bell.
  /// - Returns: false where a message is there already.
  func fallAsleep() -> Bool {
    state.withLock { state in
      state.isAsleep = state.messages.isEmpty
      return state.isAsleep
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // Without the thread, whoever resumes the task runs it: it has to end.
    if !post(.run(job)) { runOrphan(job) }
  }

  /// One after another: each may resume the next, and there may be hundreds.
  private func runOrphan(_ job: UnownedJob) {
    let isFirst = state.withLock { state in
      state.orphans.append(job)
      defer { state.runsOrphans = true }
      return !state.runsOrphans
    }
    guard isFirst else { return }
    while let next = nextOrphan() { run(next) }
  }

  private func nextOrphan() -> UnownedJob? {
    state.withLock { state in
      state.runsOrphans = !state.orphans.isEmpty
      return state.orphans.popLast()
    }
  }

  func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }

  func wakeUp() { state.withLock { $0.isAsleep = false } }

  func silenceBell() {
    var count: eventfd_t = 0
    _ = eventfd_read(bell, &count)
  }

  /// No message is taken any more.
  /// - Returns: what nobody has read.
  func close() -> [Message] {
    state.withLock { state in
      state.isClosed = true
      defer { state.messages = [] }
      return state.messages
    }
  }
}
