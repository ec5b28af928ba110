// DecoderPool: starts, feeds, times out and replaces the confined decoders.
//
//   render(request) ─► queue, first come first served ─► a slot's thread ══ socket pair ══► thumbdecoder
//
// Each slot is one thread of ours and at most one decoder, which lives no longer than its thread: the
// kernel kills it with it. A decoder that crashes, hangs or lies costs the image that it had, and the
// next image gets a new one. Nothing that a decoder says is believed unchecked.
//
// The memory that images need is set aside before they are decoded, out of one room for all decoders;
// the kernel holds each decoder to its part.

import DecoderWire
import Dispatch
import Glibc
import Synchronization
import Threading
import Vocabulary

package final class DecoderPool: Sendable {
  private let queue = JobQueue()
  private let known = Mutex<DecoderGreeting?>(nil)

  /// - Parameters:
  ///   - executable: the path of `thumbdecoder`.
  ///   - decoders: 1 or more; each starts with its first image. Fewer where `memory` is too small for
  ///     so many.
  ///   - memory: bytes for all decoders together (`limits.memory`).
  ///   - formats: what any of the jobs allows (`limits.formats`).
  package init(
    executable: String, decoders: Int, memory: Int,
    formats: Set<ImageFormat> = ImageFormat.allowedByDefault
  ) throws(DecodeFailure) {
    guard access(executable, X_OK) == 0 else {
      throw DecodeFailure(
        .decoderUnavailable,
        "the decoder \(executable) cannot be run: \(String(cString: strerror(errno)))")
    }
    let shares = MemoryShares(decoders: max(1, decoders), memory: memory)
    var launch = DecoderLaunch(executable: executable)
    launch.formats = formats
    let (room, kin) = (MemoryRoom(size: shares.room), DecoderKin())
    queue.slotsStart(shares.decoders)
    for index in 0..<shares.decoders {
      _ = OwnedThread(name: "decoder-\(index)") { [queue, launch] in
        let slot = DecoderSlot(launch: launch, room: room, kin: kin)
        while let job = queue.next() { job.perform(in: slot) }
        slot.end()
        queue.slotEnded()
      }
    }
  }

  deinit { queue.close() }

  /// Makes a request's variants. May be called from many tasks at once; each waits for its turn.
  ///
  /// A variant that alone cannot be made is a failure in the result. A cancelled task drops its
  /// request while that waits; one that has begun is finished.
  package func render(_ request: RenderRequest) async throws(DecodeFailure) -> Rendering {
    try await perform { slot in slot.serve(request) }
  }

  /// What the decoders of this installation are: asked of the first one, which then has begun to start.
  package func greeting() async throws(DecodeFailure) -> DecoderGreeting {
    if let known = known.withLock({ $0 }) { return known }
    let greeting = try await perform { slot in slot.greeting() }
    known.withLock { $0 = greeting }
    return greeting
  }

  /// Starts a decoder and has it prove its confinement.
  package func prove() async throws(DecodeFailure) {
    try await perform { slot in slot.prove() }
  }

  private func perform<Value: Sendable>(
    _ work: @escaping @Sendable (DecoderSlot) -> Result<Value, DecodeFailure>
  ) async throws(DecodeFailure) -> Value {
    let job = PendingJob(work)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        job.await(continuation)
        queue.add(job)
      }
    } onCancel: {
      queue.drop(job)
    }
    return try result.get()
  }

  /// Finishes what has begun, drops what waits, and ends the decoders. None is left after it.
  package func stop() async {
    queue.close()
    await queue.allSlotsEnded()
  }
}
