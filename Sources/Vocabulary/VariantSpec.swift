/// One size variant as the manifest spells it; `Recipe` is what is done for it.
package struct VariantSpec: Sendable, Hashable {
  /// How the picture is fitted into `width` × `height`.
  package enum Fit: String, Sendable, Hashable, CaseIterable {
    /// The largest size that lies within the box, its shape kept.
    case inside
    /// The smallest size that covers the box, its shape kept.
    case outside
    /// Exactly the box: scaled to cover it, the rest cropped.
    case cover
    /// Exactly the box: scaled to lie within it, the rest `background`.
    case contain
    /// Exactly the box, its shape not kept.
    case fill
  }

  /// Which part of the picture a crop keeps.
  package enum Position: String, Sendable, Hashable, CaseIterable {
    case centre, attention, entropy
    case north, northeast, east, southeast, south, southwest, west, northwest
  }

  package enum Format: String, Sendable, Hashable, CaseIterable {
    case jpeg, png, webp, avif, gif
    /// JPEG where the picture is opaque, else WebP.
    case auto

    package var imageFormat: ImageFormat? { ImageFormat(rawValue: rawValue) }
  }

  /// CPU against bytes.
  package enum Effort: String, Sendable, Hashable, CaseIterable {
    case fast, balanced, small
  }

  package enum Metadata: String, Sendable, Hashable, CaseIterable {
    case none, icc, copyright, all
  }

  package enum Animation: String, Sendable, Hashable, CaseIterable {
    case keep, first
  }

  /// An opaque 8-bit sRGB colour.
  package struct Color: Sendable, Hashable, CustomStringConvertible {
    package var red: UInt8
    package var green: UInt8
    package var blue: UInt8

    package init(red: UInt8, green: UInt8, blue: UInt8) {
      self.red = red
      self.green = green
      self.blue = blue
    }

    /// - Parameter text: `#rgb` or `#rrggbb`.
    package init?(_ text: String) {
      guard text.utf8.first == UInt8(ascii: "#") else { return nil }
      var (value, count) = (UInt32(0), 0)
      for byte in text.utf8.dropFirst() {
        guard count < 6, let digit = byte.hexDigitValue else { return nil }
        value = value << 4 | UInt32(digit)
        count += 1
      }
      func bits(from place: UInt32, _ width: UInt32) -> UInt8 {
        UInt8(value >> place & (1 << width - 1))
      }
      switch count {
      case 3:
        (red, green, blue) = (bits(from: 8, 4) * 17, bits(from: 4, 4) * 17, bits(from: 0, 4) * 17)
      case 6: (red, green, blue) = (bits(from: 16, 8), bits(from: 8, 8), bits(from: 0, 8))
      default: return nil
      }
    }

    package static let white = Color(red: 255, green: 255, blue: 255)

    package var description: String {
      "#"
        + [red, green, blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
  }

  /// `[a-z0-9][a-z0-9._-]{0,63}`.
  package var name: String
  /// Pixels, 1 or more; nil where only the other side constrains.
  package var width: Int?
  package var height: Int?
  package var fit: Fit = .inside
  package var position: Position = .centre
  package var enlarge = false
  package var format: Format = .auto
  /// 1 to 100; nil is the format's default.
  package var quality: Int?
  package var effort: Effort = .balanced
  package var background: Color = .white
  /// Device pixel ratios, each 1 to 4: `[1, 2]` makes `thumb` and `thumb@2x`.
  package var dpr: [Int] = [1]
  package var metadata: Metadata = .none
  package var animation: Animation = .keep
  /// The most that the encoded variant may weigh.
  package var maxBytes: Int?

  package init(name: String, width: Int? = nil, height: Int? = nil) {
    self.name = name
    self.width = width
    self.height = height
  }

  /// One recipe for each device pixel ratio, with the name that its files get.
  package func recipes(by encoders: EncoderVersions) -> [NamedRecipe] {
    dpr.map { ratio in
      NamedRecipe(
        name: ratio == 1 ? name : "\(name)@\(ratio)x",
        recipe: Recipe(of: self, ratio: ratio, by: encoders))
    }
  }
}

/// A recipe under the name that the job gives to what it makes.
package struct NamedRecipe: Sendable, Hashable {
  package var name: String
  package var recipe: Recipe

  package init(name: String, recipe: Recipe) {
    self.name = name
    self.recipe = recipe
  }
}

/// Everything besides the original's bytes that decides a variant's bytes.
///
/// Two variants of any names and jobs with equal recipes are one.
package struct Recipe: Sendable, Hashable {
  /// Raised whenever our own processing would make other bytes of the same original and settings.
  package static let processingVersion = 4

  /// Pixels, the device pixel ratio applied.
  package var width: Int?
  package var height: Int?
  package var fit: VariantSpec.Fit
  package var position: VariantSpec.Position
  package var enlarge: Bool
  package var format: VariantSpec.Format
  package var quality: Int?
  package var effort: VariantSpec.Effort
  package var background: VariantSpec.Color
  package var metadata: VariantSpec.Metadata
  package var animation: VariantSpec.Animation
  package var maxBytes: Int?
  /// `EncoderVersions.versions(for:)`.
  package var encoder: String

  package init(of spec: VariantSpec, ratio: Int, by encoders: EncoderVersions = .unknown) {
    width = spec.width.map { $0 * ratio }
    height = spec.height.map { $0 * ratio }
    fit = spec.fit
    position = spec.position
    enlarge = spec.enlarge
    format = spec.format
    quality = spec.quality
    effort = spec.effort
    background = spec.background
    metadata = spec.metadata
    animation = spec.animation
    maxBytes = spec.maxBytes
    encoder = encoders.versions(for: spec.format)
  }

  /// What the recipe's key is the digest of: each setting by name, in a fixed order, with our
  /// processing version in front. The wire to the decoder carries it too.
  package var canonicalText: String {
    func text(_ number: Int?) -> String { number.map(String.init) ?? "-" }
    return [
      "p\(Self.processingVersion)", "w=\(text(width))", "h=\(text(height))", "fit=\(fit.rawValue)",
      "position=\(position.rawValue)", "enlarge=\(enlarge ? 1 : 0)", "format=\(format.rawValue)",
      "quality=\(text(quality))", "effort=\(effort.rawValue)", "background=\(background)",
      "metadata=\(metadata.rawValue)", "animation=\(animation.rawValue)",
      "maxBytes=\(text(maxBytes))", "encoder=\(encoder)",
    ].joined(separator: ";")
  }

  /// Reads `canonicalText` back; nil where it is of another processing version or not ours.
  package init?(canonicalText: some StringProtocol) {
    var values: [Substring: Substring] = [:]
    let fields = Substring(canonicalText).split(separator: ";")
    guard fields.first == "p\(Self.processingVersion)" else { return nil }
    for field in fields.dropFirst() {
      let parts = field.split(separator: "=", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      values[parts[0]] = parts[1]
    }
    func number(_ key: Substring) -> Int?? {
      guard let value = values[key] else { return .none }
      if value == "-" { return .some(nil) }
      return Int(value).map { .some($0) } ?? .none
    }
    func name<Value: RawRepresentable<String>>(_ key: Substring, _: Value.Type) -> Value? {
      values[key].flatMap { Value(rawValue: String($0)) }
    }
    guard let width = number("w"), let height = number("h"), let quality = number("quality"),
      let maxBytes = number("maxBytes"), let fit = name("fit", VariantSpec.Fit.self),
      let position = name("position", VariantSpec.Position.self),
      let format = name("format", VariantSpec.Format.self),
      let effort = name("effort", VariantSpec.Effort.self),
      let metadata = name("metadata", VariantSpec.Metadata.self),
      let animation = name("animation", VariantSpec.Animation.self),
      let background = values["background"].flatMap({ VariantSpec.Color(String($0)) }),
      let enlarge = values["enlarge"], let encoder = values["encoder"]
    else { return nil }
    self.width = width
    self.height = height
    self.quality = quality
    self.maxBytes = maxBytes
    self.fit = fit
    self.position = position
    self.format = format
    self.effort = effort
    self.metadata = metadata
    self.animation = animation
    self.background = background
    self.enlarge = enlarge == "1"
    self.encoder = String(encoder)
  }
}
