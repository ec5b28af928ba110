import Synchronization

/// Looks names up as a test says, and notes what it was asked.
package final class OriginResolver: Sendable {
  private struct State {
    var asked: [String] = []
    var underWay = 0
    var peak = 0
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// The names that were asked for, in order.
  package var asked: [String] { state.withLock { $0.asked } }
  /// The most look-ups that were under way at one time.
  package var peak: Int { state.withLock { $0.peak } }

  /// Returns when so many names have been asked for.
  package func asked(reach count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.asked.count >= count { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// - Parameter body: is told how often this name was asked for, and how many look-ups are under way,
  ///   this one included.
  package func look<Answer>(
    up name: String, _ body: (_ number: Int, _ underWay: Int) -> Answer
  ) -> Answer {
    let (number, underWay, ready) = state.withLock { state in
      state.asked.append(name)
      state.underWay += 1
      state.peak = max(state.peak, state.underWay)
      let count = state.asked.count
      let ready = state.waiters.filter { $0.count <= count }
      state.waiters.removeAll { $0.count <= count }
      return (state.asked.count { $0 == name }, state.underWay, ready)
    }
    for waiter in ready { waiter.continuation.resume() }
    defer { state.withLock { $0.underWay -= 1 } }
    return body(number, underWay)
  }
}
