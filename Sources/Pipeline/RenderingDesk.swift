import Synchronization
import Vocabulary

/// Has each original rendered by one claim at a time, whatever URLs it came from, and hands what was made
/// to those that come after, until all of them have settled.
final class RenderingDesk: Sendable {
  private struct Work {
    /// With the files that it rests on: nobody removes them while it is here.
    var made: RenderedOriginal?
    /// Claims that have come for it and not left.
    var claims = 0
    var isTaken = false
    var line: [CheckedContinuation<Void, Never>] = []
  }

  private let work = Mutex<[Digest: Work]>([:])

  /// Returns when nobody else renders the original; then `end` has to follow, and `leave` once the
  /// claim has settled.
  ///
  /// - Returns: what others have made of it; nil where the ledger knows all.
  func begin(_ original: Digest) async -> RenderedOriginal? {
    await withCheckedContinuation { continuation in
      let isFree = work.withLock { work in
        work[original, default: Work()].claims += 1
        if work[original]!.isTaken {
          work[original]!.line.append(continuation)
          return false
        }
        work[original]!.isTaken = true
        return true
      }
      if isFree { continuation.resume() }
    }
    return work.withLock { $0[original]?.made }
  }

  /// - Parameter made: what there is of it now; nil where nothing came of it.
  func end(_ original: Digest, made: RenderedOriginal?) {
    let next = work.withLock { work -> CheckedContinuation<Void, Never>? in
      if let made { work[original]?.made = made }
      guard work[original]?.line.isEmpty == false else {
        work[original]?.isTaken = false
        return nil
      }
      return work[original]?.line.removeFirst()
    }
    next?.resume()
  }

  func leave(_ original: Digest) {
    work.withLock { work in
      work[original]?.claims -= 1
      if work[original]?.claims == 0 { work[original] = nil }
    }
  }
}
