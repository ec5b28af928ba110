/// The rules for `publish.path`: whatever the items are called, each name it makes lies under the
/// job's own folder, and no two items or variants share one.
enum PublishTemplate {
  static let placeholders = ["variant", "id", "ext", "shard"]
  /// Of the fixed text in one segment, so that with an id's longest part it is a legal file name.
  static let mostLiteralBytes = 40

  /// What is wrong with a template, a sentence each; empty for a good one.
  static func faults(in path: String, severalVariants: Bool) -> [String] {
    guard !path.isEmpty else { return ["is empty"] }
    guard !path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      return ["must not hold control characters"]
    }
    var faults: [String] = []
    var used: Set<String> = []
    for segment in path.split(separator: "/", omittingEmptySubsequences: false) {
      faults += self.faults(inSegment: segment, used: &used)
    }
    if path.hasPrefix("/") { faults = ["must not start with /: it lies under the job's folder"] }
    if !used.contains("id") { faults.append("must hold {id}, or items would share a name") }
    if severalVariants, !used.contains("variant") {
      faults.append("must hold {variant}, or variants would share a name")
    }
    return faults
  }

  private static func faults(inSegment segment: Substring, used: inout Set<String>) -> [String] {
    switch segment {
    case "": return ["must not end with / or hold //"]
    case ".", "..": return ["must not hold the segment \"\(segment)\""]
    default: break
    }
    // A name of our temporary files, or one that an id could complete to it or to "..".
    if segment.hasPrefix(".tw-") || segment.hasPrefix(".{") || segment.hasPrefix("..{") {
      return ["must not hold a segment that starts with \(Shown.quoted(String(segment), most: 4))"]
    }
    var faults: [String] = []
    var literalBytes = 0
    var rest = segment
    while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
      literalBytes += rest[..<open].utf8.count
      guard rest[open] == "{", let close = rest[open...].firstIndex(of: "}") else {
        return faults + ["holds a brace without its partner"]
      }
      let name = String(rest[rest.index(after: open)..<close])
      if placeholders.contains(name) {
        used.insert(name)
      } else {
        faults.append(
          "unknown placeholder \(Shown.plain("{\(name)}"))"
            + Suggestion.text(for: name, among: placeholders))
      }
      rest = rest[rest.index(after: close)...]
    }
    if literalBytes + rest.utf8.count > mostLiteralBytes {
      faults.append("has over \(mostLiteralBytes) bytes of fixed text in one segment")
    }
    return faults
  }
}
