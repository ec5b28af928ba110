import Vocabulary

extension SettingsReader {
  static let mostVariants = 256

  func readVariants(_ document: ObjectReader, into result: inout Result) {
    let values = document.array("variants") ?? []
    guard values.count <= Self.mostVariants else {
      document.reject(
        "variants", "has \(values.count) variants, over the limit of \(Self.mostVariants)")
      return
    }
    var met: [String: Place] = [:]
    for (i, value) in values.enumerated() {
      let place = document.place["variants"][i]
      guard
        let object = ObjectReader(
          value, at: place, keys: ManifestKeys.variant, problems: problems)
      else { continue }
      let name = variantName(object)
      let spec = variant(object, name: name ?? "")
      guard let name else { continue }
      result.variantNames.insert(name)
      if let first = met[name] {
        object.reject("name", "\"\(name)\" is also the name of \(first)")
      }
      met[name] = met[name] ?? place
      result.settings.variants.append(spec)
    }
  }

  private func variantName(_ object: ObjectReader) -> String? {
    guard object.has("name") else {
      object.reject("name", "is missing")
      return nil
    }
    guard let name = object.string("name") else { return nil }
    if !JobSettings.isLegalName(name) {
      object.reject("name", "\(Shown.quoted(name)) is no variant's name: \(Self.nameRule)")
    }
    return name
  }

  private func variant(_ object: ObjectReader, name: String) -> VariantSpec {
    var spec = VariantSpec(name: name)
    object.choice("fit").assign(to: &spec.fit)
    object.choice("position").assign(to: &spec.position)
    object.boolean("enlarge").assign(to: &spec.enlarge)
    object.choice("format").assign(to: &spec.format)
    spec.quality = object.integer("quality", in: 1...100)
    object.choice("effort").assign(to: &spec.effort)
    background(object).assign(to: &spec.background)
    ratios(object).assign(to: &spec.dpr)
    object.choice("metadata").assign(to: &spec.metadata)
    object.choice("animation").assign(to: &spec.animation)
    spec.maxBytes = object.byteSize("maxBytes", in: 100...(1 << 40))
    readSize(object, into: &spec)
    return spec
  }

  /// A side that the format cannot have, at the largest device pixel ratio, is refused here: libvips
  /// would otherwise fail on every item.
  private func readSize(_ object: ObjectReader, into spec: inout VariantSpec) {
    if !object.has("width"), !object.has("height") {
      problems.add(object.place, "needs a width, a height or both")
    }
    spec.width = side(object, "width", of: spec)
    spec.height = side(object, "height", of: spec)
  }

  private func side(_ object: ObjectReader, _ key: String, of spec: VariantSpec) -> Int? {
    guard let pixels = object.integer(key, in: 1...1_000_000) else { return nil }
    let ratio = spec.dpr.max() ?? 1
    // `auto` may become WebP, the narrower of its two.
    let format = spec.format.imageFormat ?? .webp
    guard pixels * ratio <= format.maxSide else {
      let asMade = ratio == 1 ? "\(pixels)" : "\(pixels) at dpr \(ratio), \(pixels * ratio),"
      object.reject(
        key, "\(asMade) is above the limit of \(format.rawValue), \(format.maxSide) pixels")
      return nil
    }
    return pixels
  }

  private func background(_ object: ObjectReader) -> VariantSpec.Color? {
    guard let text = object.string("background") else { return nil }
    let color = VariantSpec.Color(text)
    if color == nil {
      object.reject("background", "\(Shown.quoted(text)) is no colour: write \"#rrggbb\"")
    }
    return color
  }

  private func ratios(_ object: ObjectReader) -> [Int]? {
    guard let values = object.array("dpr") else { return nil }
    if values.isEmpty { object.reject("dpr", "is empty") }
    var met: Set<Int> = []
    for (i, value) in values.enumerated() {
      let place = object.place["dpr"][i]
      guard let ratio = object.integer(value, at: place, in: 1...4) else { continue }
      if !met.insert(ratio).inserted { problems.add(place, "\(ratio) is given twice") }
    }
    return met.isEmpty ? nil : met.sorted()
  }
}
