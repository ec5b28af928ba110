import Vocabulary

/// Gives a manifest's items out in the order of the document.
///
/// Blocks on the disk and belongs to one thread. Memory: a piece of the file and its items.
package final class ItemReader {
  private let builder = ItemBuilder()
  private let problems = Problems()
  private let pass: DocumentPass
  private let path: String

  init(_ file: DocumentFile) {
    path = file.path
    pass = DocumentPass(over: file, events: DocumentWalker(sink: builder, problems: problems))
  }

  /// Items in memory, for tests.
  var held: Int { builder.held }

  /// - Parameter most: 1 or more.
  /// - Returns: the next items, fewer than `most` only at the end, where none are left: empty.
  /// - Throws: where the file has changed or cannot be read. What was given out before was right.
  package func next(atMost most: Int) throws(ManifestFailure) -> [ManifestItem] {
    while builder.count < most, !pass.isAtEnd {
      try pass.step()
      guard problems.isEmpty else { throw problems.failure(of: path) }
    }
    return builder.takeFirst(most)
  }
}
