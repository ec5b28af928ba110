// Threading: threads that we own, executors on them, clocks. Blocking C calls run here, never on the
// cooperative pool.

import CThreadName
import Dispatch
import Glibc
import Synchronization

/// A thread that runs one function to its end.
package final class OwnedThread: Sendable {
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - name: at most 15 bytes; what `top -H` and a debugger show.
  ///   - stackBytes: of the thread's stack.
  package init(name: String, stackBytes: Int = 1 << 20, _ body: @escaping @Sendable () -> Void) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackBytes)
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    let start = Start(name: name, body: body, ended: ended)
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(start).toOpaque()
    let failure = pthread_create(
      &thread, &attributes,
      { argument in
        let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
        // From inside: on Linux a thread inherits its creator's name.
        _ = tw_name_this_thread(start.name)
        start.body()
        start.ended.signal()
        return nil
      }, argument)
    precondition(failure == 0, "no thread could be started: error \(failure)")
  }

  /// Blocks until the function has returned. Never call it on the cooperative pool.
  package func join() {
    ended.wait()
    ended.signal()
  }

  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void
    let ended: DispatchSemaphore

    init(name: String, body: @escaping @Sendable () -> Void, ended: DispatchSemaphore) {
      self.name = name
      self.body = body
      self.ended = ended
    }
  }
}

/// Runs an actor's jobs on one thread of its own: the home of a C handle that blocks.
package final class ThreadExecutor: SerialExecutor {
  private struct Queue {
    var jobs: [UnownedJob] = []
    /// The thread waits, or is about to: whoever leaves something has to wake it.
    var isAsleep = false
    var isStopped = false
  }

  private let queue = Mutex(Queue())
  private let bell = DispatchSemaphore(value: 0)

  package init(name: String) {
    _ = OwnedThread(name: name, stackBytes: 2 << 20) { [self] in
      let executor = asUnownedSerialExecutor()
      var jobs: [UnownedJob] = []
      while takeJobs(into: &jobs) {
        for job in jobs { job.runSynchronously(on: executor) }
        jobs.removeAll(keepingCapacity: true)
      }
    }
  }

  /// Waits until there are some.
  /// - Parameter jobs: none.
  /// - Returns: false when the thread is to end.
  private func takeJobs(into jobs: inout [UnownedJob]) -> Bool {
    while true {
      let isStopped = queue.withLock { queue in
        swap(&queue.jobs, &jobs)
        queue.isAsleep = jobs.isEmpty && !queue.isStopped
        return queue.isStopped
      }
      if !jobs.isEmpty { return true }
      if isStopped { return false }
      bell.wait()
    }
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    leave { $0.jobs.append(job) }
  }

  /// Ends the thread when its queue is empty. The actor must not be used after that.
  package func stop() { leave { $0.isStopped = true } }

  private func leave(_ change: (inout sending Queue) -> Void) {
    let mustRing = queue.withLock { queue in
      change(&queue)
      defer { queue.isAsleep = false }
      return queue.isAsleep
    }
    if mustRing { bell.signal() }
  }
}
