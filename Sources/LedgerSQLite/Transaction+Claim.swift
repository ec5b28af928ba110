import LedgerCore
import Vocabulary

/// One call's claiming: goes round the hosts, a few entries of each in turn, from where the run's
/// cursor stands.
struct Claiming {
  let transaction: Transaction
  let request: ClaimRequest
  let cursor: RunCursor
  private(set) var claims: [Claim] = []
  private var taken: [String: Int] = [:]
  private var claimed: Set<EntryKey> = []
  private var heldBack = false
  private var leasedElsewhere = 0
  private var nextLeaseEnd: Timestamp?
  private var rowsLeft = Self.rowsPerTransaction

  /// So that no transaction lasts: a call that finds nothing within so many rows goes on in another.
  static let rowsPerTransaction = 50_000
  /// Of one entry; a picture that more items name comes in several claims.
  static let itemsPerClaim = 1_000

  init(_ transaction: Transaction, _ request: ClaimRequest, _ cursor: RunCursor) {
    self.transaction = transaction
    self.request = request
    self.cursor = cursor
  }

  private var connection: Connection { transaction.connection }
  private var isFull: Bool { claims.count >= request.limit }

  /// - Returns: what was claimed, and whether rows are left that were not looked at.
  mutating func result() throws(LedgerFailure) -> (ClaimResult, isCutShort: Bool) {
    if let calledOff = try calledOff() {
      let nothing = ClaimResult(
        claims: [], leasedElsewhere: 0, nextLeaseEnd: nil, heldBack: false, calledOff: calledOff)
      return (nothing, isCutShort: false)
    }
    // Others' leases end without a word to us.
    if request.now - cursor.passedOverLookedAt >= .seconds(1) { try lookAtPassedOver() }
    try takeArrivals()
    try goRound()
    if !isFull { try lookAtPassedOver() }
    let result = ClaimResult(
      claims: claims, leasedElsewhere: leasedElsewhere, nextLeaseEnd: nextLeaseEnd,
      heldBack: heldBack)
    return (result, isCutShort: rowsLeft <= 0 && !isFull)
  }

  private func calledOff() throws(LedgerFailure) -> CallOff? {
    let job = try connection.first(
      "SELECT paused, cancelled_through FROM jobs WHERE number = ?", .int(request.job.value)
    ) { (isPaused: $0.int(0) == 1, cancelledThrough: $0.int(1)) }
    guard let job else { return .cancelled }  // it was removed
    if job.isPaused { return .paused }
    return job.cancelledThrough >= request.run.value ? .cancelled : nil
  }

  /// How many more entries of a host may be claimed.
  private func room(_ host: String) -> Int {
    (request.room[host] ?? request.perHost) - (taken[host] ?? 0)
  }
}

// MARK: The round of hosts

extension Claiming {
  /// Reads the job's hosts again if items were made due at once since.
  private func takeArrivals() throws(LedgerFailure) {
    let arrivals = try connection.first(
      "SELECT arrivals FROM jobs WHERE number = ?", .int(request.job.value)
    ) { $0.int(0) }
    guard let arrivals, arrivals != cursor.arrivals else { return }
    let hosts = try connection.all(
      """
      SELECT host, name FROM host_counts JOIN hosts ON number = host WHERE job = ? ORDER BY host
      """, .int(request.job.value)
    ) { (number: $0.int(0), name: $0.text(1)) }
    cursor.renew(hosts: hosts, arrivals: arrivals)
  }

  private mutating func goRound() throws(LedgerFailure) {
    var found = true
    while found, !isFull, rowsLeft > 0 {
      found = false
      let open = cursor.hosts.count { $0.isOpen(request.due) }
      let portion = max(1, request.limit / max(1, open))
      for _ in cursor.hosts.indices {
        guard !isFull, rowsLeft > 0 else { return }
        let place = cursor.nextHost
        cursor.nextHost = (place + 1) % cursor.hosts.count
        guard cursor.hosts[place].isOpen(request.due) else { continue }
        if try visit(place, portion) { found = true }
      }
    }
  }

  /// - Returns: whether anything was claimed.
  private mutating func visit(_ place: Int, _ portion: Int) throws(LedgerFailure) -> Bool {
    var wanted = min(portion, room(cursor.hosts[place].name), request.limit - claims.count)
    let mayTake = wanted > 0
    // Without room, one look tells whether that is what holds something back.
    if !mayTake, heldBack { return false }
    let before = claims.count
    var host = cursor.hosts[place]
    defer { cursor.hosts[place] = host }
    try pass(&host.atOnce, Self.atOnce, last: 0, host, &wanted)
    if mayTake ? wanted > 0 : !heldBack {
      try pass(&host.expired, Self.expired, last: request.due.lastDue, host, &wanted)
    }
    if request.due.takesFailedLane, mayTake ? wanted > 0 : !heldBack {
      try pass(&host.failed, Self.failed, last: .max - 1, host, &wanted)
    }
    return claims.count > before
  }
}

// MARK: Lanes

extension Claiming {
  /// How a lane is read on from a place: first the rest of the same due time, then what is later. One
  /// comparison of (due_at, number) would read a due time that many items share from its start.
  struct Queries {
    var sameTime: StaticString
    var later: StaticString?
  }

  static let atOnce = Queries(
    sameTime: """
      SELECT * FROM claimable
      WHERE job = ? AND host = ? AND due_at = ? AND number > ? ORDER BY number
      """)
  static let expired = Queries(
    sameTime: atOnce.sameTime,
    later: """
      SELECT * FROM claimable
      WHERE job = ? AND host = ? AND due_at > ? ORDER BY due_at, number
      """)
  static let failed = Queries(
    sameTime: """
      SELECT * FROM claimable
      WHERE state = 2 AND job = ? AND host = ? AND due_at = ? AND number > ? ORDER BY number
      """,
    later: """
      SELECT * FROM claimable
      WHERE state = 2 AND job = ? AND host = ? AND due_at > ? ORDER BY due_at, number
      """)

  /// Moves along a lane and claims until `wanted` is 0. With `wanted` 0 from the start it stops at the
  /// first row that could be claimed, and says so in `heldBack`.
  private mutating func pass(
    _ lane: inout RunCursor.Lane, _ queries: Queries, last: Int64, _ host: RunCursor.Host,
    _ wanted: inout Int
  ) throws(LedgerFailure) {
    guard lane.isOpen(last) else { return }
    let isLookOnly = wanted <= 0
    let place: [SQLValue] = [
      .int(request.job.value), .int(host.number), .int(lane.dueAt), .int(lane.number),
    ]
    lane.resumesAt = .max
    try pass(queries.sameTime, place, &lane, last, host, &wanted, isLookOnly)
    if let later = queries.later, lane.resumesAt == .max {
      try pass(later, place.dropLast(), &lane, last, host, &wanted, isLookOnly)
    }
  }

  private mutating func pass(
    _ query: StaticString, _ place: [SQLValue], _ lane: inout RunCursor.Lane, _ last: Int64,
    _ host: RunCursor.Host, _ wanted: inout Int, _ isLookOnly: Bool
  ) throws(LedgerFailure) {
    let statement = try connection.statement(query)
    statement.bind(place)
    try connection.forEach(statement) { row throws(LedgerFailure) in
      let dueAt = row.int(4)
      guard dueAt <= last, rowsLeft > 0, isLookOnly || wanted > 0 else {
        lane.resumesAt = dueAt
        return false
      }
      rowsLeft -= 1
      if row.int(5) != request.run.value, let entry = row.key(8), !claimed.contains(entry) {
        if isLookOnly {
          guard try isHeld(entry) else {
            heldBack = true
            lane.resumesAt = dueAt
            return false
          }
          cursor.passOver(entry)
        } else {
          switch try claim(row, entry, host.name) {
          case .claimed: wanted -= 1
          case .held: cursor.passOver(entry)
          case .notDue: break
          }
        }
      }
      (lane.dueAt, lane.number) = (dueAt, row.int(0))
      return true
    }
  }

  private func holder(of entry: EntryKey) throws(LedgerFailure) -> Holder? {
    try transaction.holder(of: entry, at: request.now, lease: request.leaseDuration)
  }

  private func isHeld(_ entry: EntryKey) throws(LedgerFailure) -> Bool {
    try holder(of: entry) != nil
  }
}

// MARK: Entries

extension Claiming {
  /// An item, and its entry where that is in its known place: one look instead of one for each table, since
  /// every item that is due comes this way. Of a connection's own.
  static let view = """
    CREATE TEMP VIEW claimable AS
      SELECT items.number, items.id, items.variants, items.state, items.due_at, items.run, items.url,
        items.published, items.entry, items.has_twin, items.job, items.host, entries.rowid AS place,
        entries.*
      FROM items LEFT JOIN entries ON entries.rowid = items.entry_place AND entries.key = items.entry
    """
  private static let placeColumn: Int32 = 12
  private static let entryColumn: Int32 = 13

  static let itemsQuery: StaticString = """
    SELECT * FROM claimable WHERE entry = ? AND job = ? AND number > ? ORDER BY number
    """

  private enum Attempt { case claimed, held, notDue }

  private struct DueEntry {
    /// Nil where it is not known yet.
    var entry: Entry?
    /// Those of the job's items that this run is to settle.
    var items: [ClaimedItem] = []
    /// As the first of them has it.
    var url = ""
    var isCutShort = false

    mutating func add(_ item: ClaimedItem, _ row: Row) {
      if items.isEmpty {
        url = row.text(6)
        entry = row.entry(from: entryColumn)
      }
      items.append(item)
    }
  }

  private func dueEntry(
    _ key: EntryKey, after number: Int64, limit: Int = itemsPerClaim
  ) throws(LedgerFailure) -> DueEntry {
    var due = DueEntry()
    let statement = try connection.statement(Self.itemsQuery)
    statement.bind(1, .key(key))
    statement.bind(2, .int(request.job.value))
    statement.bind(3, .int(number))
    try connection.forEach(statement) { row throws(LedgerFailure) in
      guard let item = dueItem(row) else { return true }
      guard due.items.count < limit else {
        due.isCutShort = true
        return false
      }
      due.add(item, row)
      return true
    }
    return due
  }

  /// - Returns: nil where the run is not to settle it.
  private func dueItem(_ row: Row) -> ClaimedItem? {
    let state = ItemState(rawValue: row.count(3)) ?? .pending
    guard row.int(5) != request.run.value, request.due.takes(state: state, dueAt: row.int(4)),
      let id = try? ItemID(row.text(1))
    else { return nil }
    return ClaimedItem(
      number: ItemNumber(row.int(0)), id: id, variants: VariantNames.read(row.optionalText(2)),
      state: state, published: row.publicationKey(7),
      before: ItemStanding(
        dueAt: row.time(4), run: RunNumber(row.int(5)),
        entryPlace: row.isNull(Self.placeColumn) ? nil : row.int(Self.placeColumn)))
  }

  private mutating func claim(
    _ row: Row, _ key: EntryKey, _ host: String
  ) throws(LedgerFailure) -> Attempt {
    guard row.int(9) == 0 else { return try claim(key, host, after: 0) }
    var due = DueEntry()
    if let item = dueItem(row) { due.add(item, row) }
    return try claim(key, host, due)
  }

  private mutating func claim(
    _ key: EntryKey, _ host: String, after number: Int64
  ) throws(LedgerFailure) -> Attempt {
    try claim(key, host, try dueEntry(key, after: number))
  }

  private mutating func claim(
    _ key: EntryKey, _ host: String, _ due: DueEntry
  ) throws(LedgerFailure) -> Attempt {
    var due = due
    if due.entry == nil, !due.items.isEmpty { try find(key, for: &due) }
    guard let last = due.items.last, let entry = due.entry ?? newEntry(key, due.url) else {
      return .notDue
    }
    let lease = try transaction.leaseIfFree(
      key, run: request.run.value, at: request.now, for: request.leaseDuration)
    guard let lease else { return .held }
    claims.append(
      Claim(
        lease: lease, entry: entry, items: due.items,
        variantFiles: try variantFiles(of: entry, for: due.items))
    )
    claimed.insert(key)
    taken[host, default: 0] += 1
    cursor.passedOver[key] = due.isCutShort ? last.number.value : nil
    return .claimed
  }

  /// By its key: it is new, or where it lies was not written down yet.
  private func find(_ key: EntryKey, for due: inout DueEntry) throws(LedgerFailure) {
    let found = try connection.first("SELECT rowid, * FROM entries WHERE key = ?", .key(key)) {
      (place: $0.int(0), entry: $0.entry(from: 1))
    }
    due.entry = found?.entry
    for i in due.items.indices { due.items[i].before?.entryPlace = found?.place }
  }

  private func newEntry(_ key: EntryKey, _ url: String) -> Entry? {
    (try? ItemURL(url)).map { Entry(key: key, url: $0) }
  }

  /// See `Claim.variantFiles`.
  private func variantFiles(
    of entry: Entry, for items: [ClaimedItem]
  ) throws(LedgerFailure) -> [ObjectRecord] {
    guard request.fileLook.takes(entry.key, in: request.run), let original = entry.original?.digest,
      items.allSatisfy({ $0.published != nil })
    else { return [] }
    return try connection.all(
      "SELECT digest, bytes FROM variants WHERE original = ? AND digest IS NOT NULL",
      .digest(original)
    ) { ObjectRecord(digest: $0.digest(0)!, bytes: $0.count(1)) }  // 32 bytes by its CHECK
  }
}

// MARK: What others hold

extension Claiming {
  /// Claims of what was passed over whatever is free by now, and counts the rest.
  private mutating func lookAtPassedOver() throws(LedgerFailure) {
    cursor.passedOverLookedAt = request.now
    leasedElsewhere = 0
    nextLeaseEnd = nil
    for (entry, after) in cursor.passedOver where !claimed.contains(entry) {
      if let holder = try holder(of: entry) {
        guard holder.run != request.run.value || holder.owner != transaction.owner else { continue }
        leasedElsewhere += 1
        nextLeaseEnd = min(nextLeaseEnd ?? holder.expires, holder.expires)
        continue
      }
      guard !isFull else { continue }
      let due = try dueEntry(entry, after: after, limit: 1)
      guard let url = try? ItemURL(due.url), !due.items.isEmpty else {
        cursor.passedOver[entry] = nil
        continue
      }
      guard room(url.host) > 0 else {
        heldBack = true
        continue
      }
      _ = try claim(entry, url.host, after: after)
    }
  }
}
