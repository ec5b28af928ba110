// DecoderWire: what worker and decoder say to each other, one packet a message.
//
//   worker  ── image (+ the original's descriptor) ─────────────► decoder
//           ── output, one a variant ──────────────────────────►
//           ◄─ needs, answered by granted when there is so much memory ──
//           ◄─ opened, seen, made or missed for each variant, finished ──
//           ◄─ or failed: nothing can be made of this image ───────
//
// A decoder speaks first: `hello`, then `ready` once it is confined, `unfit` where it cannot be. What
// it makes it writes to one file in memory, the same for all variants: `made` says how much; after it, and
// after `missed`, `taken` says that the room is free again. Both sides are one build: a packet of another version or shape ends the
// conversation. The worker checks every number that comes back; nothing here allocates more than a
// packet is long.

import Vocabulary

/// What the worker sends.
package enum WorkerMessage: Sendable, Equatable {
  case image(ImageOrder)
  case output(OutputOrder)
  /// What the image needs is set aside for it.
  case granted(number: UInt32)
  /// The output room is empty again.
  case taken(number: UInt32)
}

/// One original to decode. Its descriptor comes with it; `outputs` messages follow.
package struct ImageOrder: Sendable, Equatable {
  /// Names the conversation: every answer repeats it.
  package var number: UInt32
  /// 1 to `Wire.maxOutputs`.
  package var outputs: Int
  package var maxPixels: Int
  package var maxFrames: Int
  /// Bytes that there are for one image, its largest file included, if no other needs any.
  package var maxMemory: Int
  package var formats: Set<ImageFormat>

  package init(
    number: UInt32, outputs: Int, maxPixels: Int, maxFrames: Int, maxMemory: Int,
    formats: Set<ImageFormat>
  ) {
    self.number = number
    self.outputs = outputs
    self.maxPixels = maxPixels
    self.maxFrames = maxFrames
    self.maxMemory = maxMemory
    self.formats = formats
  }
}

/// One variant to make.
package struct OutputOrder: Sendable, Equatable {
  package var number: UInt32
  /// `Recipe.canonicalText`.
  package var recipe: String

  package init(number: UInt32, recipe: String) {
    self.number = number
    self.recipe = recipe
  }
}

/// What a decoder answers.
package enum DecoderMessage: Sendable, Equatable {
  /// What it is; it is warm and confined only when it is `ready`.
  case hello(DecoderGreeting)
  /// With the bytes of address space that it has taken by then.
  case ready(addressSpace: Int)
  /// It cannot confine itself, and does nothing.
  case unfit(reason: String)
  /// Before it decodes: nothing is, until it is granted. Once for each image at most.
  case needs(number: UInt32, MemoryNeed)
  case opened(OpenedImage)
  case seen(number: UInt32, Placeholder)
  case made(MadeOutput)
  case missed(number: UInt32, index: Int, Fault)
  case failed(number: UInt32, Fault)
  /// Last of a conversation. `heldBytes` is what its allocator has given out and not got back,
  /// `processorMilliseconds` what the process has used since its start.
  case finished(
    number: UInt32, warnings: [String], heldBytes: Int, processorMilliseconds: Int)
}

package struct OpenedImage: Sendable, Equatable {
  package var number: UInt32
  package var format: ImageFormat
  /// Upright, in pixels.
  package var width: Int
  package var height: Int
  /// 1 or more.
  package var frames: Int

  package init(number: UInt32, format: ImageFormat, width: Int, height: Int, frames: Int) {
    self.number = number
    self.format = format
    self.width = width
    self.height = height
    self.frames = frames
  }
}

package struct MadeOutput: Sendable, Equatable {
  package var number: UInt32
  /// Of the `output` messages, from 0.
  package var index: Int
  package var format: ImageFormat
  package var width: Int
  package var height: Int
  /// Whether `cover` found fewer pixels than it was to make.
  package var isCapped: Bool
  package var bytes: Int

  package init(
    number: UInt32, index: Int, format: ImageFormat, width: Int, height: Int, isCapped: Bool,
    bytes: Int
  ) {
    self.number = number
    self.index = index
    self.format = format
    self.width = width
    self.height = height
    self.isCapped = isCapped
    self.bytes = bytes
  }
}

/// Why an image or one variant of it cannot be made.
package struct Fault: Sendable, Equatable, Error {
  package enum Kind: UInt8, Sendable, CaseIterable {
    case notAnImage = 1
    case unsupportedFormat
    case corrupt
    /// The data ends before the picture does.
    case truncated
    case tooManyPixels
    case memory
    /// A setting of the recipe that this build cannot do for this picture.
    case unsupportedSetting
    /// `maxBytes` cannot be met.
    case overBudget
    /// The output could not be written.
    case unwritable
  }

  package var kind: Kind
  /// For people: what happened, in libvips' words where they say it.
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}

/// The bounds of the conversation.
package enum Wire {
  package static let version: UInt8 = 4
  /// Bytes of a packet.
  package static let maxPacket = 32 << 10
  /// Of one conversation.
  package static let maxOutputs = 128
  /// Bytes of one text.
  package static let maxText = 1000
  package static let maxWarnings = 16
  /// The decoder's end of the socket pair.
  package static let decoderDescriptor: Int32 = 3
  /// The decoder's `OutputRoom`.
  package static let outputDescriptor: Int32 = 4
  /// The decoder's exit status when memory could not be had.
  package static let exitOutOfMemory: Int32 = 71
}
