import Dispatch
import Synchronization
import Vocabulary

/// What a slot's thread does for a task that waits.
protocol SlotJob: AnyObject, Sendable {
  func perform(in slot: DecoderSlot)
  /// Instead of `perform`.
  func fail(_ failure: DecodeFailure)
}

/// Work in a slot, and the task that waits for it.
final class PendingJob<Value: Sendable>: SlotJob {
  typealias Outcome = Result<Value, DecodeFailure>

  private let work: @Sendable (DecoderSlot) -> Outcome
  private let waiter = Mutex<CheckedContinuation<Outcome, Never>?>(nil)

  init(_ work: @escaping @Sendable (DecoderSlot) -> Outcome) { self.work = work }

  /// Comes before the job is queued.
  func await(_ continuation: CheckedContinuation<Outcome, Never>) {
    waiter.withLock { $0 = continuation }
  }

  func perform(in slot: DecoderSlot) { finish(work(slot)) }

  func fail(_ failure: DecodeFailure) { finish(.failure(failure)) }

  /// The first call counts.
  private func finish(_ outcome: Outcome) {
    let waiter = waiter.withLock { waiter in
      defer { waiter = nil }
      return waiter
    }
    waiter?.resume(returning: outcome)
  }
}

/// Jobs between tasks and slots' threads, first come first served.
final class JobQueue: Sendable {
  private struct State {
    var waiting: [any SlotJob] = []
    /// Cancelled before they were added.
    var dropped: Set<ObjectIdentifier> = []
    var isClosed = false
    var slots = 0
    var awaitingEnd: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  /// One for each job that waits, and one for each slot once the queue is closed.
  private let available = DispatchSemaphore(value: 0)

  func add(_ job: any SlotJob) {
    let isAdded = state.withLock { state in
      let isDropped = state.dropped.remove(ObjectIdentifier(job)) != nil
      guard !state.isClosed, !isDropped else { return false }
      state.waiting.append(job)
      return true
    }
    if isAdded { available.signal() } else { job.fail(.dropped) }
  }

  /// Takes a job back if no slot has it yet.
  func drop(_ job: any SlotJob) {
    let isMine = state.withLock { state in
      if let index = state.waiting.firstIndex(where: { $0 === job }) {
        state.waiting.remove(at: index)
        return true
      }
      state.dropped.insert(ObjectIdentifier(job))
      return false
    }
    if isMine { job.fail(.dropped) }
  }

  /// Blocks until there is a job; nil when the queue is closed.
  func next() -> (any SlotJob)? {
    while true {
      available.wait()
      let (job, isClosed) = state.withLock { state -> ((any SlotJob)?, Bool) in
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
    for job in dropped { job.fail(.dropped) }
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
