import LedgerCore
import Vocabulary

extension LedgerWriter {
  /// Rows that one transaction of housekeeping changes, so that runs need not wait for it.
  private static let rowsPerTransaction = 512

  // MARK: Jobs

  func setPaused(_ isPaused: Bool, job name: String) throws(LedgerFailure) -> Bool {
    try alone { transaction throws(LedgerFailure) in
      try transaction.setPaused(isPaused, job: name)
    }
  }

  func cancelRuns(ofJob name: String) throws(LedgerFailure) -> Bool {
    try alone { transaction throws(LedgerFailure) in try transaction.cancelRuns(ofJob: name) }
  }

  /// As if a manifest without items had been read.
  func emptyJob(
    named name: String, keepsNames: Bool
  ) async throws(LedgerFailure) -> JobNumber? {
    let known = try live().first(
      "SELECT settings, settings_digest FROM jobs WHERE name = ?", .text(name)
    ) { (settings: $0.text(0), digest: $0.digest(1)!) }  // NOT NULL, of 32 bytes
    guard let known else { return nil }
    let ticket = try await beginIngest(
      name: name, settings: known.settings, digest: known.digest)
    _ = try await finishIngest(ticket, identity: nil, prune: !keepsNames)
    return ticket.job
  }

  func forgetJob(_ job: JobNumber) async throws(LedgerFailure) -> Bool {
    var isMore = true
    while isMore {
      let result = try alone { transaction throws(LedgerFailure) in
        try transaction.forgetJob(job, names: Self.rowsPerTransaction)
      }
      guard let result else { return false }
      isMore = result
      await Task.yield()  // to claims and settlements that wait
    }
    return true
  }

  func forgetLinks(of job: JobNumber, at now: Timestamp) async throws(LedgerFailure) {
    var last: String? = ""
    while let place = last {
      last = try alone { transaction throws(LedgerFailure) in
        try transaction.forgetLinks(
          of: job, after: place, limit: Self.rowsPerTransaction, at: now)
      }
      await Task.yield()  // to claims and settlements that wait
    }
  }

  // MARK: Failures

  func retryFailed(job: JobNumber, codes: Set<String>?) async throws(LedgerFailure) -> Int {
    let hosts = try live().all(
      "SELECT host FROM host_counts WHERE job = ?", .int(job.value)
    ) { $0.int(0) }
    var count = 0
    for host in hosts {
      var place: FailedPlace? = FailedPlace()
      while let from = place {
        let (done, next) = try alone { transaction throws(LedgerFailure) in
          try transaction.retryFailed(
            job: job, host: host, codes: codes, after: from, limit: Self.rowsPerTransaction)
        }
        count += done
        place = next
        await Task.yield()  // to claims and settlements that wait
      }
    }
    return count
  }

  // MARK: Entries and objects

  func note(_ unneeded: [EntryKey: Timestamp?]) throws(LedgerFailure) {
    try alone { transaction throws(LedgerFailure) in try transaction.note(unneeded) }
  }

  func purge(_ keys: [EntryKey]) throws(LedgerFailure) -> PurgeResult {
    try alone { transaction throws(LedgerFailure) in
      var links = LinkChanges()
      var result = PurgeResult()
      for key in keys { result += try transaction.purge(key, &links) }
      result.links = links.tasks
      return result
    }
  }

  func letGoUnused(_ digests: [Digest]) throws(LedgerFailure) -> [Digest] {
    try alone { transaction throws(LedgerFailure) in
      var gone: [Digest] = []
      for digest in digests where try transaction.removeIfUnused(digest) { gone.append(digest) }
      return gone
    }
  }

  func note(unwanted: [RecipeKey: Timestamp]) throws(LedgerFailure) {
    try alone { transaction throws(LedgerFailure) in try transaction.note(unwanted: unwanted) }
  }

  func forgetVariants(_ variants: [VariantKey]) throws(LedgerFailure) {
    try alone { transaction throws(LedgerFailure) in
      for variant in variants { try transaction.forget(variant) }
    }
  }

  func letGoVariants(of originals: [Digest]) throws(LedgerFailure) {
    try alone { transaction throws(LedgerFailure) in
      for original in originals { try transaction.letGo(original) }
    }
  }

  func forget(_ links: [LinkTask]) throws(LedgerFailure) {
    try alone { transaction throws(LedgerFailure) in try transaction.forget(links) }
  }

  func makeDue(
    restingOn objects: Set<Digest>, withdrawing: Set<Digest>
  ) async throws(LedgerFailure) -> PurgeResult {
    // All are found before anything is forgotten: equal bytes have many URLs.
    var resting: [(key: EntryKey, original: Digest)] = []
    var last: EntryKey?
    while case let page = try originals(after: last, limit: Self.rowsPerTransaction),
      let end = page.last
    {
      last = end.key
      resting += try alone { transaction throws(LedgerFailure) in
        var found: [(key: EntryKey, original: Digest)] = []
        for entry in page where try transaction.rests(entry.original, on: objects) {
          found.append(entry)
        }
        return found
      }
      await Task.yield()  // to claims and settlements that wait
    }
    var sum = PurgeResult()
    var forgotten: Set<Digest> = []
    while !resting.isEmpty {
      let some = Array(resting.prefix(Self.rowsPerTransaction))
      resting.removeFirst(some.count)
      sum += try alone { transaction throws(LedgerFailure) in
        try transaction.makeDue(some, restingOn: objects, withdrawing: withdrawing, &forgotten)
      }
      await Task.yield()
    }
    return sum
  }

  func makeDue(
    named names: [LinkTask], withdrawing: Set<Digest>
  ) throws(LedgerFailure) -> PurgeResult {
    try alone { transaction throws(LedgerFailure) in
      try transaction.makeDue(named: names, withdrawing: withdrawing)
    }
  }

  static let originalsQuery: StaticString = """
    SELECT key, original FROM entries WHERE key > ? AND original IS NOT NULL ORDER BY key LIMIT ?
    """

  private func originals(
    after key: EntryKey?, limit: Int
  ) throws(LedgerFailure) -> [(key: EntryKey, original: Digest)] {
    try live().all(Self.originalsQuery, .key(after: key), .int(limit)) {
      ($0.key(0)!, $0.digest(1)!)  // the query asks for those that have both
    }
  }

  func keepPlace(_ place: String?, of look: String) throws(LedgerFailure) {
    try alone { transaction throws(LedgerFailure) in try transaction.keepPlace(place, of: look) }
  }
}

extension SQLValue {
  /// What every key is greater than, where there is none to be greater than.
  static func key(after key: EntryKey?) -> SQLValue { key.map { .key($0) } ?? .text("") }
  /// What every digest is greater than, where there is none to be greater than.
  static func digest(after digest: Digest?) -> SQLValue { digest.map { .digest($0) } ?? .text("") }
}
