import Glibc
import Testing
import Vocabulary

@testable import Manifests

@Suite struct `The manifest's JSON Schema` {
  let schema: JSONValue

  init() throws {
    let here = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    schema = try JSONTree.parse(try contents(ofFile: "/\(here)/jobs/manifest.schema.json"))
  }

  @Test(
    arguments: [
      ([], ManifestKeys.document), (["$defs", "network"], ManifestKeys.network),
      (["$defs", "backoff"], ManifestKeys.backoff), (["$defs", "cache"], ManifestKeys.cache),
      (["$defs", "host"], ManifestKeys.host), (["$defs", "limits"], ManifestKeys.limits),
      (["$defs", "variant"], ManifestKeys.variant), (["$defs", "publish"], ManifestKeys.publish),
      (["$defs", "item"], ManifestKeys.item),
    ] as [([String], [String])])
  func `names the keys that the reader knows, and no others`(place: [String], keys: [String]) {
    let object = schema[place]
    #expect(object["properties"]?.keys == keys)
    #expect(object["additionalProperties"] == .boolean(false))
  }

  @Test func `describes every key`() {
    for place in [[], ["$defs", "network"], ["$defs", "cache"], ["$defs", "limits"]] {
      for key in schema[place]["properties"]!.keys {
        let property = schema[place]["properties"]![key]!
        #expect(property["description"] != nil || property["$ref"] != nil, "\(place) \(key)")
      }
    }
  }

  @Test(arguments: [([], Unsupported.documentKeys)] as [([String], Set<String>)])
  func `says which keys cannot be used yet`(place: [String], keys: Set<String>) {
    let properties = schema[place]["properties"]!
    let marked = properties.keys.filter {
      guard case .string(let text)? = properties[$0]?["description"] else { return false }
      return text.hasSuffix("Not supported yet.")
    }
    #expect(Set(marked) == keys)
  }

  @Test(arguments: [
    (["$defs", "variant", "properties", "fit"], VariantSpec.Fit.allCases.map(\.rawValue)),
    (
      ["$defs", "variant", "properties", "position"], VariantSpec.Position.allCases.map(\.rawValue)
    ),
    (["$defs", "variant", "properties", "format"], VariantSpec.Format.allCases.map(\.rawValue)),
    (["$defs", "variant", "properties", "effort"], VariantSpec.Effort.allCases.map(\.rawValue)),
    (
      ["$defs", "variant", "properties", "metadata"], VariantSpec.Metadata.allCases.map(\.rawValue)
    ),
    (
      ["$defs", "variant", "properties", "animation"],
      VariantSpec.Animation.allCases.map(\.rawValue)
    ),
    (["$defs", "cache", "properties", "policy"], CacheSettings.Policy.allCases.map(\.rawValue)),
    (
      ["$defs", "publish", "properties", "withdraw"],
      PublishSettings.Withdrawal.allCases.map(\.rawValue)
    ),
    (
      ["$defs", "limits", "properties", "formats", "items"],
      ImageFormat.allCases.map(\.rawValue)
    ),
  ])
  func `names the values that the reader knows`(place: [String], values: [String]) {
    #expect(schema[place]["enum"] == .array(values.map { .string($0) }))
  }

  /// The reader's own defaults, by way of a manifest that spells them all.
  @Test func `states the defaults that hold`() throws {
    var spelled: [JSONValue.Member] = [.init(key: "version", value: .number("1"))]
    for part in ["network", "cache", "limits", "publish"] {
      spelled.append(.init(key: part, value: schema.defaults(ofObject: part)))
    }
    spelled.append(.init(key: "name", value: .string("job")))
    let read = try settings(
      fromHead: JSONValue.object(spelled).canonicalText, environment: [:])
    #expect(read == JobSettings(name: "job"))
  }

  @Test func `states the defaults of variants`() throws {
    guard case .object(let defaults) = schema.defaults(ofObject: "variant") else { return }
    let members: [JSONValue.Member] = [
      .init(key: "name", value: .string("a")), .init(key: "width", value: .number("9")),
    ]
    let head = JSONValue.object([
      .init(key: "version", value: .number("1")), .init(key: "name", value: .string("job")),
      .init(key: "variants", value: .array([.object(members + defaults)])),
    ])
    let read = try settings(fromHead: head.canonicalText, environment: [:])
    #expect(defaults.count == 9)
    #expect(read.variants == [VariantSpec(name: "a", width: 9)])
  }
}

extension JSONValue {
  fileprivate subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key == key }?.value
  }

  fileprivate subscript(path: [String]) -> JSONValue { path.reduce(self) { $0[$1] ?? .null } }

  fileprivate var keys: [String] {
    guard case .object(let members) = self else { return [] }
    return members.map(\.key)
  }

  /// Of a schema: an object that holds each property's default.
  fileprivate func defaults(ofObject name: String) -> JSONValue {
    guard case .object(let properties)? = self[["$defs", name]]["properties"] else { return .null }
    return .object(
      properties.compactMap { property in
        property.value["default"].map { Member(key: property.key, value: $0) }
      })
  }
}

private func contents(ofFile path: String) throws -> String {
  let file = try #require(fopen(path, "r"))
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 1 << 20)
  return String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self)
}
