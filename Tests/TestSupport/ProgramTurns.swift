/// Lets so many programs run at a time: tests run all at once, and a machine that starts fifty workers
/// with their decoders has no time for any.
package actor ProgramTurns {
  package static let shared = ProgramTurns(atOnce: 4)

  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  package init(atOnce: Int) { free = atOnce }

  package nonisolated func inTurn<Result: Sendable>(
    _ body: () async throws -> Result
  ) async rethrows -> Result {
    await take()
    do {
      let result = try await body()
      await give()
      return result
    } catch {
      await give()
      throw error
    }
  }

  private func take() async {
    if free > 0 {
      free -= 1
    } else {
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  /// The turn goes straight to whoever has waited longest.
  private func give() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}
