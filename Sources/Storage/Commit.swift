import CFiles
import Glibc
import Threading
import Vocabulary

/// Makes staged files into objects, many at a time.
///
/// The order is what makes an object durable: bytes on disk, then the name, then the name on disk.
struct Commit: Sendable {
  let objects: ObjectFolder

  /// Lets the disk begin while the group still gathers.
  func startWriting(_ staged: [StagedObject]) {
    for object in staged {
      // Only a head start: the sync that follows reports what goes wrong.
      _ = tw_start_writing(object.file.descriptor)
    }
  }

  /// - Returns: for each request, whether all its objects are whole and durable. The files of a request
  ///   that failed are discarded, but for those that had their names already.
  func perform(_ requests: [[StagedObject]]) -> [Result<Void, StorageFailure>] {
    var outcomes = requests.map { Outcome(staged: $0) }
    for index in outcomes.indices { outcomes[index].advance(syncBytes) }
    CrashSeam.bytesSynced.reached()
    for index in outcomes.indices { outcomes[index].advance(objects.name) }
    for (branch, failure) in syncBranches(of: outcomes) {
      for index in outcomes.indices { outcomes[index].fail(failure, inBranch: branch) }
    }
    return outcomes.map(\.result)
  }

  private func syncBytes(_ object: StagedObject) throws(StorageFailure) {
    var status = stat()
    guard fstat(object.file.descriptor, &status) == 0 else {
      throw StorageFailure(errno: errno, "look at", object.file.path)
    }
    guard object.bytes > 0, Int(status.st_size) == object.bytes else {
      throw .notWhole(object.digest, expected: object.bytes, found: Int(status.st_size))
    }
    // Also where the object is there already: it may be removed before this file is to take its name.
    // Never repeated after an error: the kernel has then given the pages up and would report success.
    guard retryingInterrupts({ fdatasync(object.file.descriptor) }) == 0 else {
      throw StorageFailure(errno: errno, "sync", object.file.path)
    }
  }

  /// Each branch that a request of the group needs, once; those that failed are returned.
  private func syncBranches(of outcomes: [Outcome]) -> [(UInt8, StorageFailure)] {
    let branches = Set(outcomes.flatMap(\.branches))
    return branches.compactMap { branch in
      do throws(StorageFailure) {
        try objects.syncBranch(branch)
        return nil
      } catch {
        return (branch, error)
      }
    }
  }

  /// How one request has fared so far.
  private struct Outcome {
    let staged: [StagedObject]
    var failure: StorageFailure?

    var result: Result<Void, StorageFailure> { failure.map { .failure($0) } ?? .success(()) }

    var branches: [UInt8] {
      failure == nil ? staged.map { ObjectFolder.branch(of: $0.digest) } : []
    }

    /// Takes each of its objects one step further, up to the first that fails.
    mutating func advance(_ step: (StagedObject) throws(StorageFailure) -> Void) {
      guard failure == nil else { return }
      do throws(StorageFailure) {
        for object in staged { try step(object) }
      } catch {
        failure = error
        for object in staged { object.file.discard() }
      }
    }

    mutating func fail(_ reason: StorageFailure, inBranch branch: UInt8) {
      if failure == nil, branches.contains(branch) { failure = reason }
    }
  }
}
