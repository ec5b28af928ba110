import Glibc
import Storage
import TestSupport
import Testing
import Threading
import Vocabulary

@Suite struct `Publishing` {
  @Test func `makes a link, changes it and takes it away with the folders it leaves empty`()
    async throws
  {
    let fixture = try await StoreFixture()
    let (old, new) = (someBytes(1000, seed: 1), someBytes(2000, seed: 2))
    let (first, second) = (try await fixture.commit(old), try await fixture.commit(new))
    let path = fixture.path("thumb/a/b/c.jpg")
    try await fixture.publish("thumb/a/b/c.jpg", first)
    #expect(bytes(of: path) == old)
    #expect(status(of: path)?.st_ino == status(of: fixture.store.path(of: first))?.st_ino)
    try await fixture.publish("thumb/a/b/c.jpg", second)
    #expect(bytes(of: path) == new)
    try await fixture.publish("thumb/a/d.jpg", first)
    try await fixture.publish("thumb/a/b/c.jpg", nil)
    #expect(status(of: fixture.path("thumb/a/b")) == nil)
    #expect(bytes(of: fixture.path("thumb/a/d.jpg")) == old)
    try await fixture.publish("thumb/a/d.jpg", nil)
    #expect(StorageTemporaryFolder.names(in: fixture.root.published) == ["job"])
    #expect(StorageTemporaryFolder.names(in: fixture.path("")) == [])
    #expect(fixture.temporaryFiles.isEmpty)
    #expect(status(of: fixture.store.path(of: first))?.st_nlink == 1)
  }

  @Test func `is the same the second time`() async throws {
    let fixture = try await StoreFixture()
    let digest = try await fixture.commit(someBytes(1000, seed: 1))
    for _ in 0..<3 { try await fixture.publish("a.jpg", digest) }
    for _ in 0..<2 { try await fixture.publish("never/was.jpg", nil) }
    #expect(status(of: fixture.path("a.jpg"))?.st_nlink == 2)
    #expect(StorageTemporaryFolder.names(in: fixture.path("")) == ["a.jpg"])
    #expect(fixture.temporaryFiles.isEmpty)
  }

  @Test func `does in one call what it is told, in that order`() async throws {
    let fixture = try await StoreFixture()
    let (a, b) = (
      try await fixture.commit(someBytes(10, seed: 1)),
      try await fixture.commit(someBytes(20, seed: 2))
    )
    try await fixture.store.publish([
      PublicName(job: "one", path: "x/1.jpg", object: a),
      PublicName(job: "one", path: "x/1.jpg", object: nil),
      PublicName(job: "one", path: "x/2.jpg", object: a),
      PublicName(job: "one", path: "x/2.jpg", object: b),
      PublicName(job: "two", path: "y.jpg", object: nil),
      PublicName(job: "two", path: "y.jpg", object: b),
    ])
    #expect(StorageTemporaryFolder.names(in: fixture.path("x", job: "one")) == ["2.jpg"])
    #expect(bytes(of: fixture.path("x/2.jpg", job: "one"))?.count == 20)
    #expect(bytes(of: fixture.path("y.jpg", job: "two"))?.count == 20)
  }

  @Test func `touches more folders in one call than may be open`() async throws {
    let fixture = try await StoreFixture()
    let digest = try await fixture.commit(someBytes(10, seed: 1))
    let paths = (0..<300).map { "\($0)/a.jpg" }
    try await fixture.store.publish(
      paths.map { PublicName(job: "job", path: $0, object: digest) })
    #expect(paths.allSatisfy { bytes(of: fixture.path($0))?.count == 10 })
    try await fixture.store.publish(paths.map { PublicName(job: "job", path: $0, object: nil) })
    #expect(StorageTemporaryFolder.names(in: fixture.path("")) == [])
  }

  struct Escape: Sendable, CustomTestStringConvertible {
    var job = "job"
    var path = "a.jpg"
    var testDescription: String { "\(job) \(path.debugDescription)" }
  }

  static let escapes: [Escape] =
    [
      "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../../b", "a/./b", "a/..", "a\u{0}b",
      "a\nb",
    ]
    .map { Escape(path: $0) } + [Escape(path: String(repeating: "x", count: 256))]
    + ["", ".", "..", "../x", "a/b", "Job", ".job"].map { Escape(job: $0) }

  @Test(arguments: escapes)
  func `refuses a name that would leave its folder`(_ escape: Escape) async throws {
    let fixture = try await StoreFixture()
    let digest = try await fixture.commit(someBytes(10, seed: 1))
    for object in [digest, nil] {
      do throws(StorageFailure) {
        try await fixture.store.publish([
          PublicName(job: escape.job, path: escape.path, object: object)
        ])
        Issue.record("\(escape) was published")
      } catch {
        #expect(error.code == "bad-item")
        #expect(error.disposition == .giveUp)
      }
    }
    #expect(StorageTemporaryFolder.names(in: fixture.root.published) == [])
  }

  @Test func `takes names that are only odd`() async throws {
    let fixture = try await StoreFixture()
    let digest = try await fixture.commit(someBytes(10, seed: 1))
    for path in ["a@2x.jpg", "...", "..a/b", "a b%00.jpg", "😀/é.webp", "CON", "-rf", "a."] {
      try await fixture.publish(path, digest)
      #expect(bytes(of: fixture.path(path))?.count == 10, "\(path)")
    }
  }

  @Test func `follows no symbolic link`() async throws {
    let fixture = try await StoreFixture()
    let digest = try await fixture.commit(someBytes(10, seed: 1))
    let outside = fixture.folder.path + "/outside"
    mkdir(outside, 0o755)
    StorageTemporaryFolder.write([9], to: outside + "/victim.jpg")
    try await fixture.publish("thumb/a.jpg", digest)
    #expect(symlink(outside, fixture.path("evil")) == 0)
    #expect(symlink(outside, fixture.root.published + "/evil-job") == 0)
    #expect(symlink(outside + "/victim.jpg", fixture.path("thumb/b.jpg")) == 0)
    for object in [digest, nil] {
      for name in [
        PublicName(job: "job", path: "evil/victim.jpg", object: object),
        PublicName(job: "job", path: "evil/new.jpg", object: object),
        PublicName(job: "evil-job", path: "victim.jpg", object: object),
      ] {
        await #expect(throws: StorageFailure.self) { try await fixture.store.publish([name]) }
      }
    }
    // A link where the name itself is to stand is replaced, not followed.
    try await fixture.publish("thumb/b.jpg", digest)
    #expect(bytes(of: fixture.path("thumb/b.jpg"))?.count == 10)
    #expect(StorageTemporaryFolder.names(in: outside) == ["victim.jpg"])
    #expect(bytes(of: outside + "/victim.jpg") == [9])
  }

  @Test func `says what stands in its way`() async throws {
    let fixture = try await StoreFixture()
    let digest = try await fixture.commit(someBytes(10, seed: 1))
    try await fixture.publish("a/b.jpg", digest)
    await #expect(
      throws: StorageFailure.nameTaken(job: "job", path: "a", reason: "a folder stands there")
    ) { try await fixture.publish("a", digest) }
    do throws(StorageFailure) {
      try await fixture.store.publish([
        PublicName(job: "job", path: "a/b.jpg/c.jpg", object: digest)
      ])
      Issue.record("a file was taken for a folder")
    } catch {
      #expect(error.message.hasSuffix("public/job/a/b.jpg is no folder"))
    }
    let missing = sha256([1])
    await #expect(throws: StorageFailure.missing(missing)) {
      try await fixture.publish("c.jpg", missing)
    }
    try await fixture.publish("a", nil)
    #expect(bytes(of: fixture.path("a/b.jpg"))?.count == 10)
    #expect(fixture.temporaryFiles.isEmpty)
  }

  @Test func `copies where an object has all the links it can have`() async throws {
    let fixture = try await StoreFixture()
    let content = someBytes(300_000, seed: 1)
    let digest = try await fixture.commit(content)
    let links = fixture.folder.path + "/links"
    mkdir(links, 0o755)
    var count = 0
    while count < 70_000, link(fixture.store.path(of: digest), "\(links)/\(count)") == 0 {
      count += 1
    }
    guard count < 70_000 else { return }  // this file system knows no such limit
    #expect(errno == EMLINK)
    for _ in 0..<2 {
      try await fixture.publish("a.jpg", digest)
      #expect(bytes(of: fixture.path("a.jpg")) == content)
    }
    #expect(status(of: fixture.path("a.jpg"))?.st_nlink == 1)
    try await fixture.publish("a.jpg", nil)
    #expect(fixture.temporaryFiles.isEmpty)
  }

  @Test func `never shows a reader anything but whole files`() async throws {
    let one = try await StoreFixture()
    let two = try await one.another()
    var objects: [Digest] = []
    for seed in 0..<8 {
      objects.append(try await one.commit(someBytes(20_000 + 7000 * seed, seed: seed)))
    }
    try await one.publish("thumb/a.jpg", objects[0])
    let known = Set(objects)
    let reader = ReaderLoop(of: one.path("thumb/a.jpg")) { known.contains(sha256($0)) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask { [objects] in
          let fixture = worker % 2 == 0 ? one : two
          for round in 0..<25 {
            try await fixture.publish("thumb/a.jpg", objects[(round * 3 + worker) % 8])
          }
        }
      }
      try await group.waitForAll()
    }
    let (reads, faults) = reader.stop()
    #expect(reads > 0)
    #expect(faults == 0)
    #expect(one.temporaryFiles.isEmpty)
  }

  @Test func `makes folders again that another process removes at that moment`() async throws {
    let one = try await StoreFixture()
    let two = try await one.another()
    let digest = try await one.commit(someBytes(10, seed: 1))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (worker, fixture) in [one, two].enumerated() {
        for index in 0..<4 {
          group.addTask {
            for _ in 0..<15 {
              try await fixture.publish("x/y/z/\(worker)-\(index).jpg", digest)
              try await fixture.publish("x/y/z/\(worker)-\(index).jpg", nil)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(StorageTemporaryFolder.names(in: one.path("")) == [])
    #expect(status(of: one.store.path(of: digest))?.st_nlink == 1)
  }
}
