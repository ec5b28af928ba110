import Glibc
import Storage
import TestSupport
import Testing

@Suite(.enabled(if: NginxServer.isInstalled, "nginx is not installed"))
struct `A web server over public` {
  /// What curl prints.
  private func get(_ url: String, _ options: String = "") -> String {
    let output = popen("curl -s \(options) '\(url)'", "r")!
    defer { pclose(output) }
    var text: [UInt8] = []
    while case let byte = fgetc(output), byte != EOF { text.append(UInt8(byte)) }
    return String(decoding: text, as: UTF8.self)
  }

  @Test func `serves a published name, and its new bytes after a change`() async throws {
    let fixture = try await StoreFixture()
    let nginx = try NginxServer(server: "location /job/ { alias \(fixture.root.published)/job/; }")
    let (old, new) = (
      try await fixture.commit(Array("old".utf8)), try await fixture.commit(Array("newer".utf8))
    )
    try await fixture.publish("thumb/a.txt", old)
    #expect(get("\(nginx.url)/job/thumb/a.txt") == "old")
    try await fixture.publish("thumb/a.txt", new)
    #expect(get("\(nginx.url)/job/thumb/a.txt", "-H 'If-None-Match: \"x\"'") == "newer")
    try await fixture.publish("thumb/a.txt", nil)
    #expect(get("\(nginx.url)/job/thumb/a.txt", "-o /dev/null -w '%{http_code}'") == "404")
    let requests = try nginx.requests()
    #expect(requests.map(\.status) == [200, 200, 404])
    #expect(requests.map(\.bytes).prefix(2) == [3, 5])
    #expect(requests.map(\.ifNoneMatch) == ["", "\"x\"", ""])
    #expect(requests.allSatisfy { $0.target == "/job/thumb/a.txt" && $0.method == "GET" })
  }

  @Test func `changes its answers when it is told to, and its faults are told`() throws {
    let nginx = try NginxServer(server: "location /a { return 500; }")
    nginx.write(Array("bytes".utf8), to: "deep/er/a.txt")
    #expect(get("\(nginx.url)/a", "-o /dev/null -w '%{http_code}'") == "500")
    try nginx.reconfigure(server: "location /a { return 200 ok; }")
    #expect(get("\(nginx.url)/a") == "ok")
    #expect(get("\(nginx.url)/deep/er/a.txt") == "bytes")
    nginx.stop()
    #expect(get("\(nginx.url)/a", "-w '%{http_code}'") == "000")
    #expect(try nginx.requests().map(\.status) == [500, 200, 200])
    #expect(throws: NginxServer.Failure.self) { try NginxServer(server: "nonsense;") }
  }
}
