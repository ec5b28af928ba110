import Fetching
import HTTPCaching
import HTTPTransfer
import Storage
import Vocabulary

/// Lets a body stream into a temporary file of the store.
final class FileSink: BodySink {
  /// Under which key the body may be kept if it breaks off, and whether its server lets us.
  struct Keeping: Sendable {
    let key: EntryKey
    private let settings: HostSettings
    private let sendsCredentials: Bool
    private let time: Timestamp

    /// - Parameter time: of the request.
    init(key: EntryKey, of settings: HostSettings, sendsCredentials: Bool, at time: Timestamp) {
      self.key = key
      self.settings = settings
      self.sendsCredentials = sendsCredentials
      self.time = time
    }

    /// A body that may not be stored whole may not be kept in part either.
    fileprivate func isAllowed(_ record: PartialRecord) -> Bool {
      let fields = settings.manner.keptFields(sendsCredentials: sendsCredentials)
      let head = ResponseHead(
        status: 200, fields: record.fields, requestTime: time, responseTime: time)
      return settings.rules.storability(of: head, request: RequestContext(fields: fields))
        == .storable
    }
  }

  let file: TemporaryFile
  private let store: ObjectStore
  private let keeping: Keeping

  /// - Parameter expected: the body's length; nil where its server does not tell.
  convenience init(
    store: ObjectStore, expecting expected: Int?, keeping: Keeping
  ) throws(FailureRecord) {
    do {
      self.init(try store.temporaryFile(expecting: expected), of: store, keeping: keeping)
    } catch {
      throw FailureRecord(error)
    }
  }

  /// - Parameter file: with the beginning in it.
  init(_ file: TemporaryFile, of store: ObjectStore, keeping: Keeping) {
    self.file = file
    self.store = store
    self.keeping = keeping
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(FailureRecord) {
    do {
      try file.write(bytes)
    } catch {
      throw FailureRecord(error)
    }
  }

  func note(_ beginning: BodyBeginning) {
    guard keeping.isAllowed(beginning.record) else { return }
    file.note(beginning.bytes, beginning.digest, for: keeping.key) { beginning.record.bytes }
  }

  func keep() { store.keep(file, for: keeping.key) }
}

extension ObjectStore {
  /// What an earlier transfer of this body has left, to be gone on with.
  func takePartial(_ keeping: FileSink.Keeping) async -> PartialBody? {
    guard let found = await takeBeginning(keeping.key),
      let record = PartialRecord(bytes: found.record)
    else { return nil }
    return PartialBody(
      record: record, sink: FileSink(found.file, of: self, keeping: keeping), hash: found.hash,
      bytes: found.bytes)
  }
}
