import Hashing
import TestSupport
import Testing
import Vocabulary

@testable import Manifests

private let variants =
  "\"variants\": [{\"name\": \"thumb\", \"width\": 9}, {\"name\": \"big\", \"width\": 99}]"

private func row(_ items: String, _ lines: String...) -> BadRow {
  BadRow(members: items, lines: lines)
}

/// All items of a manifest, `most` at a time.
private func read(_ text: String, most: Int = 1000) throws -> [ManifestItem] {
  let file = ManifestTestFile(text)
  let manifest = try ManifestFile.open(path: file.path, environment: [:])
  let reader = try manifest.makeItemReader()
  var items: [ManifestItem] = []
  while true {
    let next = try reader.next(atMost: most)
    if next.isEmpty { break }
    #expect(next.count <= most)
    items += next
  }
  #expect(items.count == manifest.itemCount)
  return items
}

@Suite struct `A manifest's items` {
  @Test(arguments: [1, 2, 1000]) func `come in order, whatever is asked for`(most: Int) throws {
    let items = try read(
      """
      {"items": [
        {"id": "a/b", "url": "HTTPS://A.example:443/x?y", "variants": ["big", "thumb"],
         "meta": {"k": [1.50, -0, 1e400, true, null, "\\u00fc\\n\\"", {}, []], "e": {"f": 1}}},
        "https://a.example/x?y",
        {"url": "https://b.example/", "meta": null},
        {"url": "https://c.example/", "id": "c", "meta": "s", "variants": ["thumb"]}
      ], \(variants), "version": 1}
      """, most: most)
    let x = try ItemURL("https://a.example/x?y")
    let b = try ItemURL("https://b.example/")
    let c = try ItemURL("https://c.example/")
    #expect(
      items == [
        .usable(
          id: try ItemID("a/b"), url: x, key: EntryKey(x), variants: ["big", "thumb"],
          meta: #"{"k":[1.50,-0,1e400,true,null,"ü\n\"",{},[]],"e":{"f":1}}"#),
        .usable(
          id: ItemID(bareURLKey: EntryKey(x)), url: x, key: EntryKey(x), variants: nil, meta: nil),
        .usable(
          id: ItemID(bareURLKey: EntryKey(b)), url: b, key: EntryKey(b), variants: nil, meta: nil),
        .usable(
          id: try ItemID("c"), url: c, key: EntryKey(c), variants: ["thumb"], meta: "\"s\""),
      ])
  }

  @Test func `may be none`() throws {
    #expect(try read("{\"version\": 1}") == [])
    #expect(try read("{\"version\": 1, \"items\": []}") == [])
  }

  @Test(arguments: [
    ("ftp://a.example/x", "ftp://a.example/x", "bad-url"), ("", "", "bad-url"),
    ("x.jpg", "x.jpg", "bad-url"),
    ("http://u:p@a.example/x", "http://REDACTED@a.example/x", "bad-url"),
    ("ftp://u:p@a.example/x?sig=1", "ftp://REDACTED@a.example/x?…", "bad-url"),
    ("http://u:pa/ss@a.example/", "http://REDACTED@a.example/", "bad-url"),
    ("http:u:p@a.example/", "http:REDACTED@a.example/", "bad-url"),
    ("u:p@a.example/", "u:REDACTED@a.example/", "bad-url"),
    ("ftp://a.example/@2x.png", "ftp://a.example/@2x.png", "bad-url"),
    ("http://a.example:0/@2x.png", "http://REDACTED@2x.png", "bad-url"),
    ("a\u{1B}[2Jb", "a\\u{1b}[2Jb", "bad-url"),
  ])
  func `fail alone where their URL cannot be used`(text: String, shown: String, code: String) throws
  {
    let escaped = text == "a\u{1B}[2Jb" ? "a\\u001b[2Jb" : text
    let items = try read(
      "{\"version\": 1, \"items\": [\"\(escaped)\", {\"id\": \"a\", \"url\": \"\(escaped)\"}]}")
    let ids = [ItemID(bareURLKey: EntryKey(Digest(of: text))), try ItemID("a")]
    for (item, id) in zip(items, ids) {
      guard case .unusable(id, shown, let failure) = item else {
        Issue.record("\(item)")
        continue
      }
      #expect(failure.code == code)
      #expect(!failure.message.contains("pa") || failure.message == BadURL.userInfo.message)
    }
    #expect(items.count == 2)
  }

  @Test func `have no control characters in their failures`() throws {
    let items = try read("{\"version\": 1, \"items\": [\"http://a\\u001b[2J/\"]}")
    guard case .unusable(_, let shown, let failure) = try #require(items.first) else { return }
    #expect(shown == "http://a\\u{1b}[2J/")
    #expect(failure.message == "\"a\\u{1b}[2j\" is no host name")
  }

  @Test func `may share a URL`() throws {
    let items = try read(
      """
      {"version": 1, "items": [{"id": "a", "url": "http://a/"}, {"id": "b", "url": "http://a/"}]}
      """)
    #expect(items.map(\.id.text) == ["a", "b"])
  }

  @Test(arguments: [
    row(
      "[17, null, true, [[]]]", "items[0]: must be an object or a URL, not a number",
      "items[1]: must be an object or a URL, not null",
      "items[2]: must be an object or a URL, not true or false",
      "items[3]: must be an object or a URL, not an array"),
    row(
      "[\"http://a/\", {\"ulr\": \"http://b/\", \"id\": \"b\"}]",
      "items[1].ulr: unknown key, did you mean \"url\"?", "items[1].url: is missing"),
    row("[{}]", "items[0].url: is missing"),
    row(
      "[{\"id\": 5, \"url\": {\"a\": [1]}, \"variants\": \"thumb\"}, \"http://a/\"]",
      "items[0].id: must be a string, not a number",
      "items[0].url: must be a string, not an object",
      "items[0].variants: must be an array of names, not a string"),
    row(
      "[{\"url\": \"http://a/\", \"url\": [\"http://a/\"], \"id\": \"a\", \"id\": \"b\"}]",
      "items[0].url: given twice", "items[0].id: given twice"),
    row(
      "[{\"url\": \"http://a/\", \"id\": \"\"}, {\"url\": \"http://a/\", \"id\": \"../x\"}, "
        + "{\"url\": \"http://a/\", \"id\": \"/x\"}, {\"url\": \"http://a/\", \"id\": \"a\\u0000b\"},"
        + "{\"url\": \"http://a/\", \"id\": \".tw-1\"}]",
      "items[0].id: \"\": an id must not be empty",
      "items[1].id: \"../x\": an id must not hold the segment \"..\"",
      "items[2].id: \"/x\": an id must not start or end with / or hold //",
      "items[3].id: \"a\\u{0}b\": an id must not hold control characters",
      "items[4].id: \".tw-1\": an id's part must not start with \".tw-\""),
    row(
      "[{\"url\": \"http://a/\", \"id\": \"\(String(repeating: "i", count: 201))\"}]",
      "items[0].id: \"\(String(repeating: "i", count: 60))…\": a part of an id between slashes has at "
        + "most 200 bytes"),
    row(
      "[{\"url\": \"http://a/\", \"variants\": [\"thmb\", \"big\"]}, {\"url\": \"http://b/\", "
        + "\"variants\": [\"thmb\"]}]",
      "items[0].variants[0]: unknown variant \"thmb\", did you mean \"thumb\"?"),
    row(
      "[{\"url\": \"http://a/\", \"variants\": []}, {\"url\": \"http://b/\", \"variants\": "
        + "[\"big\", 5, [\"x\"], {\"a\": 1}, \"big\"]}]",
      "items[0].variants: is empty: leave it out for all variants",
      "items[1].variants[1]: must be a string, not a number",
      "items[1].variants[2]: must be a string, not an array",
      "items[1].variants[3]: must be a string, not an object",
      "items[1].variants[1]: \"big\" is given twice"),
    row(
      "[{\"url\": \"http://a/\", \"meta\": {\"a\": 1, \"b\": {\"a\": 1, \"a\": 2}}}]",
      "items[0].meta: the key \"a\" is given twice"),
    row("[{\"url\": \"http://a/\", \"meta\": {\"b\": {\"a\": 1}, \"a\": 2}}]"),
    row(
      "[{\"id\": \"sku-1\", \"url\": \"http://a/\"}, \"http://b/\", "
        + "{\"id\": \"sku-1\", \"url\": \"http://c/\"}, {\"id\": \"sku-1\", \"url\": \"http://a/\"}]",
      "items[2].id: \"sku-1\" is also the id of items[0]",
      "items[3].id: \"sku-1\" is also the id of items[0]"),
    row(
      "[\"http://b/\", \"HTTP://B\"]",
      "items[1]: has the id of items[0], which is made from its URL: give it one of its own"),
  ])
  func `are checked, each fault with its place`(row: BadRow) {
    #expect(problems("{\"version\": 1, \"items\": \(row.members), \(variants)}") == row.lines)
  }

  @Test func `may carry 64 KiB of meta and no more`() throws {
    func manifest(_ bytes: Int) -> String {
      let text = String(repeating: "m", count: bytes - 2)
      return "{\"version\": 1, \"items\": [{\"url\": \"http://a/\", \"meta\": \"\(text)\"}]}"
    }
    #expect(problems(manifest(64 << 10)) == [])
    #expect(
      problems(manifest((64 << 10) + 1)) == ["items[0].meta: has over 64 KiB as compact JSON"])
  }

  @Test func `that are all faulty are counted, a hundred named`() {
    let items = Array(repeating: "{\"id\": \"a\", \"url\": \"http://a/\"}", count: 5000)
    let lines = problems("{\"version\": 1, \"items\": [\(items.joined(separator: ","))]}")
    #expect(lines.count == 101)
    #expect(lines[99] == "items[100].id: \"a\" is also the id of items[0]")
    #expect(lines[100] == "and 4899 more problems")
    let pairs = (0..<3000).map { "{\"id\": \"\($0 % 1500)\", \"url\": \"http://a/\"}" }
    let more = problems("{\"version\": 1, \"items\": [\(pairs.joined(separator: ","))]}")
    #expect(more.count == 101)
    #expect(more.last == "and 1400 more problems")
  }

  @Test(arguments: [1, 7, 999, 5000]) func `do not pile up behind their reader`(most: Int) throws {
    let items = (0..<20_000).map { "{\"id\":\"\($0)\",\"url\":\"http://a.example/\($0)\"}" }
    let file = ManifestTestFile(
      "{\"version\": 1, \"items\": [\(items.joined(separator: ","))]}")
    let reader = try ManifestFile.open(path: file.path, environment: [:]).makeItemReader()
    var next = 0
    while true {
      let items = try reader.next(atMost: most)
      if items.isEmpty { break }
      for item in items {
        #expect(item.id.text == "\(next)")
        next += 1
      }
      // A piece of 64 KiB holds some 1500 of these.
      #expect(reader.held <= 2 * (most + 2000))
    }
    #expect(next == 20_000)
  }

  @Test func `are not given out of a file that changes meanwhile`() throws {
    let file = ManifestTestFile("{\"version\": 1, \"items\": [\"http://a/\"]}")
    let manifest = try ManifestFile.open(path: file.path, environment: [:])
    let reader = try manifest.makeItemReader()
    file.replace(with: Array("{\"version\": 1, \"items\": [\"http://b/\", \"http://c/\"]}".utf8))
    let failure = #expect(throws: ManifestFailure.self) {
      while !(try reader.next(atMost: 10).isEmpty) {}
    }
    #expect(failure?.message == "\(file.path): changed while it was read")
  }
}

@Suite struct `A manifest's file` {
  @Test func `is known by size, time, inode and digest`() throws {
    let text = "{\"version\": 1, \"items\": []}"
    let file = ManifestTestFile(text)
    let manifest = try ManifestFile.open(path: file.path, environment: [:])
    #expect(manifest.identity == ManifestFile.identity(ofFileAt: file.path))
    #expect(manifest.identity.size == Int64(text.utf8.count))
    #expect(manifest.digest == Digest(of: text))
    #expect(ManifestFile.identity(ofFileAt: "/nowhere") == nil)
    #expect(ManifestFile.identity(ofFileAt: "/tmp") == nil)
  }

  @Test(arguments: [
    ("/nowhere/x.json", "/nowhere/x.json: No such file or directory"),
    ("/tmp", "/tmp: is not a regular file"), ("/dev/null", "/dev/null: is not a regular file"),
  ])
  func `must be there and regular`(path: String, message: String) {
    let failure = #expect(throws: ManifestFailure.self) {
      try ManifestFile.open(path: path, environment: [:])
    }
    #expect(failure?.message == message)
    #expect(failure?.code == "manifest")
    #expect(failure?.disposition == .giveUp)
  }
}
