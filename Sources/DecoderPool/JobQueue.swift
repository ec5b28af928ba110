import Dispatch
import Synchronization
import Vocabulary

typealias RenderResult = Result<Rendering, DecodeFailure>

/// A request and the task that waits for it.
final class RenderJob: Sendable {
  let request: RenderRequest
  private let waiter = Mutex<CheckedContinuation<RenderResult, Never>?>(nil)

  init(_ request: RenderRequest) { self.request = request }

  /// Comes before the job is queued.
  func await(_ continuation: CheckedContinuation<RenderResult, Never>) {
    waiter.withLock { $0 = continuation }
  }

  /// The first call counts.
  func finish(_ result: RenderResult) {
    let waiter = waiter.withLock { waiter in
      defer { waiter = nil }
      return waiter
    }
    waiter?.resume(returning: result)
  }
}

/// Jobs between tasks and slots' threads, first come first served.
final class JobQueue: Sendable {
  private struct State {
    var waiting: [RenderJob] = []
    /// Cancelled before they were added.
    var dropped: Set<ObjectIdentifier> = []
    var isClosed = false
    var slots = 0
    var awaitingEnd: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  /// One for each job that waits, and one for each slot once the queue is closed.
  private let available = DispatchSemaphore(value: 0)

  func add(_ job: RenderJob) {
    let isAdded = state.withLock { state in
      let isDropped = state.dropped.remove(ObjectIdentifier(job)) != nil
      guard !state.isClosed, !isDropped else { return false }
      state.waiting.append(job)
      return true
    }
    if isAdded { available.signal() } else { job.finish(.failure(.dropped)) }
  }

  /// Takes a job back if no slot has it yet.
  func drop(_ job: RenderJob) {
    let isMine = state.withLock { state in
      if let index = state.waiting.firstIndex(where: { $0 === job }) {
        state.waiting.remove(at: index)
        return true
      }
      state.dropped.insert(ObjectIdentifier(job))
      return false
    }
    if isMine { job.finish(.failure(.dropped)) }
  }

  /// Blocks until there is a job; nil when the queue is closed.
  func next() -> RenderJob? {
    while true {
      available.wait()
      let (job, isClosed) = state.withLock { state -> (RenderJob?, Bool) in
        guard !state.isClosed else { return (nil, true) }
        return (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), false)
      }
      if isClosed { return nil }
      // Its job may have been dropped meanwhile.
      if let job { return job }
    }
  }

  func close() {
    let (dropped, slots) = state.withLock { state in
      defer {
        state.isClosed = true
        state.waiting = []
      }
      return (state.waiting, state.isClosed ? 0 : state.slots)
    }
    for job in dropped { job.finish(.failure(.dropped)) }
    for _ in 0..<slots { available.signal() }
  }

  // MARK: Slots

  func slotsStart(_ count: Int) { state.withLock { $0.slots = count } }

  func slotEnded() {
    let awaiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.slots -= 1
      guard state.slots == 0 else { return [] }
      defer { state.awaitingEnd = [] }
      return state.awaitingEnd
    }
    for continuation in awaiting { continuation.resume() }
  }

  func allSlotsEnded() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.slots > 0 { state.awaitingEnd.append(continuation) }
        return state.slots == 0
      }
      if isOver { continuation.resume() }
    }
  }
}

extension DecodeFailure {
  fileprivate static let dropped = DecodeFailure(
    .cancelled, "the request was dropped before a decoder had it")
}
