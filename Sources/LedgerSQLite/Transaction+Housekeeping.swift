import LedgerCore
import Vocabulary

// MARK: Jobs

extension Transaction {
  func setPaused(_ isPaused: Bool, job name: String) throws(LedgerFailure) -> Bool {
    try connection.run(
      "UPDATE jobs SET paused = ? WHERE name = ?", .int(isPaused), .text(name)) == 1
  }

  func cancelRuns(ofJob name: String) throws(LedgerFailure) -> Bool {
    try connection.run(
      """
      UPDATE jobs SET cancelled_through =
        coalesce((SELECT max(number) FROM runs WHERE job = jobs.number), 0)
      WHERE name = ?
      """, .text(name)) == 1
  }

  /// Forgets a job without items and without names that are still to go, so many names at a time.
  ///
  /// - Returns: whether there are more; nil where it has items again, or names that are to go.
  func forgetJob(_ job: JobNumber, names limit: Int) throws(LedgerFailure) -> Bool? {
    let isInUse = try connection.first(
      """
      SELECT EXISTS (SELECT 1 FROM item_ids WHERE job = ?1)
        OR EXISTS (SELECT 1 FROM published WHERE job = ?1 AND pending_since IS NOT NULL)
      """, .int(job.value)
    ) { $0.int(0) == 1 }
    guard isInUse == false else { return nil }
    let names = try connection.run(
      """
      DELETE FROM published WHERE job = ?1 AND path IN
        (SELECT path FROM published WHERE job = ?1 ORDER BY path LIMIT ?2)
      """, .int(job.value), .int(limit))
    guard names < limit else { return true }
    for statement: StaticString in [
      "DELETE FROM run_counts WHERE run IN (SELECT number FROM runs WHERE job = ?)",
      "DELETE FROM runs WHERE job = ?", "DELETE FROM job_counts WHERE job = ?",
      "DELETE FROM due_by_minute WHERE job = ?", "DELETE FROM host_counts WHERE job = ?",
      "DELETE FROM host_failures WHERE job = ?", "DELETE FROM sources WHERE job = ?",
      "DELETE FROM jobs WHERE number = ?",
    ] { try connection.run(statement, .int(job.value)) }
    return false
  }

  static let linkPageQuery: StaticString = """
    SELECT max(path), count(*) FROM
      (SELECT path FROM published WHERE job = ? AND path > ? ORDER BY path LIMIT ?)
    """

  /// None of a job's next names stands any more.
  ///
  /// - Returns: the last of them; nil at the end.
  func forgetLinks(
    of job: JobNumber, after path: String, limit: Int, at now: Timestamp
  ) throws(LedgerFailure) -> String? {
    let page = try connection.first(
      Self.linkPageQuery, .int(job.value), .text(path), .int(limit)
    ) { (end: $0.optionalText(0), count: $0.count(1)) }
    guard let page, let end = page.end else { return nil }
    try connection.run(
      """
      UPDATE published SET pending_since = ?
      WHERE job = ? AND path > ? AND path <= ? AND object IS NOT NULL
      """, .time(now), .int(job.value), .text(path), .text(end))
    return page.count == limit ? end : nil
  }
}

// MARK: Entries and objects

extension Transaction {
  func note(_ unneeded: [EntryKey: Timestamp?]) throws(LedgerFailure) {
    for (key, since) in unneeded {
      if let since {
        try connection.run(
          "INSERT OR REPLACE INTO unneeded VALUES (?, ?)", .key(key), .time(since))
      } else {
        try connection.run("DELETE FROM unneeded WHERE entry = ?", .key(key))
      }
    }
  }

  func note(unwanted: [RecipeKey: Timestamp]) throws(LedgerFailure) {
    try connection.run("DELETE FROM unwanted_recipes")
    for (recipe, since) in unwanted {
      try connection.run(
        "INSERT INTO unwanted_recipes VALUES (?, ?)", .key(recipe.key), .time(since))
    }
  }

  func forget(_ variant: VariantKey) throws(LedgerFailure) {
    let object = try connection.first(
      "SELECT digest FROM variants WHERE original = ? AND recipe = ?", .digest(variant.original),
      .key(variant.recipe.key)
    ) { $0.digest(0) }
    try connection.run(
      "DELETE FROM variants WHERE original = ? AND recipe = ?", .digest(variant.original),
      .key(variant.recipe.key))
    if case let object?? = object { try removeIfUnused(object) }
  }

  func forget(_ links: [LinkTask]) throws(LedgerFailure) {
    for link in links {
      try connection.run(
        """
        UPDATE published SET pending_since = ? WHERE job = ? AND path = ? AND object IS NOT NULL
        """, .time(clock), .int(link.job.value), .text(link.path))
    }
  }

  /// Makes the entries' items due at once; what was made of their originals as one of the objects, or of one
  /// that is damaged, is forgotten.
  ///
  /// - Parameter forgotten: originals whose variants were forgotten before.
  func makeDue(
    _ entries: [(key: EntryKey, original: Digest)], restingOn objects: Set<Digest>,
    withdrawing: Set<Digest>, _ forgotten: inout Set<Digest>
  ) throws(LedgerFailure) -> PurgeResult {
    var links = LinkChanges()
    var result = PurgeResult()
    for (key, original) in entries {
      guard let entry = try chain(from: key).first else { continue }
      result.entries += 1
      let isDamaged = withdrawing.contains(original)
      if isDamaged { try forgetFailures(from: key) }
      if forgotten.insert(original).inserted {
        try forgetVariants(of: original) { isDamaged || objects.contains($0) }
      }
      for leading in try keysLeading(to: [entry]) {
        for (number, standing) in try standings(naming: leading) {
          try makeDueAtOnce(number, standing)
          try removeNames(ofItem: number, of: withdrawing, &links)
          result.items += 1
        }
      }
    }
    result.links = links.tasks
    return result
  }

  /// Makes the items due at once that have these names; those of the objects go.
  func makeDue(
    named names: [LinkTask], withdrawing: Set<Digest>
  ) throws(LedgerFailure) -> PurgeResult {
    var links = LinkChanges()
    var result = PurgeResult()
    for name in names {
      guard let object = name.object else { continue }
      let row = try connection.first(
        "SELECT coalesce(item, 0) FROM published WHERE job = ? AND path = ? AND object = ?",
        .int(name.job.value), .text(name.path), .digest(object)
      ) { $0.int(0) }
      guard let item = row else { continue }  // it is another's by now
      if withdrawing.contains(object) { try removeName(name.path, job: name.job.value, &links) }
      guard let standing = try standing(of: item), standing.dueAt != 0 else { continue }
      try makeDueAtOnce(item, standing)
      result.items += 1
    }
    result.links = links.tasks
    return result
  }

  /// Whoever still asks for one has it made anew.
  private func forgetVariants(
    of original: Digest, where isLost: (Digest) -> Bool
  ) throws(LedgerFailure) {
    let variants = try connection.all(
      "SELECT recipe, digest FROM variants WHERE original = ? AND digest IS NOT NULL",
      .digest(original)
    ) { (recipe: $0.recipe(0)!, object: $0.digest(1)!) }  // NOT NULL
    for variant in variants where isLost(variant.object) {
      try forget(VariantKey(original: original, recipe: variant.recipe))
    }
  }

  func rests(_ original: Digest, on objects: Set<Digest>) throws(LedgerFailure) -> Bool {
    if objects.contains(original) { return true }
    let variants = try connection.all(
      "SELECT digest FROM variants WHERE original = ? AND digest IS NOT NULL", .digest(original)
    ) { $0.digest(0)! }  // NOT NULL, of 32 bytes
    return variants.contains { objects.contains($0) }
  }

  func keepPlace(_ place: String?, of look: String) throws(LedgerFailure) {
    if let place {
      try connection.run("INSERT OR REPLACE INTO progress VALUES (?, ?)", .text(look), .text(place))
    } else {
      try connection.run("DELETE FROM progress WHERE name = ?", .text(look))
    }
  }
}
