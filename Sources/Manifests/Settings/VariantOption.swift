/// A variant as the command line gives it: `thumb=200x200,fit=cover,format=webp`.
///
/// Behind the name stand its width and height, either of which may be left out (`200x`, `x200`; `200` is a
/// width), then keys of a manifest's variant; several ratios as `dpr=1+2`.
struct VariantOption {
  /// As a manifest would have it.
  let value: JSONValue

  /// - Throws: what is wrong with its form; what its values mean is looked at with the rest.
  init(_ text: String) throws(VariantOptionFault) {
    guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
      throw VariantOptionFault(text)
    }
    var members = [JSONValue.Member(key: "name", value: .string(String(text[..<equals])))]
    let parts = text[text.index(after: equals)...].split(
      separator: ",", omittingEmptySubsequences: false)
    guard let size = parts.first.flatMap({ Self.size($0) }) else { throw VariantOptionFault(text) }
    members += size
    for part in parts.dropFirst() {
      guard let equals = part.firstIndex(of: "="), equals > part.startIndex else {
        throw VariantOptionFault(text)
      }
      let key = String(part[..<equals])
      members.append(
        .init(key: key, value: Self.value(part[part.index(after: equals)...], of: key)))
    }
    value = .object(members)
  }

  private static func size(_ text: Substring) -> [JSONValue.Member]? {
    let sides = text.split(separator: "x", maxSplits: 1, omittingEmptySubsequences: false)
    guard sides.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
      sides.contains(where: { !$0.isEmpty })
    else { return nil }
    return zip(["width", "height"], sides).filter { !$0.1.isEmpty }
      .map { .init(key: $0.0, value: .number(String($0.1))) }
  }

  private static func value(_ text: Substring, of key: String) -> JSONValue {
    switch text {
    case "true", "false": .boolean(text == "true")
    case _ where key == "dpr": .array(text.split(separator: "+").map { .number(String($0)) })
    case _ where Double(text) != nil && key != "background": .number(String(text))
    default: .string(String(text))
    }
  }
}

struct VariantOptionFault: Error {
  let message: String

  init(_ text: String) {
    message =
      "--variant: \(Shown.quoted(text)) is none: write it as 'thumb=200x200,fit=cover,format=webp'"
  }
}
