import HTTPTransfer
import Synchronization
import Vocabulary

/// Keeps what it is given, of the last body that was begun.
final class MemorySink: BodySink {
  private struct State {
    var bytes: [UInt8] = []
    var openings = 0
    var refusal: FailureRecord?
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state: Mutex<State>

  init(refusing refusal: FailureRecord? = nil) { state = Mutex(State(refusal: refusal)) }

  var bytes: [UInt8] { state.withLock { $0.bytes } }
  var openings: Int { state.withLock { $0.openings } }

  /// Returns when so many bytes have come.
  func bytes(reach count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.bytes.count >= count { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  func opened() -> MemorySink {
    state.withLock { state in
      state.openings += 1
      state.bytes = []
    }
    return self
  }

  func write(_ piece: UnsafeRawBufferPointer) throws(FailureRecord) {
    let (refusal, ready) = state.withLock { state in
      state.bytes.append(contentsOf: piece)
      let count = state.bytes.count
      defer { state.waiters.removeAll { $0.count <= count } }
      return (state.refusal, state.waiters.filter { $0.count <= count })
    }
    for waiter in ready { waiter.continuation.resume() }
    if let refusal { throw refusal }
  }
}
