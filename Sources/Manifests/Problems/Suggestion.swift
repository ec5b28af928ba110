/// The word that someone probably meant.
enum Suggestion {
  /// ` , did you mean "url"?` to put behind a message; empty where no known word is near.
  static func text(for word: String, among known: some Sequence<String>) -> String {
    nearest(to: word, among: known).map { ", did you mean \"\($0)\"?" } ?? ""
  }

  /// Up to two slips of the finger away, one in a word of up to three letters; case does not count.
  static func nearest(to word: String, among known: some Sequence<String>) -> String? {
    guard word.utf8.count <= 64 else { return nil }
    let letters = Array(word.lowercased().utf8)
    let allowed = letters.count <= 3 ? 1 : 2
    let near = known.map { ($0, distance(letters, Array($0.lowercased().utf8))) }
    return near.filter { $0.1 <= min(allowed, max(1, $0.0.utf8.count - 1)) }.min { $0.1 < $1.1 }?.0
  }

  /// How many letters must be put in, taken out, replaced or swapped with their neighbour
  /// (optimal string alignment).
  private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var best = min(last[j + 1], row[j]) + 1
        best = min(best, last[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          best = min(best, beforeLast[j - 1] + 1)
        }
        row.append(best)
      }
      (beforeLast, last) = (last, row)
    }
    return last[b.count]
  }
}
