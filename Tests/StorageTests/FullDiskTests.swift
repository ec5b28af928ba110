import Glibc
import Storage
import TestSupport
import Testing
import Vocabulary

/// A small file system in memory, mounted for one test.
final class SmallDisk: Sendable {
  let folder = StorageTemporaryFolder()
  private let isMounted: Bool

  init?(size: String) {
    isMounted = system("mount -t tmpfs -o size=\(size) none \(folder.path) 2>/dev/null") == 0
    if !isMounted { return nil }
  }

  deinit {
    if isMounted { system("umount -l \(folder.path)") }
  }

  func resize(to size: String) -> Bool {
    system("mount -o remount,size=\(size) \(folder.path)") == 0
  }

  static let canMount = SmallDisk(size: "1m") != nil
}

@Suite(.enabled(if: SmallDisk.canMount, "this user may not mount a file system"))
struct `A full disk` {
  @Test func `is reported by the write or the commit, and what was committed stays`() async throws {
    let disk = try #require(SmallDisk(size: "1m"))
    let fixture = try await StoreFixture(in: disk.folder.path)
    var kept: [Digest] = []
    var failure: StorageFailure?
    for seed in 0..<40 where failure == nil {
      do throws(StorageFailure) {
        let file = try fixture.store.temporaryFile()
        let content = someBytes(50_000, seed: seed)
        try file.write(content)
        try await fixture.store.commit([
          StagedObject(file: file, digest: sha256(content), bytes: content.count)
        ])
        kept.append(sha256(content))
      } catch {
        failure = error
      }
    }
    let found = try #require(failure)
    #expect(found.code == "disk-full")
    #expect(found.disposition == .stopRun)
    #expect(!kept.isEmpty)
    #expect(kept.allSatisfy { fixture.store.contains($0, bytes: 50_000) })
    #expect(fixture.temporaryFiles.isEmpty)

    #expect(disk.resize(to: "4m"))
    let digest = try await fixture.commit(someBytes(50_000, seed: 99))
    try await fixture.publish("a.jpg", digest)
    #expect(bytes(of: fixture.path("a.jpg"))?.count == 50_000)
  }

  private static let mebibyte = 1 << 20

  @Test func `is not come near to by bodies that come together`() async throws {
    let disk = try #require(SmallDisk(size: "16m"))
    let fixture = try await StoreFixture(in: disk.folder.path, minFree: 4 * Self.mebibyte)
    let store = fixture.store
    let chunk = someBytes(Self.mebibyte, seed: 1)

    var first: TemporaryFile? = try store.temporaryFile(expecting: 7 * Self.mebibyte)
    #expect(spaceLow { try store.temporaryFile(expecting: 7 * Self.mebibyte) })
    for _ in 0..<7 { try first?.write(chunk) }
    #expect(spaceLow { try store.temporaryFile(expecting: 7 * Self.mebibyte) }, "it is there now")
    let small = try store.temporaryFile(expecting: Self.mebibyte)
    first = nil
    let second = try store.temporaryFile(expecting: 7 * Self.mebibyte)
    try second.write(chunk)
    #expect(try #require(store.freeBytes) > 4 * Self.mebibyte)
    withExtendedLifetime(small) {}
  }

  @Test func `is not filled by a body of unknown length`() async throws {
    let disk = try #require(SmallDisk(size: "16m"))
    let fixture = try await StoreFixture(in: disk.folder.path, minFree: 4 * Self.mebibyte)
    let file = try fixture.store.temporaryFile(expecting: nil)
    let chunk = someBytes(Self.mebibyte / 4, seed: 2)
    var written = 0
    let stopped = spaceLow {
      for _ in 0..<64 {
        try file.write(chunk)
        written += chunk.count
      }
    }
    #expect(stopped && written >= 10 * Self.mebibyte && written <= 12 * Self.mebibyte)
    #expect(try #require(fixture.store.freeBytes) >= 4 * Self.mebibyte)
  }

  /// Whether it fails because too little would stay free.
  private func spaceLow<Value>(_ body: () throws -> Value) -> Bool {
    do {
      _ = try body()
      return false
    } catch let failure as StorageFailure {
      guard case .spaceLow = failure else { return false }
      return failure.code == "disk-full" && failure.disposition == .stopRun
    } catch {
      return false
    }
  }
}
