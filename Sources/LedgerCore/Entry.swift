// LedgerCore: what is known and what is due, as values, and the protocol that ledgers fulfil.
// It speaks of entries, items, leases and digests, never of SQL.

import HTTPCaching
import Vocabulary

/// What is known of one URL, whichever jobs name it.
package struct Entry: Sendable, Hashable {
  package var key: EntryKey
  package var url: ItemURL
  /// The response that is in force: a representation (2xx), a redirect, or nil before the first.
  /// A failure never replaces it.
  package var response: StoredResponse?
  /// Where a redirect in `response` leads; nil for a representation.
  package var redirectTarget: ItemURL?
  /// The bytes that `response` came with; nil for a redirect or when nothing is stored.
  package var original: Original?
  /// The last try's failure; nil after a success.
  package var failure: EntryFailure?
  /// When the origin last confirmed, replaced or took back the response.
  package var validatedAt: Timestamp?
  /// What it said then; nil before its first answer that was no failure.
  package var lastAnswer: LastAnswer?

  package init(key: EntryKey, url: ItemURL) {
    self.key = key
    self.url = url
  }
}

/// How an origin last answered, failures aside; by the name that `show` prints.
package enum LastAnswer: String, Sendable, Hashable, CaseIterable {
  /// A body that was not there before.
  case newBytes = "new-bytes"
  /// 200 with the bytes that are stored.
  case sameBytes = "same-bytes"
  /// 304.
  case notModified = "not-modified"
  case redirect
  /// What may not be kept: whatever was there is gone.
  case notStored = "not-stored"
}

/// A stored body as it came over the wire.
package struct Original: Sendable, Hashable {
  package var digest: Digest
  package var bytes: Int
  /// Told from its first bytes; nil where that is no image that we know.
  package var format: ImageFormat?
  /// Upright, in pixels; nil until it was decoded.
  package var width: Int?
  package var height: Int?
  /// Nil until it was decoded.
  package var placeholder: Placeholder?

  package init(
    digest: Digest, bytes: Int, format: ImageFormat?, width: Int? = nil, height: Int? = nil,
    placeholder: Placeholder? = nil
  ) {
    self.digest = digest
    self.bytes = bytes
    self.format = format
    self.width = width
    self.height = height
    self.placeholder = placeholder
  }
}

/// A failed try of an entry, and when it may be tried again.
package struct EntryFailure: Sendable, Hashable {
  package var failure: FailureRecord
  /// The HTTP status, where there was one.
  package var status: Int?
  package var at: Timestamp
  /// Failures in a row, this one included: 1 or more.
  package var count: Int
  /// `atOnce` after `retry`, whatever would make it wait.
  package var nextTry: Timestamp
  /// Whether `nextTry` is a lifetime that the server gave, which `--retry-failed` respects.
  package var isServersWord: Bool
  /// Since when the origin has been failing without a success between.
  package var since: Timestamp
  /// The first of the 404s that have come in a row; nil where this failure is none.
  package var missingSince: Timestamp?

  package static let atOnce = Timestamp(milliseconds: 0)

  package init(
    failure: FailureRecord, status: Int?, at: Timestamp, count: Int, nextTry: Timestamp,
    isServersWord: Bool, since: Timestamp, missingSince: Timestamp? = nil
  ) {
    self.failure = failure
    self.status = status
    self.at = at
    self.count = count
    self.nextTry = nextTry
    self.isServersWord = isServersWord
    self.since = since
    self.missingSince = missingSince
  }
}

/// One variant of one original: made, or known not to be makeable.
package struct VariantRecord: Sendable, Hashable {
  package enum State: Sendable, Hashable {
    case made(StoredVariant)
    /// The poison is remembered: it is not tried again until bytes or recipe change.
    case failed(FailureRecord)
  }

  package var original: Digest
  package var recipe: RecipeKey
  package var state: State

  package init(original: Digest, recipe: RecipeKey, state: State) {
    self.original = original
    self.recipe = recipe
    self.state = state
  }
}

package struct StoredVariant: Sendable, Hashable {
  package var digest: Digest
  package var bytes: Int
  package var format: ImageFormat
  package var width: Int
  package var height: Int
  /// Whether `cover` found fewer pixels in the original than it was to make.
  package var isCapped: Bool

  package init(
    digest: Digest, bytes: Int, format: ImageFormat, width: Int, height: Int,
    isCapped: Bool = false
  ) {
    self.digest = digest
    self.bytes = bytes
    self.format = format
    self.width = width
    self.height = height
    self.isCapped = isCapped
  }
}
