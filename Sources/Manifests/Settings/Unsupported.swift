/// What the contract names and this version cannot do yet: refused with these words, never ignored.
/// Whoever makes one of them work takes it out here.
enum Unsupported {
  static let documentKeys: Set<String> = ["fallback"]

  static let message = "not supported yet"
}
