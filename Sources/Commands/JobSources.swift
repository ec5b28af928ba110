import LedgerCore
import Manifests
import Pipeline
import Threading
import Vocabulary

/// A manifest that is unchanged is not read; the others are opened, so that all that is wrong is told
/// in one go.
///
/// - Returns: nil where something is wrong; it has been said.
func jobSources(
  _ paths: [String], _ site: Site, reread: Bool, variants: [String],
  _ environment: [String: String], _ console: Console
) async -> [JobSource]? {
  guard mayHave(variants, paths, console) else { return nil }
  var known: [String: JobSource] = [:]
  if !reread, let ledger = try? await site.ledgerToRead() {  // else opening it says why
    let recall = ManifestRecall(
      ledger: ledger, environment: environment,
      now: Timestamp(milliseconds: WallClock.system.milliseconds()))
    for path in paths where !SourceAddress.isLikely(path) {
      known[path] = await recall.source(ofManifestAt: ManifestFile.absolutePath(of: path))
    }
    await ledger.close()
  }
  let unknown = paths.filter { known[$0] == nil }
  guard let opened = openManifests(unknown, variants: variants, environment, console)
  else { return nil }
  for (path, manifest) in zip(unknown, opened) { known[path] = .manifest(manifest) }
  let sources = paths.compactMap { known[$0] }
  return haveNamesOfTheirOwn(sources.map(\.settings.name), console) ? sources : nil
}

/// Opens every manifest, so that all that is wrong is told in one go.
///
/// - Parameter variants: as `--variant` has them, of those that are sources themselves.
/// - Returns: nil where something is wrong; it has been said.
func openManifests(
  _ paths: [String], variants: [String], _ environment: [String: String], _ console: Console
) -> [ManifestFile]? {
  guard mayHave(variants, paths, console) else { return nil }
  var manifests: [ManifestFile] = []
  var isGood = true
  for path in paths {
    do {
      manifests.append(
        SourceAddress.isLikely(path)
          ? try ManifestFile.open(source: path, variants: variants)
          : try ManifestFile.open(path: path, environment: environment))
    } catch {
      isGood = false
      console.complain([error.message])
      if !error.hint.isEmpty { console.complain(["  \(error.hint)"]) }
    }
  }
  let isUnique = haveNamesOfTheirOwn(manifests.map(\.settings.name), console)
  return isGood && isUnique ? manifests : nil
}

/// A manifest says itself what its variants are.
private func mayHave(_ variants: [String], _ paths: [String], _ console: Console) -> Bool {
  guard !variants.isEmpty, !paths.contains(where: SourceAddress.isLikely) else { return true }
  console.complain([
    "--variant is for a source in a manifest's place, such as urls.txt",
    "  write the manifest's variants into it",
  ])
  return false
}

/// Says so where two jobs have one name.
private func haveNamesOfTheirOwn(_ names: [String], _ console: Console) -> Bool {
  let repeated = Set(names).filter { name in names.count { $0 == name } > 1 }
  for name in repeated.sorted() {
    console.complain(["two of the manifests are named \"\(name)\": give one another \"name\""])
  }
  return repeated.isEmpty
}
