import LedgerCore
import Vocabulary

/// The links that one call makes or removes: the last word on each name counts.
struct LinkChanges {
  private struct Name: Hashable { var job: Int64; var path: ExactText }

  private var positions: [Name: Int] = [:]
  private(set) var tasks: [LinkTask] = []

  mutating func add(_ task: LinkTask) {
    let name = Name(job: task.job.value, path: ExactText(task.path))
    if let position = positions[name] {
      tasks[position] = task
    } else {
      positions[name] = tasks.count
      tasks.append(task)
    }
  }
}

extension Transaction {
  /// Makes these an item's names and takes the others from it.
  func publish(
    _ names: [Publication], item: Int64, job: Int64, _ links: inout LinkChanges
  ) throws(LedgerFailure) {
    let held = try connection.all(
      "SELECT path FROM published WHERE item = ?", .int(item)
    ) { $0.text(0) }
    if !held.isEmpty {
      let wanted = Set(names.map { ExactText($0.path) })
      for path in held where !wanted.contains(ExactText(path)) {
        try removeName(path, job: job, &links)
      }
    }
    for name in names {
      // An item without names is nearly always new, and so are they.
      if held.isEmpty, try add(name, item: item, job: job, &links) { continue }
      try publish(name, item: item, job: job, &links)
    }
  }

  /// - Returns: false where the name is there, whoever has it; nothing was changed.
  private func add(
    _ name: Publication, item: Int64, job: Int64, _ links: inout LinkChanges
  ) throws(LedgerFailure) -> Bool {
    let added = try connection.run(
      "INSERT INTO published VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", .int(job),
      .text(name.path), .int(item), .text(name.variant), .digest(name.object), .time(clock))
    guard added == 1 else { return false }
    links.add(try task(job: job, path: name.path, object: name.object))
    return true
  }

  private func publish(
    _ name: Publication, item: Int64, job: Int64, _ links: inout LinkChanges
  ) throws(LedgerFailure) {
    let known = try connection.first(
      "SELECT item, variant, object, pending_since FROM published WHERE job = ? AND path = ?",
      .int(job), .text(name.path)
    ) { row in
      (
        stands: row.digest(2) == name.object && row.isNull(3),
        isSame: row.int(0) == item && row.text(1) == name.variant, object: row.digest(2)
      )
    }
    if let known, known.stands, known.isSame { return }
    let stands = known?.stands ?? false
    // Never REPLACE: it would take the old row away without a word to the object's count.
    try connection.run(
      """
      INSERT INTO published VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (job, path) DO UPDATE SET item = excluded.item, variant = excluded.variant,
        object = excluded.object, pending_since = excluded.pending_since
      """, .int(job), .text(name.path),
      .int(item), .text(name.variant), .digest(name.object), stands ? .null : .time(clock))
    guard !stands else { return }
    links.add(try task(job: job, path: name.path, object: name.object))
    if let before = known?.object, before != name.object { try removeIfUnused(before) }
  }

  /// After its names were written: a name that changes later takes it away again, by a trigger.
  func notePublished(_ key: PublicationKey?, of item: ItemNumber) throws(LedgerFailure) {
    try connection.run(
      "UPDATE items SET published = ?1 WHERE number = ?2 AND published IS NOT ?1",
      key.map { .int($0.rawValue) } ?? .null, .int(item.value))
  }

  func removeNames(ofItem item: Int64, _ links: inout LinkChanges) throws(LedgerFailure) {
    let held = try connection.all(
      "SELECT job, path FROM published WHERE item = ?", .int(item)
    ) { ($0.int(0), $0.text(1)) }
    for (job, path) in held { try removeName(path, job: job, &links) }
  }

  func removeNames(
    ofItem item: Int64, of objects: Set<Digest>, _ links: inout LinkChanges
  ) throws(LedgerFailure) {
    guard !objects.isEmpty else { return }
    let held = try connection.all(
      "SELECT job, path, object FROM published WHERE item = ?", .int(item)
    ) { (job: $0.int(0), path: $0.text(1), object: $0.digest(2)) }
    for name in held where name.object.map({ objects.contains($0) }) ?? false {
      try removeName(name.path, job: name.job, &links)
    }
  }

  func removeName(
    _ path: String, job: Int64, _ links: inout LinkChanges
  ) throws(LedgerFailure) {
    let object = try connection.first(
      "SELECT object FROM published WHERE job = ? AND path = ?", .int(job), .text(path)
    ) { $0.digest(0) }
    try connection.run(
      """
      UPDATE published SET item = NULL, object = NULL, pending_since = ?
      WHERE job = ? AND path = ?
      """, .time(clock), .int(job), .text(path))
    links.add(try task(job: job, path: path, object: nil))
    if case let object?? = object { try removeIfUnused(object) }
  }

  private func task(job: Int64, path: String, object: Digest?) throws(LedgerFailure) -> LinkTask {
    LinkTask(job: JobNumber(job), jobName: try jobName(job), path: path, object: object)
  }

  private func jobName(_ job: Int64) throws(LedgerFailure) -> String {
    if let name = jobNames[job] { return name }
    let name = try connection.first(
      "SELECT name FROM jobs WHERE number = ?", .int(job)
    ) { $0.text(0) }
    jobNames[job] = name ?? ""
    return name ?? ""
  }

  /// What was linked has been another's turn since: a worker that was held up may have put an old file in
  /// a newer one's place, or made a name that is to be none.
  private func seeTo(_ link: LinkTask) throws(LedgerFailure) {
    try connection.run(
      """
      INSERT INTO published (job, path, item, variant, object, pending_since)
        SELECT number, ?2, NULL, '', NULL, ?3 FROM jobs WHERE number = ?1
      ON CONFLICT (job, path) DO UPDATE SET pending_since = excluded.pending_since
      """, .int(link.job.value), .text(link.path), .time(clock))
  }

  /// Links that were made or removed. One that the ledger wants otherwise by now stays to be done.
  func confirm(_ links: [LinkTask]) throws(LedgerFailure) {
    for link in links {
      if let object = link.object {
        let confirmed = try connection.run(
          """
          UPDATE published SET pending_since = NULL WHERE job = ? AND path = ? AND object = ?
          """, .int(link.job.value), .text(link.path), .digest(object))
        if confirmed == 0 { try seeTo(link) }
        continue
      }
      let removed = try connection.run(
        "DELETE FROM published WHERE job = ? AND path = ? AND object IS NULL",
        .int(link.job.value), .text(link.path))
      guard removed == 0 else { continue }
      // The name was given away anew while its removal was under way, which may have hit the new link.
      try connection.run(
        "UPDATE published SET pending_since = ? WHERE job = ? AND path = ?", .time(clock),
        .int(link.job.value), .text(link.path))
    }
  }
}
