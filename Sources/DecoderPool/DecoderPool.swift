// DecoderPool: starts, feeds, times out and replaces the confined decoders.
//
//   render(request) ─► queue, first come first served ─► a slot's thread ══ socket pair ══► thumbdecoder
//
// Each slot is one thread of ours and at most one decoder, which lives no longer than its thread: the
// kernel kills it with it. A decoder that crashes, hangs or lies costs the image that it had, and the
// next image gets a new one. Nothing that a decoder says is believed unchecked.

import Dispatch
import Glibc
import Synchronization
import Threading
import Vocabulary

package final class DecoderPool: Sendable {
  private let queue = JobQueue()

  /// - Parameters:
  ///   - executable: the path of `thumbdecoder`.
  ///   - decoders: 1 or more; each starts with its first image.
  ///   - memory: bytes for all decoders together (`limits.memory`).
  package init(executable: String, decoders: Int, memory: Int) throws(DecodeFailure) {
    guard access(executable, X_OK) == 0 else {
      throw DecodeFailure(
        .decoderUnavailable,
        "the decoder \(executable) cannot be run: \(String(cString: strerror(errno)))")
    }
    let count = max(1, decoders)
    let launch = DecoderLaunch(executable: executable, memory: memory / count)
    queue.slotsStart(count)
    for index in 0..<count {
      _ = OwnedThread(name: "decoder-\(index)") { [queue] in
        let slot = DecoderSlot(launch: launch)
        while let job = queue.next() { job.finish(slot.serve(job.request)) }
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
    let job = RenderJob(request)
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
