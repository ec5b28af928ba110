/// Which hosts an override is for: one host's exact name, or `*.suffix` for every name below it.
///
/// Compared label by label, without case and without a trailing dot: `*.example.com` matches
/// `a.b.example.com`, and neither `example.com` nor `badexample.com`.
package struct HostPattern: Sendable, Hashable, CustomStringConvertible {
  package let description: String
  private let labels: [Substring]
  private let matchesBelow: Bool

  package init?(_ text: String) {
    var name = text.lowercased()
    matchesBelow = name.hasPrefix("*.")
    if matchesBelow { name.removeFirst(2) }
    if name.hasSuffix(".") { name.removeLast() }
    labels = name.split(separator: ".", omittingEmptySubsequences: false)
    let isLegal = name.utf8.allSatisfy {
      (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E
        || $0 == 0x5F || $0 >= 0x80 || $0 == 0x3A || $0 == 0x5B || $0 == 0x5D
    }
    guard isLegal, !name.isEmpty, labels.allSatisfy({ !$0.isEmpty }) else { return nil }
    description = text
  }

  package func matches(host: String) -> Bool {
    var other = host.lowercased().split(separator: ".", omittingEmptySubsequences: false)
    if other.count > 1, other.last == "" { other.removeLast() }
    guard matchesBelow else { return other == labels }
    return other.count > labels.count && Array(other.suffix(labels.count)) == labels
  }
}
