import Fetching
import HTTPCaching
import HTTPTransfer
import LedgerCore
import Hashing
import Storage
import Synchronization
import Vocabulary

/// Asks for the sources of one manifest that stand at URLs, each once: through the fetcher, with its guard,
/// limits and manners, and with the validators of what is kept of it.
final class SourceDesk: Sendable {
  /// What there is to be read of a source.
  struct Copy: Sendable {
    /// Nil: nothing came, and nothing is kept.
    var kept: KeptSource?
    /// Why what is kept is not what the server has now.
    var failure: FailureRecord?
    /// It may be read, not kept.
    var isForOnce = false
  }

  /// Lists are larger than pictures, and take longer.
  static let mostBytes = 4 << 30
  static let timeout: Duration = .seconds(3600)
  /// Sources that are asked for at a time; each host has its own limits besides.
  private static let parallel = 8

  private let fetcher: Fetcher
  private let store: ObjectStore
  private let settings: JobSettings
  private let onTraffic: @Sendable (Traffic) -> Void
  private let copies = Mutex<[EntryKey: Copy]>([:])

  init(
    fetcher: Fetcher, store: ObjectStore, settings: JobSettings,
    onTraffic: @escaping @Sendable (Traffic) -> Void = { _ in }
  ) {
    self.fetcher = fetcher
    self.store = store
    self.settings = settings
    self.onTraffic = onTraffic
  }

  /// Asks for many at once, so that `copy` has them.
  ///
  /// - Parameter origin: credentials go to no other.
  func ask(
    _ urls: [ItemURL], credentialsFor origin: (ItemURL) -> Bool
  ) async throws(RunStop) {
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (i, url) in urls.enumerated() {
          if i >= Self.parallel { try await group.next() }
          let isTrusted = origin(url)
          group.addTask { _ = try await self.copy(of: url, sendsCredentials: isTrusted) }
        }
        try await group.waitForAll()
      }
    } catch {
      throw RunStop(error)
    }
  }

  /// Whether its copy is here, so that nobody has to wait for it.
  func knows(_ url: ItemURL) -> Bool { copies.withLock { $0[EntryKey(url)] != nil } }

  func copy(of url: ItemURL, sendsCredentials: Bool = true) async throws(RunStop) -> Copy {
    let key = EntryKey(url)
    if let known = copies.withLock({ $0[key] }) { return known }
    let copy: Copy
    do {
      let kept = try await store.keptSource(key)
      copy = try await ask(url, key, kept, sendsCredentials: sendsCredentials)
    } catch {
      throw RunStop(error)
    }
    copies.withLock { $0[key] = copy }
    return copy
  }

  /// Deletes what may not be kept.
  func finish() async {
    let done = copies.withLock { copies in
      defer { copies = [:] }
      return copies
    }
    for (key, copy) in done where copy.isForOnce {
      guard let kept = copy.kept else { continue }
      try? await store.forgetSource(key, kept.digest)  // it is overwritten when it comes again
    }
  }

  // MARK: Asking

  private func ask(
    _ url: ItemURL, _ key: EntryKey, _ kept: KeptSource?, sendsCredentials: Bool
  ) async throws -> Copy {
    var hop = url
    var hops = 0
    let conditions = kept.map { SourceRecord.conditions(in: $0.record) } ?? HTTPFields()
    while true {
      let reply: FetchedResponse
      do {
        reply = try await fetch(
          hop, conditions, sendsCredentials: sendsCredentials && hop.origin == url.origin)
        onTraffic(Traffic(reply))
      } catch {
        onTraffic(Traffic(error))
        if error.disposition == .stopRun || error.isCancellation { throw RunStop(error) }
        return Copy(kept: kept, failure: .source(FailureRecord(error)))
      }
      switch reply.status {
      case 304 where kept != nil: return Copy(kept: kept)
      case let status where isRedirect(status: status):
        hops += 1
        switch next(reply, from: hop, first: url, hops: hops) {
        case .success(let target): hop = target
        case .failure(let failure): return Copy(kept: kept, failure: .source(failure))
        }
      case 200..<300:
        guard let body = reply.body, let sink = body.sink as? SourceSink, body.bytes > 0 else {
          return Copy(kept: kept, failure: .source(.emptySource(hop)))
        }
        return try await keep(reply, body, sink, key)
      default:
        return Copy(kept: kept, failure: .source(FailureRecord(reply.statusFailure(of: hop))))
      }
    }
  }

  private func fetch(
    _ url: ItemURL, _ conditions: HTTPFields, sendsCredentials: Bool
  ) async throws(FetchFailure) -> FetchedResponse {
    var network = settings.network(forHost: url.host)
    network.maxBytes = max(network.maxBytes, Self.mostBytes)
    network.timeout = max(network.timeout, Self.timeout)
    let store = store
    return try await fetcher.fetch(
      FetchRequest(
        url: url, conditions: conditions, settings: network, sendsCredentials: sendsCredentials,
        makeSink: { expected throws(FailureRecord) -> any BodySink in
          try SourceSink(store: store, expecting: expected)
        }))
  }

  private func next(
    _ reply: FetchedResponse, from hop: ItemURL, first: ItemURL, hops: Int
  ) -> Result<ItemURL, FailureRecord> {
    let limit = settings.network(forHost: first.host).maxRedirects
    guard hops <= limit else { return .failure(.tooManyRedirects(limit: limit, from: first)) }
    guard let location = reply.fields["Location"].first else {
      return .failure(.noLocation(reply.status, at: hop))
    }
    do {
      return .success(try hop.resolving(bytes: location.fieldBytes ?? Array(location.utf8)))
    } catch {
      return .failure(.badLocation(error, status: reply.status, at: hop))
    }
  }

  private func keep(
    _ reply: FetchedResponse, _ body: ReceivedBody, _ sink: SourceSink, _ key: EntryKey
  ) async throws(StorageFailure) -> Copy {
    let isForOnce = reply.fields["Cache-Control"].contains {
      $0.lowercased().contains("no-store")
    }
    let kept = try await store.keepSource(
      StagedObject(file: sink.file, digest: body.digest, bytes: body.bytes),
      record: isForOnce ? nil : SourceRecord.bytes(of: reply.fields), for: key)
    return Copy(kept: kept, isForOnce: isForOnce)
  }
}

/// Lets a source stream into a temporary file.
private final class SourceSink: BodySink {
  let file: TemporaryFile

  init(store: ObjectStore, expecting expected: Int?) throws(FailureRecord) {
    do { file = try store.temporaryFile(expecting: expected) } catch { throw FailureRecord(error) }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(FailureRecord) {
    do { try file.write(bytes) } catch { throw FailureRecord(error) }
  }
}

/// A response's validators, a line each, as the store keeps them beside its body.
private enum SourceRecord {
  private static let fields = [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")]

  static func bytes(of response: HTTPFields) -> [UInt8] {
    fields.flatMap { name, _ -> [UInt8] in
      guard let value = response.singleton(name)?.fieldBytes else { return [] }
      return Array("\(name): ".utf8) + value + [UInt8(ascii: "\n")]
    }
  }

  static func conditions(in record: [UInt8]) -> HTTPFields {
    var conditions = HTTPFields()
    for line in record.split(separator: UInt8(ascii: "\n")) {
      for (name, condition) in fields where line.starts(with: Array("\(name): ".utf8)) {
        let value = String(fieldBytes: line.dropFirst(name.utf8.count + 2))
        conditions.lines.append(.init(name: condition, value: value))
      }
    }
    return conditions
  }
}

extension FailureRecord {
  /// What kept a source from being read.
  static func source(_ reason: FailureRecord) -> FailureRecord {
    FailureRecord(
      code: "source", message: "\(reason.message) (\(reason.code))",
      hint: reason.hint.isEmpty ? "its items stay as they were" : reason.hint,
      disposition: .giveUp)
  }

  fileprivate static func emptySource(_ url: ItemURL) -> FailureRecord {
    FailureRecord(
      code: "truncated", message: "\(url) sent an empty body",
      hint: "its items stay as they were; a list without pictures has a comment or a header row",
      disposition: .giveUp)
  }
}
