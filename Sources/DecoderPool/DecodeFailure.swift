import DecoderWire
import Vocabulary

/// Why an original, or one variant of it, could not be made.
package struct DecodeFailure: WorkerFailure, Hashable {
  package enum Cause: Sendable, Hashable {
    case notAnImage
    case unsupportedFormat
    case corruptImage
    case truncated
    case tooManyPixels
    /// A variant's setting cannot be met with this picture.
    case unsupportedSetting
    /// `maxBytes` cannot be met.
    case variantTooLarge
    case decoderMemory
    case decoderTimeout
    /// It died of the image, by a signal or an exit status.
    case decoderCrashed
    /// It was killed by someone else: the image is not to blame.
    case decoderKilled
    /// What it answered or wrote is not what it should.
    case decoderMisbehaved
    /// No decoder can be started; no other image would fare better.
    case decoderUnavailable
    case diskFull
    case originalUnreadable
    case outputUnwritable
    /// The request was dropped before its turn, or the pool was stopped.
    case cancelled
  }

  package var cause: Cause
  package var message: String

  package init(_ cause: Cause, _ message: String) {
    self.cause = cause
    self.message = message
  }

  package var code: String {
    switch cause {
    case .notAnImage: "not-an-image"
    case .unsupportedFormat: "unsupported-format"
    case .corruptImage: "corrupt-image"
    case .truncated: "truncated"
    case .tooManyPixels: "too-many-pixels"
    case .unsupportedSetting: "unsupported-setting"
    case .variantTooLarge: "variant-too-large"
    case .decoderMemory: "decoder-memory"
    case .decoderTimeout: "decoder-timeout"
    case .decoderCrashed, .decoderKilled, .decoderMisbehaved: "decoder-crashed"
    case .decoderUnavailable: "decoder-unavailable"
    case .diskFull: "disk-full"
    case .originalUnreadable: "original-unreadable"
    case .outputUnwritable: "output-unwritable"
    case .cancelled: "cancelled"
    }
  }

  /// Codes that, at all its variants, tell of an original that nothing can be made of: another try would
  /// take as long and end as badly.
  package static let codesOfOriginals: Set<String> = Set(
    [
      Cause.unsupportedFormat, .corruptImage, .truncated, .tooManyPixels, .decoderMemory,
      .decoderTimeout, .decoderCrashed,
    ].map { DecodeFailure($0, "").code })

  package var hint: String {
    switch cause {
    case .notAnImage: "look at what the URL serves; it may be an error page"
    case .unsupportedFormat:
      "serve a format that limits.formats names, or name it there and run with --retry-failed"
    case .corruptImage: "open the original in a viewer; have it exported again"
    case .truncated: "the file ends early: have the server send the whole picture"
    case .tooManyPixels:
      "raise limits.maxPixels for this job and run with --retry-failed, or serve a smaller picture"
    case .unsupportedSetting: "change this variant's format or size"
    case .variantTooLarge: "raise the variant's maxBytes, or make it smaller"
    case .decoderMemory:
      "raise limits.memory for this job and run with --retry-failed, or serve a smaller picture"
    case .decoderTimeout:
      "raise limits.decodeTimeout for this job and run with --retry-failed, or drop the item"
    case .decoderCrashed: "drop the item: its bytes break the decoder"
    case .decoderKilled: "run again; if it stays, see whether this machine runs out of memory"
    case .decoderMisbehaved: "drop the item, and check that thumbdecoder is of this version"
    case .decoderUnavailable:
      "install thumbdecoder of this version, and libvips, beside this program"
    case .diskFull: "free some space, then run again: what was done is kept"
    case .originalUnreadable: "run again; if it stays, check the disk"
    case .outputUnwritable: "see whether the root's file system takes files, then run again"
    case .cancelled: "run again"
    }
  }

  package var disposition: Disposition {
    switch cause {
    case .decoderUnavailable, .diskFull: .stopRun
    case .decoderKilled, .originalUnreadable, .outputUnwritable, .cancelled:
      .retry(notBefore: nil)
    default: .giveUp
    }
  }
}

extension DecodeFailure {
  init(_ fault: Fault) {
    let cause: Cause =
      switch fault.kind {
      case .notAnImage: .notAnImage
      case .unsupportedFormat: .unsupportedFormat
      case .corrupt: .corruptImage
      case .truncated: .truncated
      case .tooManyPixels: .tooManyPixels
      case .memory: .decoderMemory
      case .unsupportedSetting: .unsupportedSetting
      case .overBudget: .variantTooLarge
      case .unwritable: .outputUnwritable
      }
    self.init(cause, fault.message.printable)
  }
}
