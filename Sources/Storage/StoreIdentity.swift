import Glibc

/// The file `objects/.id`: the random name that a store shares with its ledger.
enum StoreIdentity {
  private static let name = ".id"

  /// - Returns: nil where there is none.
  static func read(in objects: Folder) throws(StorageFailure) -> String? {
    let descriptor = openat(objects.descriptor, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw StorageFailure(errno: errno, "open", objects.path + "/" + name)
    }
    let file = OwnedDescriptor(owning: descriptor)
    var text: [UInt8] = []
    try forEachChunk(of: file.descriptor, path: objects.path + "/" + name) { text += $0 }
    return String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  static func write(
    _ id: String, in objects: Folder, by temporary: TemporaryFolder
  ) throws(StorageFailure) {
    let file = try TemporaryFile(in: temporary)
    try Array((id + "\n").utf8).withUnsafeBufferPointer { bytes throws(StorageFailure) in
      try file.write(UnsafeRawBufferPointer(bytes))
    }
    guard retryingInterrupts({ fdatasync(file.descriptor) }) == 0 else {
      throw StorageFailure(errno: errno, "sync", file.path)
    }
    guard renameat(file.folder.descriptor, file.name, objects.descriptor, name) == 0 else {
      throw StorageFailure(errno: errno, "write", objects.path + "/" + name)
    }
    file.becomeCommitted()
    try objects.sync()
  }
}
