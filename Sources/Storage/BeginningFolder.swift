import Glibc
import Synchronization
import Vocabulary

/// `tmp/partial/`: beginnings of large bodies that broke off, for whoever fetches the same URL next.
///
/// A beginning is two files, `KEY.RANDOM` (its note) and `KEY.RANDOM.body`. It is put here and taken from
/// here by renaming both, the one that makes it known last and first, so that it is never anybody's but
/// one's. The folder appears with the first of them.
final class BeginningFolder: Sendable {
  static let name = "partial"

  /// What is kept here at most; the oldest go first.
  struct Limits: Sendable {
    /// An origin in trouble may break off thousands; so many show that going on is worth it.
    var count = 64
    /// Sixteen bodies of the default `maxBytes`.
    var bytes = 1 << 30
    /// Seconds; a job that runs weekly still finds them.
    var age = 8 * 86_400
    /// Of a body whose note is missing: its other half may be on its way for a moment.
    var orphanAge = 3600
  }

  private let parent: Folder
  private let limits: Limits
  /// Of what was seen here last. Other processes may have taken some, and put others here.
  private let keys = Mutex<Set<EntryKey>>([])

  init(below parent: Folder, limits: Limits = Limits()) {
    self.parent = parent
    self.limits = limits
  }

  private var folder: Folder? { parent.subfolder(Self.name).folder }

  /// Whether a look is worth it; asked for every URL.
  func mayHold(_ key: EntryKey) -> Bool { keys.withLock { $0.contains(key) } }

  // MARK: In and out

  /// Moves a file and its note here from where they were written; where that fails, they stay.
  func put(_ file: String, _ note: String, for key: EntryKey, from home: Folder) {
    // Without the folder nothing is kept, and the rest is fetched whole.
    _ = try? parent.makeSubfolder(Self.name)
    guard let folder else { return }
    let name = "\(key).\(BeginningName.random())"
    guard renameat(home.descriptor, file, folder.descriptor, name + ".body") == 0 else { return }
    guard renameat(home.descriptor, note, folder.descriptor, name) == 0 else { return }
    keys.withLock { _ = $0.insert(key) }
  }

  /// Moves one here to its new owner's folder, if nobody else was faster.
  ///
  /// - Parameter newName: of a file there; the note gets its own by it.
  /// - Returns: the file's name there; nil where there is none.
  func take(_ key: EntryKey, to home: Folder, newName: () -> String) -> String? {
    guard let folder, let names = try? folder.names() else { return nil }
    for found in names.compactMap(BeginningName.init) where found.key == key && !found.isBody {
      let file = newName()
      let note = "\(file).\(key)"
      guard renameat(folder.descriptor, found.text, home.descriptor, note) == 0 else { continue }
      let body = found.text + ".body"
      if renameat(folder.descriptor, body, home.descriptor, file) == 0 { return file }
      unlinkat(home.descriptor, note, 0)
    }
    keys.withLock { _ = $0.remove(key) }
    return nil
  }

  /// Deletes what is kept under these keys.
  func forget(_ forgotten: Set<EntryKey>) {
    guard let folder, let names = try? folder.names() else { return }
    for name in names.compactMap(BeginningName.init) where forgotten.contains(name.key) {
      remove(name.text, folder)
    }
    keys.withLock { $0.subtract(forgotten) }
  }

  // MARK: Limits

  private struct Kept {
    let name: BeginningName
    let bytes: Int
    /// In seconds since 1970: when its note was written last, of a body alone when it came here.
    let time: Int
  }

  /// Deletes what is over the limits, and learns what is here.
  ///
  /// - Parameter now: seconds since 1970.
  func trim(now: Int) {
    guard let folder, let names = try? folder.names() else { return }
    let found = Dictionary(
      names.compactMap(BeginningName.init).map { ($0.text, $0) }, uniquingKeysWith: { $1 })
    var kept: [Kept] = []
    for name in found.values {
      guard let status = folder.status(of: name.text) else { continue }
      if name.isBody {
        let isAlone = found[name.note] == nil
        if isAlone, now - status.st_ctim.tv_sec > limits.orphanAge { remove(name.text, folder) }
      } else {
        let body = folder.status(of: name.text + ".body")
        kept.append(
          Kept(name: name, bytes: body.map { Int($0.st_size) } ?? 0, time: status.st_mtim.tv_sec))
      }
    }
    let stays = removeWhatIsOver(kept, folder, now: now)
    keys.withLock { $0 = Set(stays.map(\.name.key)) }
  }

  private func removeWhatIsOver(_ kept: [Kept], _ folder: Folder, now: Int) -> [Kept] {
    var count = 0
    var bytes = 0
    return kept.sorted { $0.time > $1.time }.filter { beginning in
      let isFit =
        count < limits.count && bytes + beginning.bytes <= limits.bytes
        && now - beginning.time <= limits.age
      guard isFit else {
        remove(beginning.name.text, folder)
        remove(beginning.name.text + ".body", folder)
        return false
      }
      count += 1
      bytes += beginning.bytes
      return true
    }
  }

  private func remove(_ name: String, _ folder: Folder) { unlinkat(folder.descriptor, name, 0) }
}

/// `KEY.RANDOM` or `KEY.RANDOM.body`; whatever else lies in the folder is not ours.
private struct BeginningName {
  let text: String
  let key: EntryKey
  let isBody: Bool

  var note: String { String(text.dropLast(isBody ? 5 : 0)) }

  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2 || parts.count == 3 && parts[2] == "body",
      let key = EntryKey(hex: parts[0]), UInt64(parts[1], radix: 16) != nil
    else { return nil }
    self.text = text
    self.key = key
    isBody = parts.count == 3
  }

  static func random() -> String { String(UInt64.random(in: .min ... .max), radix: 16) }
}

extension EntryKey {
  /// - Parameter hex: 32 digits.
  init?(hex: some StringProtocol) {
    guard hex.utf8.count == 32, let digest = Digest(hex: "\(hex)\(hex)") else { return nil }
    self.init(digest)
  }
}
