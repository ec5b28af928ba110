import Dispatch
import Synchronization

/// Who gets memory next: first come first served, so that a large picture is not passed by small ones
/// for ever.
struct MemoryLine<Ticket> {
  /// Bytes.
  private(set) var free: Int
  private var waiting: [(bytes: Int, ticket: Ticket)] = []

  init(free: Int) { self.free = free }

  /// - Returns: those whose turn it is now, their bytes taken for them.
  mutating func join(_ ticket: Ticket, bytes: Int) -> [Ticket] {
    waiting.append((bytes, ticket))
    return admit()
  }

  /// - Returns: as `join` does.
  mutating func giveBack(_ bytes: Int) -> [Ticket] {
    free += bytes
    return admit()
  }

  private mutating func admit() -> [Ticket] {
    var admitted: [Ticket] = []
    while let first = waiting.first, first.bytes <= free {
      free -= first.bytes
      admitted.append(waiting.removeFirst().ticket)
    }
    return admitted
  }
}

/// The memory that all decoders of a pool share: who needs much waits until others give back.
final class MemoryRoom: Sendable {
  /// Bytes.
  let size: Int
  private let line: Mutex<MemoryLine<DispatchSemaphore>>

  init(size: Int) {
    self.size = size
    line = Mutex(MemoryLine(free: size))
  }

  /// Blocks until so many bytes are free, and takes them.
  ///
  /// - Precondition: no more than `size`; the caller's thread holds none.
  func take(_ bytes: Int) {
    let turn = DispatchSemaphore(value: 0)
    let admitted = line.withLock { $0.join(turn, bytes: bytes) }
    for turn in admitted { turn.signal() }
    turn.wait()
  }

  func giveBack(_ bytes: Int) {
    let admitted = line.withLock { $0.giveBack(bytes) }
    for turn in admitted { turn.signal() }
  }
}
