import Glibc
import Synchronization
import Threading

/// A scripted web server on raw sockets, for tests: it logs what it was asked and answers as told,
/// also in ways that no web server should.
///
///     let origin = try OriginServer.start { request in
///       switch request.path {
///       case "/a.jpg": .ok(bytes, [("ETag", "\"1\"")])
///       case "/slow": .steps([.send("HTTP/1.1 200 OK\r\n\r\n"), .trickle("x", every: .seconds(1))])
///       default: .status(404)
///       }
///     }
///     defer { origin.stop() }
///
/// One thread accepts, one serves each connection.
package final class OriginServer: Sendable {
  package struct Request: Sendable {
    package var method: String
    /// As on the request line, byte for byte.
    package var target: String
    package var version: String
    package var fields: [(name: String, value: String)]
    /// From the request line to the empty line, as it came.
    package var headBytes: [UInt8]
    /// The same as text.
    package var head: String
    /// Counted from 1, by the order of acceptance.
    package var connection: Int
    /// How often this target has been asked for, this time included.
    package var number: Int
    /// Requests that were under way when it came, this one included.
    package var underWay: Int
    package var arrivedAt: ContinuousClock.Instant

    /// The target without its query.
    package var path: String { String(target.prefix { $0 != "?" }) }

    /// The first value of that name, byte for byte.
    package func bytes(of name: String) -> [UInt8]? {
      let lines = headBytes.split(separator: UInt8(ascii: "\n"))
      let prefix = Array("\(name.lowercased()):".utf8)
      let line = lines.first { line in
        line.prefix(prefix.count).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } == prefix
      }
      return line.map { line in
        Array(line.dropFirst(prefix.count).drop { $0 == 0x20 }.prefix { $0 != 0x0D })
      }
    }

    /// The first value of that name.
    package subscript(name: String) -> String? {
      fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
  }

  /// - Parameters:
  ///   - host: an address of this machine: `127.0.0.1`, `127.0.0.2`, `::1`.
  ///   - port: 0: any that is free.
  ///   - acceptDelay: before each connection is taken from the kernel's queue.
  ///   - keepsRequests: whether it remembers what it was asked; otherwise each request is its first.
  package static func start(
    host: String = "127.0.0.1", port: UInt16 = 0, acceptDelay: Duration = .zero,
    keepsRequests: Bool = true,
    _ respond: @escaping @Sendable (Request) -> OriginResponse
  ) throws -> OriginServer {
    let listener = try OriginSocket.listen(host: host, port: port, backlog: 512)
    return OriginServer(host, listener, acceptDelay, keepsRequests, respond)
  }

  package let host: String
  package let port: UInt16
  private let listener: CInt
  private let acceptDelay: Duration
  private let keepsRequests: Bool
  private let respond: @Sendable (Request) -> OriginResponse

  private struct State {
    var requests: [Request] = []
    var counts: [String: Int] = [:]
    var open: Set<CInt> = []
    var connections = 0
    var underWay = 0
    var peak = 0
    var isStopped = false
    /// Of the port after the server's end.
    var holder: CInt = -1
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  private init(
    _ host: String, _ listener: CInt, _ acceptDelay: Duration, _ keepsRequests: Bool,
    _ respond: @escaping @Sendable (Request) -> OriginResponse
  ) {
    self.host = host
    self.listener = listener
    self.acceptDelay = acceptDelay
    self.keepsRequests = keepsRequests
    self.respond = respond
    port = OriginSocket.port(of: listener)
    _ = OwnedThread(name: "origin-accept") { [self] in acceptAll() }
  }

  /// `http://127.0.0.1:4711/a.jpg`.
  package func url(_ target: String) -> String {
    "http://\(host.contains(":") ? "[\(host)]" : host):\(port)\(target)"
  }

  /// Closes the listener and every connection. Under the lock, as every close is: a number that was
  /// closed meanwhile is that of somebody else's socket.
  package func stop() {
    state.withLock { state in
      guard !state.isStopped else { return }
      state.isStopped = true
      shutdown(listener, CInt(SHUT_RDWR))
      for socket in state.open { shutdown(socket, CInt(SHUT_RDWR)) }
      // Who goes on asking is to be refused, not answered by another test's server.
      state.holder = OriginSocket.hold(host: host, port: port)
    }
  }

  deinit {
    let holder = state.withLock { $0.holder }
    if holder >= 0 { close(holder) }
  }

  // MARK: What it saw

  package var requests: [Request] { state.withLock { $0.requests } }
  package var connections: Int { state.withLock { $0.connections } }
  /// The most requests that were under way at one time.
  package var peakRequests: Int { state.withLock { $0.peak } }

  /// Returns when at least so many requests have come.
  package func requests(reach count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.requests.count >= count { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  // MARK: Serving

  private func acceptAll() {
    while true {
      let socket = accept(listener, nil, nil)
      if socket < 0 {
        if errno == EINTR || errno == ECONNABORTED { continue }
        break
      }
      _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
      OriginSocket.pause(acceptDelay, listener)
      let number = state.withLock { state -> Int? in
        guard !state.isStopped else { return nil }
        state.open.insert(socket)
        state.connections += 1
        return state.connections
      }
      guard let number else {
        close(socket)
        break
      }
      _ = OwnedThread(name: "origin-serve", stackBytes: 256 << 10) { [self] in
        serve(socket, number)
      }
    }
    state.withLock { state in
      state.isStopped = true
      close(listener)
    }
  }

  private func serve(_ socket: CInt, _ connection: Int) {
    var reader = OriginReader(socket: socket)
    while let head = reader.nextHead() {
      guard let request = note(head, connection) else { break }
      // Before the last bytes leave: whoever has them may ask again at once.
      let goesOn = respond(request).play(on: socket) { state.withLock { $0.underWay -= 1 } }
      if !goesOn || request["connection"]?.lowercased() == "close" { break }
    }
    state.withLock { state in
      state.open.remove(socket)
      close(socket)
    }
  }

  private func note(_ head: [UInt8], _ connection: Int) -> Request? {
    guard var request = Request(head, connection: connection) else { return nil }
    let ready = state.withLock { state in
      state.underWay += 1
      request.underWay = state.underWay
      if keepsRequests {
        state.counts[request.target, default: 0] += 1
        request.number = state.counts[request.target]!
        state.requests.append(request)
      }
      state.peak = max(state.peak, state.underWay)
      let count = state.requests.count
      defer { state.waiters.removeAll { $0.count <= count } }
      return state.waiters.filter { $0.count <= count }
    }
    for waiter in ready { waiter.continuation.resume() }
    return request
  }
}

extension OriginServer.Request {
  fileprivate init?(_ headBytes: [UInt8], connection: Int) {
    let head = String(decoding: headBytes, as: UTF8.self)
    let lines = head.split(separator: "\r\n", omittingEmptySubsequences: true)
    guard let first = lines.first else { return nil }
    let words = first.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3 else { return nil }
    method = String(words[0])
    target = String(words[1])
    version = String(words[2])
    fields = lines.dropFirst().map { line in
      let name = line.prefix { $0 != ":" }
      return (String(name), String(line.dropFirst(name.count + 1).drop { $0 == " " }))
    }
    self.headBytes = headBytes
    self.head = head
    self.connection = connection
    number = 1
    underWay = 0
    arrivedAt = .now
  }
}
