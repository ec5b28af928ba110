import Vocabulary

/// What the contract names and this version cannot do yet: refused with these words, never ignored.
/// Whoever makes one of them work takes it out here.
enum Unsupported {
  static let documentKeys: Set<String> = ["fallback", "sources"]
  static let networkKeys: Set<String> = ["proxy"]
  static let variantKeys: Set<String> = ["maxBytes"]

  static let fits: Set<VariantSpec.Fit> = [.outside, .contain, .fill]
  static let positions: Set<VariantSpec.Position> = Set(VariantSpec.Position.allCases)
    .subtracting([.centre])
  static let formats: Set<VariantSpec.Format> = [.avif, .gif]
  static let efforts: Set<VariantSpec.Effort> = []
  static let metadata: Set<VariantSpec.Metadata> = [.icc, .copyright, .all]
  static let animations: Set<VariantSpec.Animation> = []

  static let message = "not supported yet"
}
