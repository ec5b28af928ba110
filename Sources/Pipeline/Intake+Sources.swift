import LedgerCore
import Manifests
import Storage
import Vocabulary

// Sources: each in the manifest's order, the sitemaps of an index behind it.

extension Intake {
  /// An index of indexes of sitemaps is as deep as anybody goes.
  private static let mostDepth = 3
  /// Of sitemaps that indexes list, in one manifest.
  private static let mostChildren = 50_000

  private struct ListedSource {
    let address: SourceAddress
    /// What the ids of its bad lines begin with.
    let place: String
    var depth = 1
  }

  func takeSources(_ reading: inout IntakeReading) async throws {
    var met = Set(manifest.sources)
    var toRead = manifest.sources.enumerated().map { i, address in
      ListedSource(address: address, place: "sources[\(i)]")
    }
    var children = 0
    toRead.reverse()
    while let source = toRead.popLast(), !watch.isCancelled() {
      guard let end = try await take(source, &reading), !end.children.isEmpty else { continue }
      let new = end.children.map { SourceAddress($0) }.filter { met.insert($0).inserted }
      children += new.count
      guard source.depth < Self.mostDepth, children <= Self.mostChildren else {
        fail(
          SourceFailure(
            source.address.shown,
            "it lists sitemaps \(Self.mostDepth) deep, or more than \(Self.mostChildren) of them",
            hint: "give the sitemaps themselves as sources"), &reading)
        continue
      }
      let urls = new.compactMap(\.url)
      if !urls.allSatisfy(desk.knows) { tell(of: reading, waits: true) }
      try await desk.ask(urls, credentialsFor: isTrusted)
      toRead += new.enumerated().reversed().map { i, address in
        ListedSource(address: address, place: "\(source.place).\(i)", depth: source.depth + 1)
      }
    }
  }

  /// Credentials go where the manifest's own sources are.
  func isTrusted(_ url: ItemURL) -> Bool {
    manifest.sources.contains { $0.url?.origin == url.origin }
  }

  /// - Returns: nil where it could not be read to its end.
  private func take(_ source: ListedSource, _ reading: inout IntakeReading) async throws
    -> SourceEnd?
  {
    guard let file = try await file(of: source.address, &reading) else { return nil }
    let order = SourceReader.Order(
      path: file.path, of: source.address, place: source.place, of: manifest)
    let pages = ItemPages()
    do {
      try await pages.open(order, isCancelled: watch.isCancelled)
      let isPipe = await pages.isPipe
      tell(of: reading, waits: isPipe)
      while case let page = try await pages.nextPage(), !page.isEmpty {
        // One picture may be on many pages of a site.
        let mayRepeat = await pages.format == .sitemap
        try await enter(page, order, mayRepeat: mayRepeat, &reading)
        tell(of: reading, waits: isPipe)
      }
    } catch let failure as SourceFailure {
      fail(failure, &reading)
      return nil
    }
    guard let end = await pages.end() else { return nil }
    note(end, of: source.address, &reading)
    return end
  }

  private func enter(
    _ page: SourcePage, _ order: SourceReader.Order, mayRepeat: Bool,
    _ reading: inout IntakeReading
  ) async throws {
    let sorted = SortedItems(page.items)
    let again = try await ledger.ingest(sorted.items, bad: sorted.bad, ticket: reading.ticket)
    reading.items += page.items.count - again.count
    if !again.isEmpty, !mayRepeat {
      let repeated = again.map { sorted.place(of: $0) }.map { place in
        badItem(
          line: page.lines[place], shown: order.shown, place: order.place,
          "the id \"\(page.items[place].id)\" has been given before")
      }
      _ = try await ledger.ingest([], bad: SortedItems(repeated).bad, ticket: reading.ticket)
      reading.items += repeated.count
    }
  }

  private struct Found { var path: String? }

  /// - Returns: nil where there is nothing to read.
  private func file(
    of address: SourceAddress, _ reading: inout IntakeReading
  ) async throws -> Found? {
    switch address.location {
    case .standardInput: return Found(path: nil)
    case .file(let path): return Found(path: path)
    case .web(let url):
      if !desk.knows(url) { tell(of: reading, waits: true) }
      let copy = try await desk.copy(of: url, sendsCredentials: isTrusted(url))
      if let failure = copy.failure { reading.failures.append(failure) }
      if copy.kept == nil { reading.isComplete = false }
      return copy.kept.map { Found(path: $0.path) }
    }
  }

  private func note(
    _ end: SourceEnd, of address: SourceAddress, _ reading: inout IntakeReading
  ) {
    switch address.location {
    case .web:
      reading.identities.append(SourceIdentity(address: address.text, digest: end.digest))
    case .file, .standardInput:
      guard let file = end.identity, case .file(let path) = address.location else {
        reading.isRepeatable = false
        return
      }
      reading.identities.append(
        SourceIdentity(file, path: path, digest: end.digest, readAt: reading.startedAt))
    }
  }

  private func fail(_ failure: SourceFailure, _ reading: inout IntakeReading) {
    reading.isComplete = false
    if !watch.isCancelled() { reading.failures.append(FailureRecord(failure)) }
  }
}
