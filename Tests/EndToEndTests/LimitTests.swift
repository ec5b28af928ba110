import Foundation
import TestSupport
import Testing

@Suite struct `The limits of a job` {
  /// Frames of one pixel each, in two colours by turns.
  private static func animation(frames: Int) -> [UInt8] {
    var bytes = Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 255, 0, 0, 0, 0, 255]
    bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
    for frame in 0..<frames {
      bytes += [0x21, 0xF9, 4, 0, 10, 0, 0, 0, 0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0]
      bytes += [2, 2, frame % 2 == 0 ? 0x44 : 0x4C, 1, 0]
    }
    return bytes + [0x3B]
  }

  /// Each frame that a GIF holds has its control block, if there are several.
  private static func frames(_ gif: [UInt8]?) -> Int {
    let gif = gif ?? []
    return gif.indices.dropLast(3).count { Array(gif[$0..<$0 + 3]) == [0x21, 0xF9, 4] }
  }

  @Test func `hold for it alone, and its pictures are made anew where they change`() async throws {
    let svg = #"<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"></svg>"#
    let origin = try OriginServer.start { request in
      let fields = [("Cache-Control", "max-age=3600")]
      return request.path == "/moves.gif"
        ? .ok(Self.animation(frames: 8), fields) : .ok(Array(svg.utf8), fields)
    }
    defer { origin.stop() }
    var one = Scenario()
    one.settings["variants"] = [["name": "thumb", "width": 16, "format": "gif"]]
    var two = one.beside("two")
    let items = [
      ["id": "moves", "url": origin.url("/moves.gif")],
      ["id": "drawn", "url": origin.url("/d.svg")],
    ]
    one.settings["limits"] = ["maxFrames": 2]
    two.settings["limits"] = ["formats": ["gif", "svg"]]

    var run = try await one.run(try one.manifest(items))
    #expect(run.errorCounts == ["unsupported-format": 1], "\(run.errors)")
    run = try await two.run(try two.manifest(items))
    #expect(run.status == 0, "what another job refuses is not its word: \(run.errors)")
    run = try await one.run(try one.manifest(items), "--retry-failed")
    #expect(run.errorCounts == ["unsupported-format": 1], "nor what another allows")
    #expect(Self.frames(one.published("thumb/moves.gif")) <= 1)
    #expect(Self.frames(two.published("thumb/moves.gif")) == 8)

    one.settings["limits"] = ["maxFrames": 9]
    run = try await one.run(try one.manifest(items))
    #expect(run.outcomes["rebuilt"] == 1, "\(run.output)")
    #expect(Self.frames(one.published("thumb/moves.gif")) == 8)
    #expect(origin.requests.count == 2)
  }
}
