/// Collects what is wrong with a manifest, so that all of it is reported in one go.
final class Problems {
  /// More are counted, not kept: a manifest of ten million bad items must not fill the memory.
  static let most = 100

  private(set) var kept: [Problem] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  func add(_ place: @autoclosure () -> Place, _ message: @autoclosure () -> String) {
    count += 1
    if kept.count < Self.most { kept.append(Problem(place: place().text, message: message())) }
  }

  /// Problems that are known to be there and were not looked at.
  func add(uncounted: Int) { count += uncounted }

  /// Those of `other` after ours.
  func append(_ other: Problems) {
    kept.append(contentsOf: other.kept.prefix(Self.most - kept.count))
    count += other.count
  }

  /// All of them in one sentence; none are left.
  func takeSentence() -> String {
    defer { (kept, count) = ([], 0) }
    let shown = kept.prefix(3).map(\.description).joined(separator: "; ")
    return count > 3 ? "\(shown); and \(count - 3) more" : shown
  }

  func failure(of source: String) -> ManifestFailure {
    ManifestFailure(source: source, problems: kept, omitted: count - kept.count)
  }
}
