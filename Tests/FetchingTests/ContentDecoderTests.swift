import Decompression
import Fetching
import Testing
import TestSupport
import Vocabulary

@testable import HTTPTransfer

@Suite struct `An encoded body` {
  struct Row: CustomTestStringConvertible {
    let testDescription: String
    let coding: String
    /// Of `hello`.
    let bytes: [UInt8]

    init(_ coding: String, _ bytes: [UInt8], _ note: String = "") {
      testDescription = note.isEmpty ? coding : "\(coding), \(note)"
      self.coding = coding
      self.bytes = bytes
    }
  }

  private static let hello = Array("hello".utf8)
  private static let deflated: [UInt8] = [0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]

  static let rows = [
    Row("gzip", OriginGzip.stored(hello)), Row("x-gzip", OriginGzip.stored(hello)),
    Row("GZip", OriginGzip.stored(hello)),
    Row(
      "gzip", OriginGzip.stored(Array("hel".utf8)) + OriginGzip.stored(Array("lo".utf8)), "in two"),
    Row("deflate", [0x78, 0x9C] + deflated + [0x06, 0x2C, 0x02, 0x15]),
    Row("deflate", deflated, "without its header"),
    Row("br", [0x0B, 0x02, 0x80] + hello + [0x03]),
    Row("zstd", [0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x05, 0x29, 0x00, 0x00] + hello),
  ]

  @Test(arguments: rows)
  func `is decoded`(_ row: Row) async throws {
    let origin = try OriginServer.start { _ in .ok(row.bytes, [("Content-Encoding", row.coding)]) }
    defer { origin.stop() }
    let sink = MemorySink()
    let response = try await Lab().fetch(origin.url("/"), to: sink)
    #expect(sink.bytes == Self.hello)
    #expect(response.body?.bytes == 5)
  }

  @Test(arguments: rows)
  func `is decoded however it is cut into pieces`(_ row: Row) throws {
    let decoder = try #require(ContentCoding(name: row.coding.lowercased())).decoder()
    var out: [UInt8] = []
    for byte in row.bytes {
      let progress = [byte].withUnsafeBytes { piece in
        decoder.decode(piece) {
          out += $0
          return true
        }
      }
      #expect(progress == .goesOn)
    }
    #expect(out == Self.hello)
    #expect(decoder.isAtEnd)
  }

  /// The length is that of what is sent: only the coding tells that something is missing.
  @Test(arguments: rows)
  func `that ends early within a right length is truncated`(_ row: Row) async throws {
    let origin = try OriginServer.start { request in
      let cut = Array(row.bytes.dropLast(Int(request.path.dropFirst())!))
      return .ok(cut, [("Content-Encoding", row.coding)])
    }
    defer { origin.stop() }
    for missing in [1, 3] {
      let failure = try await Lab().failure(of: origin.url("/\(missing)"))
      #expect(failure?.code == "truncated")
      #expect(failure?.message.contains("its encoded body has no end") == true)
    }
  }

  @Test(arguments: rows)
  func `that goes on after its end is refused`(_ row: Row) async throws {
    let origin = try OriginServer.start { _ in
      .ok(row.bytes + [0x55, 0x55, 0x55, 0x55, 0x55], [("Content-Encoding", row.coding)])
    }
    defer { origin.stop() }
    #expect(try await Lab().failure(of: origin.url("/"))?.code == "protocol")
  }

  @Test(arguments: ["gzip", "br", "zstd", "deflate"])
  func `of no bytes is empty`(_ coding: String) async throws {
    let origin = try OriginServer.start { _ in .ok("", [("Content-Encoding", coding)]) }
    defer { origin.stop() }
    #expect(try await Lab().fetch(origin.url("/")).body?.bytes == 0)
  }

  @Test func `that is of no use is decoded as far as to say what it is`() async throws {
    let page = OriginGzip.stored(Array("<!DOCTYPE html><p>no such picture".utf8))
    let origin = try OriginServer.start { _ in .status(404, page, [("Content-Encoding", "gzip")]) }
    defer { origin.stop() }
    let response = try await Lab().fetch(origin.url("/"))
    #expect(response.status == 404)
    let start = String(decoding: response.firstBytes, as: UTF8.self)
    #expect(start == "<!DOCTYPE html><p>no such picture")
  }
}
