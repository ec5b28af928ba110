import Glibc
import Vocabulary

/// Why the store could not do what was asked.
///
/// Paths are those of the root; no part of a URL is in them.
package enum StorageFailure: WorkerFailure, Hashable {
  /// No block, no inode or no quota left.
  case diskFull(path: String)
  /// A body would leave less free than is to stay free. All in bytes; `free` without what others were
  /// promised.
  case spaceLow(path: String, free: Int, needed: Int, floor: Int)
  /// Permissions, or a read-only file system.
  case denied(path: String, operation: String, reason: String)
  /// This process has too many open files, or the machine has.
  case tooManyOpenFiles(path: String)
  /// A folder of the store is not where it was.
  case gone(path: String, operation: String)
  /// A file, or something that is no folder, stands where a folder is to be.
  case notAFolder(path: String, operation: String)
  case io(path: String, operation: String, reason: String)
  /// The object is not in the store.
  case missing(Digest)
  /// A file that was to become an object does not have the bytes that it should have, or none.
  case notWhole(Digest, expected: Int, found: Int)
  /// A name that does not stay below its job's folder.
  case refusedName(job: String, path: String, reason: String)
  /// A folder stands where a file is to be published, or a file where a folder is needed.
  case nameTaken(job: String, path: String, reason: String)

  package var code: String {
    switch self {
    case .diskFull, .spaceLow: "disk-full"
    case .missing, .notWhole: "object-damaged"
    case .refusedName, .nameTaken: "bad-item"
    case .denied, .tooManyOpenFiles, .gone, .notAFolder, .io: "store"
    }
  }

  package var message: String {
    switch self {
    case .diskFull(let path): "no space left for \(path)"
    case .spaceLow(let path, let free, let needed, let floor):
      "\(megabytes(free)) are left for \(path); \(megabytes(needed)) are needed, and "
        + "\(megabytes(floor)) are to stay free"
    case .denied(let path, let operation, let reason): "may not \(operation) \(path): \(reason)"
    case .tooManyOpenFiles(let path): "too many open files to open \(path)"
    case .gone(let path, let operation): "could not \(operation) \(path): it is no longer there"
    case .notAFolder(let path, let operation):
      "could not \(operation) \(path): something on that path is no folder"
    case .io(let path, let operation, let reason): "could not \(operation) \(path): \(reason)"
    case .missing(let digest): "object \(digest) is not in the store"
    case .notWhole(let digest, let expected, let found):
      expected == 0
        ? "object \(digest) would be empty"
        : "object \(digest) should have \(expected) bytes, its file has \(found)"
    case .refusedName(let job, let path, let reason):
      "\"\(path)\" cannot be published for job \(job): \(reason)"
    case .nameTaken(let job, let path, let reason):
      "\"\(path)\" cannot be published for job \(job): \(reason)"
    }
  }

  package var hint: String {
    switch self {
    case .diskFull: "free some space, then run again: what was done is kept"
    case .spaceLow:
      "free some space (gc helps), or lower --min-free, then run again: what was done is kept"
    case .denied: "give the user of this run write access to the root and everything in it"
    case .tooManyOpenFiles: "raise the limit (ulimit -n), or lower network.concurrency"
    case .gone: "the root was moved or emptied while it was in use: run again"
    case .notAFolder: "give another --root, or move away what stands there"
    case .io: "check the disk and the kernel's log (dmesg), then run again"
    case .missing: "run again: what is missing is fetched and made again"
    case .notWhole: "run again: the file is fetched or made again"
    case .refusedName: "correct the item's id or publish.path"
    case .nameTaken: "give the item another id, or remove what stands there"
    }
  }

  package var disposition: Disposition {
    switch self {
    case .diskFull, .spaceLow, .denied, .tooManyOpenFiles, .gone, .notAFolder, .io: .stopRun
    case .missing, .notWhole: .retry(notBefore: nil)
    case .refusedName, .nameTaken: .giveUp
    }
  }

  /// Sorts a system call's error.
  ///
  /// - Parameter operation: a verb that fits between "could not" and the path.
  init(errno code: Int32, _ operation: String, _ path: String) {
    switch code {
    case ENOSPC, EDQUOT: self = .diskFull(path: path)
    case EMFILE, ENFILE: self = .tooManyOpenFiles(path: path)
    case ENOENT, ESTALE: self = .gone(path: path, operation: operation)
    case ENOTDIR: self = .notAFolder(path: path, operation: operation)
    case EACCES, EPERM, EROFS:
      self = .denied(path: path, operation: operation, reason: String(cString: strerror(code)))
    default: self = .io(path: path, operation: operation, reason: String(cString: strerror(code)))
    }
  }
}

/// Rounded to a tenth.
private func megabytes(_ bytes: Int) -> String {
  let tenths = (bytes * 10 + (1 << 19)) >> 20
  return "\(tenths / 10).\(tenths % 10) MiB"
}
