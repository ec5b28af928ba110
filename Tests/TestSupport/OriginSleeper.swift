import Synchronization
import Threading

/// A clock that stands still until a test moves it. It records who sleeps until when.
package final class ManualSleeper: Sleeper {
  private struct State {
    var now: Duration = .zero
    var sleepers: [(id: UInt64, until: Duration, wake: CheckedContinuation<Bool, Never>)] = []
    var nextID: UInt64 = 0
    var sleeps: [Duration] = []
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  package init() {}

  package var now: Duration { state.withLock { $0.now } }

  /// How long each sleep was asked for, in order.
  package var sleeps: [Duration] { state.withLock { $0.sleeps } }

  /// Returns when so many sleeps have been asked for.
  package func sleeps(reach count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.sleeps.count >= count { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  package func advance(by duration: Duration) {
    let woken = state.withLock { state in
      state.now += duration
      let now = state.now
      defer { state.sleepers.removeAll { $0.until <= now } }
      return state.sleepers.filter { $0.until <= now }
    }
    for sleeper in woken { sleeper.wake.resume(returning: true) }
  }

  package func sleep(until deadline: Duration) async throws(CancellationError) {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let isDone = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in lieDown(id, deadline, continuation) }
    } onCancel: {
      cancel(id)
    }
    if !isDone { throw CancellationError() }
  }

  private func lieDown(
    _ id: UInt64, _ deadline: Duration, _ continuation: CheckedContinuation<Bool, Never>
  ) {
    let (isOver, ready) = state.withLock { state in
      state.sleeps.append(deadline - state.now)
      let count = state.sleeps.count
      let ready = state.waiters.filter { $0.count <= count }
      state.waiters.removeAll { $0.count <= count }
      if deadline <= state.now { return (true, ready) }
      state.sleepers.append((id, deadline, continuation))
      return (false, ready)
    }
    if isOver { continuation.resume(returning: true) }
    for waiter in ready { waiter.continuation.resume() }
    if Task.isCancelled { cancel(id) }
  }

  private func cancel(_ id: UInt64) {
    let sleeper = state.withLock { state in
      let index = state.sleepers.firstIndex { $0.id == id }
      return index.map { state.sleepers.remove(at: $0) }
    }
    sleeper?.wake.resume(returning: false)
  }
}
