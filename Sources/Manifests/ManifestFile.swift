// Manifests: a job's file in; its settings, its items as a stream and its sources' addresses, out.
// A source's file in, its items as a stream out: `SourceReader`.
//
//     path ─► DocumentFile ─► DocumentPass ─► JSONParser (yajl) ─► DocumentWalker
//                                                       head: JSONValue ─┤├─ items: ItemScanner
//                                        SettingsReader ─► JobSettings   ┘└─► ItemCheck (first pass)
//                                                                         └─► ItemBuilder (second)
//
// The first pass (`open`) checks all of a manifest and keeps its head; the second (`ItemReader`) gives
// the items out in order. Memory holds the head, a piece of the file, one item, and in the first pass
// eight bytes per item to find ids that stand twice. Everything blocks on the disk: it runs on a
// thread that the caller owns.

import Glibc
import Hashing
import Vocabulary

/// A manifest in its JSON form that was found to be free of faults.
package final class ManifestFile: Sendable {
  /// What tells a file from what it was, without reading it.
  package struct Identity: Sendable, Hashable {
    package let size: Int64
    package let modifiedNanoseconds: Int64
    package let inode: UInt64
  }

  /// As it was given to `open`.
  package let path: String
  package let settings: JobSettings
  /// Canonical JSON of everything but the items, the job's name filled in, credentials by the names
  /// of their variables, paths absolute: what the ledger keeps. Equal settings have equal texts.
  package let headText: String
  /// Of the file's bytes.
  package let digest: Digest
  /// Taken before the first byte was read.
  package let identity: Identity
  /// Of those in `items`.
  package let itemCount: Int
  /// Where more items are, in order.
  package let sources: [SourceAddress]
  private let file: DocumentFile

  /// First pass: reads the whole document once, checks everything, keeps only the head.
  ///
  /// - Parameters:
  ///   - path: of a regular file; the job's default name is its base name without extension.
  ///   - environment: where `${NAME}` comes from.
  /// - Throws: all that is wrong with the manifest, at once.
  package static func open(
    path: String, environment: [String: String]
  ) throws(ManifestFailure) -> ManifestFile {
    try open(
      try DocumentFile(path: path), folder: folder(ofFileAt: path),
      defaultName: defaultName(ofFileAt: path), environment: environment)
  }

  /// A job of one source, without a manifest's file: its name is the source's base name.
  ///
  /// - Parameters:
  ///   - source: as a manifest's `sources` would have it, from the working folder.
  ///   - variants: as on the command line, `thumb=200x200,fit=cover`.
  package static func open(
    source: String, variants: [String]
  ) throws(ManifestFailure) -> ManifestFile {
    // A URL may hold a secret, and this is in each message.
    let shown = (try? SourceAddress(source, folder: "/"))?.shown ?? Shown.plain(source)
    var values: [JSONValue] = []
    for text in variants {
      do throws(VariantOptionFault) {
        values.append(try VariantOption(text).value)
      } catch {
        throw ManifestFailure(
          source: source, problems: [Problem(place: "", message: error.message)])
      }
    }
    let document = JSONValue.object([
      .init(key: "version", value: .number("1")), .init(key: "variants", value: .array(values)),
      .init(key: "sources", value: .array([.string(source)])),
    ])
    return try open(
      DocumentFile(text: document.canonicalText, path: shown),
      folder: FilePaths.absolute(""), defaultName: defaultName(ofSource: source), environment: [:])
  }

  private static func open(
    _ file: DocumentFile, folder: String, defaultName: String, environment: [String: String]
  ) throws(ManifestFailure) -> ManifestFile {
    let check = ItemCheck()
    let itemProblems = Problems()
    let walker = DocumentWalker(sink: check, problems: itemProblems)
    let hash = SHA256()
    do throws(ManifestFailure) {
      try DocumentPass(over: file, events: walker, hash: hash).run()
    } catch {
      throw error.followed(by: itemProblems)
    }
    let problems = Problems()
    let head = SettingsReader(problems: problems, environment: environment, folder: folder)
      .read(walker.head, defaultName: defaultName)
    problems.append(itemProblems)
    checkVariantNames(check.variantLists, among: head.variantNames, problems)
    try findDuplicates(check.fingerprints, in: file, problems)
    checkFiles(of: head.sources, problems)
    guard problems.isEmpty else { throw problems.failure(of: file.path) }
    return ManifestFile(
      file, settings: head.settings, head: walker.head.withAbsolutePaths(from: folder),
      digest: hash.finish(), itemCount: walker.itemCount, sources: head.sources)
  }

  private init(
    _ file: DocumentFile, settings: JobSettings, head: JSONValue, digest: Digest, itemCount: Int,
    sources: [SourceAddress]
  ) {
    self.file = file
    path = file.path
    identity = file.identity
    self.settings = settings
    headText = HeadText.make(from: head, name: settings.name)
    self.digest = digest
    self.itemCount = itemCount
    self.sources = sources
  }

  /// Second pass: the items in order. Any number of readers may be made, one after the other or at
  /// the same time.
  package func makeItemReader() throws(ManifestFailure) -> ItemReader { ItemReader(file) }

  /// The SHA-256 of a file's bytes, unread otherwise.
  package static func digest(ofFileAt path: String) throws(ManifestFailure) -> Digest {
    let file = try DocumentFile(path: path)
    let hash = SHA256()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)
    defer { buffer.deallocate() }
    var offset = 0
    while case let count = try file.read(into: buffer, at: offset), count > 0 {
      hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += count
    }
    try file.checkUnchanged()
    return hash.finish()
  }

  /// By what the ledger knows a manifest: two runs may start in different folders.
  package static func absolutePath(of path: String) -> String { FilePaths.absolute(path) }

  /// - Returns: nil where there is no regular file of that name.
  package static func identity(ofFileAt path: String) -> Identity? { Identity(ofFileAt: path) }

  /// `jobs/my.catalog.json` → `my.catalog`.
  private static func defaultName(ofFileAt path: String) -> String {
    let base = path.split(separator: "/").last ?? ""
    guard let dot = base.lastIndex(of: "."), dot > base.startIndex else { return String(base) }
    return String(base[..<dot])
  }

  /// `lists/My Urls.txt.gz` → `my-urls`; standard input → `stdin`.
  private static func defaultName(ofSource source: String) -> String {
    if source == "-" { return "stdin" }
    let path = String(source.prefix { $0 != "?" })
    var name = defaultName(ofFileAt: path)
    if path.hasSuffix(".gz") || path.hasSuffix(".zst") { name = defaultName(ofFileAt: name) }
    let legal = name.lowercased().map { character in
      character.isASCII && (character.isLetter || character.isNumber || "._-".contains(character))
        ? character : "-"
    }
    let begun = legal.drop { "._-".contains($0) }.prefix(64)
    return begun.isEmpty ? "list" : String(begun)
  }

  /// Absolute: what its paths are relative to.
  private static func folder(ofFileAt path: String) -> String {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let folder = parts.joined(separator: "/")
    return FilePaths.absolute(path.hasPrefix("/") && folder.isEmpty ? "/" : folder)
  }

  /// The variants may stand behind the items that name them, so this comes when all is read.
  private static func checkVariantNames(
    _ lists: VariantLists, among known: Set<String>, _ problems: Problems
  ) {
    for (name, place) in lists.firstPlaces where !known.contains(name) {
      problems.add(
        place,
        "unknown variant \(Shown.quoted(name))\(Suggestion.text(for: name, among: known.sorted()))")
    }
  }

  private static func checkFiles(of sources: [SourceAddress], _ problems: Problems) {
    for (i, source) in sources.enumerated() {
      guard case .file(let path) = source.location else { continue }
      var info = stat()
      let reason =
        access(path, R_OK) != 0
        ? systemError(errno)
        : stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR ? "is a folder" : nil
      if let reason { problems.add(.document["sources"][i], "\(Shown.plain(path)): \(reason)") }
    }
  }

  private static func findDuplicates(
    _ fingerprints: IDFingerprints, in file: DocumentFile, _ problems: Problems
  ) throws(ManifestFailure) {
    let repeated = fingerprints.repeated(most: Problems.most)
    guard !repeated.kept.isEmpty else { return }
    let finder = DuplicateFinder(suspects: repeated.kept, found: problems)
    let walker = DocumentWalker(sink: finder, problems: Problems())
    try DocumentPass(over: file, events: walker).run()
    problems.add(uncounted: repeated.others)
  }
}

/// Settings back from a head that a ledger kept: for `show`, and for workers that have no manifest.
///
/// - Parameter standIn: what stands for a variable that is not set, where nothing is to be asked for
///   with it.
/// - Throws: where it is no head of this version, or a variable of its headers is not set and has no
///   stand-in.
package func settings(
  fromHead text: String, environment: [String: String], standIn: String? = nil
) throws(ManifestFailure) -> JobSettings {
  let source = "the job's settings in the ledger"
  let problems = Problems()
  let head: JSONValue
  do throws(JSONParser.Stop) {
    head = try JSONTree.parse(text)
  } catch {
    throw ManifestFailure(source: source, problems: [Problem(place: "", message: error.reason)])
  }
  let result = SettingsReader(problems: problems, environment: environment, standIn: standIn)
    .read(head, defaultName: "")
  guard problems.isEmpty else { throw problems.failure(of: source) }
  return result.settings
}

/// What a ledger keeps of a manifest.
enum HeadText {
  private static let leftOut: Set<String> = ["$schema", "items", "sources"]

  static func make(from head: JSONValue, name: String) -> String {
    guard case .object(let members) = head else { return head.canonicalText }
    let kept = members.filter { !leftOut.contains($0.key) && $0.key != "name" }
    return JSONValue.object(kept + [JSONValue.Member(key: "name", value: .string(name))])
      .canonicalText
  }
}
