import Foundation
import Glibc
import TestSupport
import Testing

/// A job that was run, and its manifest's file, to be played with.
private struct Desk {
  let scenario = Scenario()
  let origin: OriginServer
  let path: String

  init() async throws {
    origin = try OriginServer.start { _ in
      .ok(PlainPNG.bytes(red: 3), [("Cache-Control", "max-age=600")])
    }
    path = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    age(by: 3600)
    #expect(try await scenario.run(path).nonzero == ["fetched": 1])
  }

  /// The file's modification time, so long ago.
  func age(by seconds: Int) {
    let then = timeval(tv_sec: time(nil) - seconds, tv_usec: 0)
    utimes(path, [then, then])
  }

  /// Other bytes in the same file, as many, at the same time of modification.
  func scramble() {
    var status = stat()
    #expect(stat(path, &status) == 0)
    let file = open(path, O_WRONLY)
    let bytes = Array(repeating: UInt8(ascii: "x"), count: Int(status.st_size))
    #expect(pwrite(file, bytes, bytes.count, 0) == bytes.count)
    close(file)
    let then = timeval(tv_sec: status.st_mtim.tv_sec, tv_usec: status.st_mtim.tv_nsec / 1000)
    utimes(path, [then, then])
  }
}

@Suite struct `A manifest that is unchanged` {
  @Test func `is not read again, unless that is asked for`() async throws {
    let desk = try await Desk()
    defer { desk.origin.stop() }
    desk.scramble()  // whoever read it would say so
    #expect(try await desk.scenario.run(desk.path).nonzero == ["fresh": 1])
    #expect(try await desk.scenario.run(desk.path, "--force").nonzero == ["revalidated": 1])
    #expect(try await desk.scenario.run(desk.path, "--reread").status == 2)
    desk.age(by: 60)
    #expect(try await desk.scenario.run(desk.path).status == 2)
  }

  @Test func `is known by its bytes where it was touched, and by its time from then on`()
    async throws
  {
    let desk = try await Desk()
    defer { desk.origin.stop() }
    desk.age(by: 60)
    #expect(try await desk.scenario.run(desk.path).nonzero == ["fresh": 1])
    desk.scramble()
    #expect(try await desk.scenario.run(desk.path).nonzero == ["fresh": 1])
  }

  @Test func `is known by its bytes alone while it is too young for its time to tell`() async throws
  {
    let desk = try await Desk()
    defer { desk.origin.stop() }
    desk.age(by: -60)  // a clock that was ahead
    #expect(try await desk.scenario.run(desk.path).nonzero == ["fresh": 1])
    desk.scramble()
    #expect(try await desk.scenario.run(desk.path).status == 2)
  }

  @Test func `takes its credentials from the variables of today`() async throws {
    let origin = try OriginServer.start { _ in .ok(PlainPNG.bytes(red: 3), []) }
    defer { origin.stop() }
    var scenario = Scenario()
    scenario.network["headers"] = ["X-Api-Key": "${THUMB_KEY}"]
    let path = try scenario.manifest([["id": "a", "url": origin.url("/a")]])
    for key in ["one", "two"] {
      scenario.environment = ["THUMB_KEY": key]
      #expect(try await scenario.run(path, "--force").status == 0)
    }
    #expect(origin.requests.map { $0["X-Api-Key"] } == ["one", "two"])
    scenario.environment = [:]
    let without = try await scenario.run(path)
    #expect(without.status == 2 && without.errors.contains("THUMB_KEY"), "\(without.errors)")
  }
}
