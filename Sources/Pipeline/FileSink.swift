import Fetching
import HTTPTransfer
import Storage
import Vocabulary

/// Lets a body stream into a temporary file of the store.
final class FileSink: BodySink {
  let file: TemporaryFile

  init(store: ObjectStore) throws(FailureRecord) {
    do {
      file = try store.temporaryFile()
    } catch {
      throw FailureRecord(error)
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(FailureRecord) {
    do {
      try file.write(bytes)
    } catch {
      throw FailureRecord(error)
    }
  }
}
