import Dispatch
import Synchronization
import Threading

/// Threads that take blocking work in groups, because a group shares what is dear.
///
/// One thread at a time gathers: it waits for a first request, then for more until the group is full or
/// the wait is over; then another gathers while it works. So a lone request waits little, and under load
/// the groups grow by themselves.
final class GroupedThreads<Request: Sendable, Output: Sendable>: Sendable {
  struct Rule: Sendable {
    var threads: Int
    /// A group takes no more requests when it weighs so much.
    var fullWeight: Int
    /// Counted from the group's first request.
    var wait: Duration
  }

  private struct Pending: Sendable {
    let request: Request
    let reply: CheckedContinuation<Result<Output, StorageFailure>, Never>
  }

  private struct Inbox {
    var pending: [Pending] = []
    var isStopped = false
  }

  private let rule: Rule
  private let weight: @Sendable (Request) -> Int
  private let gathered: @Sendable (Request) -> Void
  private let perform: @Sendable ([Request]) -> [Result<Output, StorageFailure>]
  private let inbox = Mutex(Inbox())
  /// Counts what is in the inbox.
  private let arrivals = DispatchSemaphore(value: 0)
  /// Held by the thread that gathers, while it waits: only these threads ever take it.
  private let gathering = Mutex(())

  /// - Parameters:
  ///   - gathered: called as a request joins a group that may still wait for more.
  ///   - perform: gives one result for each request, in their order.
  init(
    name: String, rule: Rule, weight: @escaping @Sendable (Request) -> Int = { _ in 1 },
    gathered: @escaping @Sendable (Request) -> Void = { _ in },
    perform: @escaping @Sendable ([Request]) -> [Result<Output, StorageFailure>]
  ) {
    self.rule = rule
    self.weight = weight
    self.gathered = gathered
    self.perform = perform
    for _ in 0..<rule.threads { _ = OwnedThread(name: name) { [self] in work() } }
  }

  func submit(_ request: Request) async throws(StorageFailure) -> Output {
    let result = await withCheckedContinuation { reply in
      inbox.withLock { $0.pending.append(Pending(request: request, reply: reply)) }
      arrivals.signal()
    }
    return try result.get()
  }

  /// Ends the threads when the inbox is empty. Nothing may be submitted after that.
  func stop() {
    inbox.withLock { $0.isStopped = true }
    arrivals.signal()
  }

  private func work() {
    while let group = gathering.withLock({ _ in gather() }) {
      let results = perform(group.map(\.request))
      for (pending, result) in zip(group, results) { pending.reply.resume(returning: result) }
    }
  }

  private func gather() -> [Pending]? {
    arrivals.wait()
    guard let first = take() else { return nil }
    var group = [first]
    var total = weight(first.request)
    let deadline = DispatchTime.now() + .nanoseconds(Int(rule.wait / .nanoseconds(1)))
    while total < rule.fullWeight, arrivals.wait(timeout: deadline) == .success {
      guard let next = take() else { break }
      group.append(next)
      total += weight(next.request)
    }
    return group
  }

  private func take() -> Pending? {
    let next = inbox.withLock { $0.pending.isEmpty ? nil : $0.pending.removeFirst() }
    guard let next else {
      arrivals.signal()  // the sign to stop: it is for the other threads too
      return nil
    }
    gathered(next.request)
    return next
  }
}

/// Runs blocking work that comes seldom on a thread made for it.
func onThread<Output: Sendable>(
  named name: String, _ body: @escaping @Sendable () throws(StorageFailure) -> Output
) async throws(StorageFailure) -> Output {
  let result = await withCheckedContinuation { reply in
    _ = OwnedThread(name: name) {
      let result: Result<Output, StorageFailure>
      do throws(StorageFailure) { result = .success(try body()) } catch { result = .failure(error) }
      reply.resume(returning: result)
    }
  }
  return try result.get()
}
