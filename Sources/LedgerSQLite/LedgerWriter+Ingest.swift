import LedgerCore
import Threading
import Vocabulary

extension LedgerWriter {
  /// Items that one transaction enters or removes: each may touch three pages of its own, and the WAL
  /// has room for 24 MiB (see `isWALWithinLimit`).
  private static let itemsPerTransaction = 2048
  /// Links that `finishIngest` hands back; the rest is told by `pendingLinks`.
  private static let linksReturned = 10_000

  func beginIngest(
    name: String, settings: String, digest: Digest
  ) async throws(LedgerFailure) -> IngestTicket {
    let (ticket, settingsChanged) = try alone { transaction throws(LedgerFailure) in
      try transaction.beginReading(name: name, settings: settings, digest: digest)
    }
    readings[ticket.job.value] = Reading(generation: ticket.generation)
    if settingsChanged { try await makeAllDue(ticket.job, digest) }
    return ticket
  }

  func keep(_ identity: ManifestIdentity, of job: JobNumber) throws(LedgerFailure) {
    try alone { transaction throws(LedgerFailure) in try transaction.keep(identity, of: job) }
  }

  func makeAllDue(of job: JobNumber) async throws(LedgerFailure) {
    let digest = try live().first(
      "SELECT settings_digest FROM jobs WHERE number = ?", .int(job.value)
    ) { $0.digest(0)! }  // NOT NULL, of 32 bytes
    if let digest { try await makeAllDue(job, digest) }
  }

  func makeAllDue() async throws(LedgerFailure) {
    let jobs = try live().all("SELECT number, settings_digest FROM jobs") {
      (JobNumber($0.int(0)), $0.digest(1)!)  // NOT NULL, of 32 bytes
    }
    for (job, digest) in jobs { try await makeAllDue(job, digest) }
  }

  /// They are kept last, so that a crash before does it again.
  func adopt(_ encoders: EncoderVersions) async throws(LedgerFailure) {
    try await makeAllDue()
    try alone { transaction throws(LedgerFailure) in try transaction.keepEncoders(encoders) }
  }

  /// The digest is kept with the last of them, so that a reading after a crash does it again.
  private func makeAllDue(_ job: JobNumber, _ digest: Digest) async throws(LedgerFailure) {
    let hosts = try live().all(
      "SELECT host FROM host_counts WHERE job = ?", .int(job.value)
    ) { $0.int(0) }
    for host in hosts {
      var count = 0
      repeat {
        count = try alone { transaction throws(LedgerFailure) in
          try transaction.makeDueAtOnce(job: job, host: host, limit: Self.itemsPerTransaction)
        }
        await Task.yield()  // to claims and settlements that wait
      } while count == Self.itemsPerTransaction
    }
    try alone { transaction throws(LedgerFailure) in
      try transaction.keepSettingsDigest(digest, of: job)
    }
  }

  func ingest(
    _ items: [ItemEntry], bad: [BadItem], ticket: IngestTicket
  ) async throws(LedgerFailure) -> [Int] {
    let incoming = items.map(IncomingItem.usable) + bad.map(IncomingItem.bad)
    var reading = try reading(of: ticket)
    readings[ticket.job.value] = nil  // so that its bits are changed in place
    defer { readings[ticket.job.value] = reading }
    var again: [Int] = []
    let others = try lookUp(incoming, ticket.job, &reading, &again)
    var rest = others[...]
    while !rest.isEmpty {
      let part = Self.oneTransaction(of: rest, incoming)
      try enter(part, incoming, ticket, &reading, &again)
      CrashSeam.itemsEntered.reached()
      rest = rest[part.endIndex...]
    }
    return again.sorted()
  }

  /// Bytes of text that one transaction enters, one item aside.
  private static let textPerTransaction = 8 << 20

  private static func oneTransaction(
    of others: ArraySlice<Other>, _ incoming: [IncomingItem]
  ) -> ArraySlice<Other> {
    let most = others.prefix(itemsPerTransaction)
    var bytes = 0
    let full = most.firstIndex { other in
      bytes += incoming[other.place].textBytes
      return bytes > textPerTransaction
    }
    return most[..<max(full ?? most.endIndex, most.startIndex + 1)]
  }

  private func reading(of ticket: IngestTicket) throws(LedgerFailure) -> Reading {
    guard let reading = readings[ticket.job.value], reading.generation == ticket.generation else {
      throw .other(path: try live().path, reason: "this reading of the manifest has ended")
    }
    return reading
  }

  /// An item that is not as the ledger has it.
  private struct Other {
    /// Its place in the window.
    var place: Int
    /// Its row, if it has one; it is marked as met then.
    var number: Int64?
  }

  /// Marks what the ledger has as it is: the whole window, where a manifest did not change. It takes
  /// no write lock.
  /// - Returns: the others, in the manifest's order.
  private func lookUp(
    _ incoming: [IncomingItem], _ job: JobNumber, _ reading: inout Reading, _ again: inout [Int]
  ) throws(LedgerFailure) -> [Other] {
    let connection = try live()
    let order = inOrderOfIDs(incoming)
    var others: [Other] = []
    try connection.reading { () throws(LedgerFailure) in
      var ids = try IDLookUp(connection, job: job)
      defer { ids.end() }
      for place in order {
        guard let known = try ids.find(incoming[place].id) else {
          others.append(Other(place: place))
          continue
        }
        guard reading.met.insert(known.number) else {
          again.append(place)
          continue
        }
        if known.signature != incoming[place].signature {
          others.append(Other(place: place, number: known.number))
        }
      }
    }
    return others.sorted { $0.place < $1.place }
  }

  /// By bytes, as SQLite's BINARY collation orders them. Equal ids in the manifest's order: the first of them counts.
  private func inOrderOfIDs(_ incoming: [IncomingItem]) -> [Int] {
    let ids = incoming.map(\.id)
    let isInOrder = zip(ids, ids.dropFirst()).allSatisfy { $0 <= $1 }
    guard !isInOrder else { return Array(ids.indices) }
    return ids.indices.sorted { (ids[$0], $0) < (ids[$1], $1) }
  }

  private func enter(
    _ part: ArraySlice<Other>, _ incoming: [IncomingItem], _ ticket: IngestTicket,
    _ reading: inout Reading, _ again: inout [Int]
  ) throws(LedgerFailure) {
    try alone { transaction throws(LedgerFailure) in
      // Another reading has begun meanwhile and may have ended: what we add was not seen by it.
      if try !transaction.isNewest(ticket) { try transaction.forgetManifest(ticket.job) }
      for other in part {
        let item = incoming[other.place]
        if let number = other.number, try transaction.update(number, to: item) { continue }
        switch try transaction.enter(item, job: ticket.job) {
        case .new(let number): _ = reading.met.insert(number)
        case .met(let number):
          if reading.met.insert(number) {
            _ = try transaction.update(number, to: item)
          } else {
            again.append(other.place)
          }
        }
      }
    }
  }
}

// MARK: The end of a reading

extension LedgerWriter {
  func finishIngest(
    _ ticket: IngestTicket, identity: ManifestIdentity?, prune: Bool
  ) async throws(LedgerFailure) -> [LinkTask] {
    let reading = try reading(of: ticket)
    defer { readings[ticket.job.value] = nil }
    var removed: [LinkTask] = []
    if try items(of: ticket.job) != reading.met.count {
      removed = try await removeUnmet(ticket, reading.met, prune: prune)
    }
    try alone { transaction throws(LedgerFailure) in
      guard let identity, try transaction.isNewest(ticket) else { return }
      try transaction.keep(identity, of: ticket.job)
    }
    return removed
  }

  private func items(of job: JobNumber) throws(LedgerFailure) -> Int? {
    try live().first(
      "SELECT sum(n) FROM job_counts WHERE job = ?", .int(job.value)
    ) { $0.count(0) }
  }

  static let idsPageQuery: StaticString = """
    SELECT id, item FROM item_ids WHERE job = ? AND id > ? ORDER BY job, id LIMIT 20000
    """

  /// Goes through the job's items in pages and removes those that the reading did not meet.
  private func removeUnmet(
    _ ticket: IngestTicket, _ met: MetItems, prune: Bool
  ) async throws(LedgerFailure) -> [LinkTask] {
    var links: [LinkTask] = []
    var last = ""
    while true {
      let page = try live().all(
        Self.idsPageQuery, .int(ticket.job.value), .text(last)
      ) { (id: $0.text(0), number: $0.int(1)) }
      guard let end = page.last else { return links }
      last = end.id
      var unmet = page.map(\.number).filter { !met.contains($0) }[...]
      while !unmet.isEmpty {
        let part = unmet.prefix(Self.itemsPerTransaction / 4)
        unmet = unmet.dropFirst(part.count)
        let tasks = try alone { transaction throws(LedgerFailure) in
          var links = LinkChanges()
          // A reading that began after this one decides what is to go.
          guard try transaction.isNewest(ticket) else { return links.tasks }
          for number in part { try transaction.remove(number, prune: prune, &links) }
          return links.tasks
        }
        links += tasks.prefix(Self.linksReturned - links.count)
        await Task.yield()  // to claims and settlements that wait
      }
    }
  }
}
