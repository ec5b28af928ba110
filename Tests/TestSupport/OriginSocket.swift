import Glibc

/// The socket calls of a scripted origin.
enum OriginSocket {
  struct Failure: Error {
    let call: String
    let errno: CInt
  }

  static func listen(host: String, port: UInt16, backlog: CInt) throws -> CInt {
    let isIPv6 = host.contains(":")
    let family = isIPv6 ? AF_INET6 : AF_INET
    let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    let listener = socket(family, type, 0)
    guard listener >= 0 else { throw Failure(call: "socket", errno: errno) }
    var yes: CInt = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
    guard bind(listener, host, port, isIPv6: isIPv6) == 0 else {
      throw Failure(call: "bind", errno: errno)
    }
    guard Glibc.listen(listener, backlog) == 0 else { throw Failure(call: "listen", errno: errno) }
    return listener
  }

  /// Keeps a port from whoever asks for any, without listening: connections to it are refused. Somebody who
  /// asks for just that one gets it.
  ///
  /// - Returns: what to close; -1 where that fails.
  static func hold(host: String, port: UInt16) -> CInt {
    let isIPv6 = host.contains(":")
    let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    let holder = socket(isIPv6 ? AF_INET6 : AF_INET, type, 0)
    var yes: CInt = 1
    setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
    if holder >= 0, bind(holder, host, port, isIPv6: isIPv6) == 0 { return holder }
    close(holder)
    return -1
  }

  private static func bind(_ socket: CInt, _ host: String, _ port: UInt16, isIPv6: Bool) -> CInt {
    if isIPv6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      inet_pton(AF_INET6, host, &address.sin6_addr)
      return withGenericAddress(&address) { Glibc.bind(socket, $0, $1) }
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    return withGenericAddress(&address) { Glibc.bind(socket, $0, $1) }
  }

  private static func withGenericAddress<Address>(
    _ address: inout Address, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> CInt
  ) -> CInt {
    let size = socklen_t(MemoryLayout<Address>.size)
    return withUnsafeMutableBytes(of: &address) { bytes in
      body(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), size)
    }
  }

  static func port(of listener: CInt) -> UInt16 {
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    withUnsafeMutableBytes(of: &address) { bytes in
      _ = getsockname(listener, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
    }
    return UInt16(bigEndian: address.sin6_port)  // at the same place in both families
  }

  /// - Returns: false when the client has gone.
  static func send(_ bytes: [UInt8], to socket: CInt) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { bytes in
        Glibc.send(
          socket, bytes.baseAddress! + sent, bytes.count - sent, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// - Parameter duration: nil: until the other side goes.
  static func pause(_ duration: Duration?, _ socket: CInt) {
    if let duration, duration <= .zero { return }
    var watched = pollfd(fd: socket, events: Int16(0x2000 /* POLLRDHUP */), revents: 0)
    let (seconds, attoseconds) = (duration ?? .seconds(3600)).components
    _ = poll(&watched, 1, CInt(seconds * 1000 + attoseconds / 1_000_000_000_000_000))
  }
}

/// Splits what a client sends into request heads.
struct OriginReader {
  let socket: CInt
  private var buffered: [UInt8] = []

  init(socket: CInt) { self.socket = socket }

  /// - Returns: nil when the client has gone.
  mutating func nextHead() -> [UInt8]? {
    while true {
      if let end = endOfHead {
        defer { buffered.removeFirst(end) }
        return Array(buffered[..<end])
      }
      var chunk = [UInt8](repeating: 0, count: 16 << 10)
      let count = recv(socket, &chunk, chunk.count, 0)
      guard count > 0 else { return nil }
      buffered += chunk[..<count]
    }
  }

  private var endOfHead: Int? {
    guard buffered.count >= 4 else { return nil }
    return (4...buffered.count).first { buffered[($0 - 4)..<$0] == [13, 10, 13, 10] }
  }
}

/// A port whose connections are never accepted: the kernel's queue is full, so that a client's
/// connection attempts stay without an answer.
package final class UnansweringPort: Sendable {
  package let port: UInt16
  private let sockets: [CInt]

  package init() throws {
    let listener = try OriginSocket.listen(host: "127.0.0.1", port: 0, backlog: 0)
    port = OriginSocket.port(of: listener)
    var sockets = [listener]
    for _ in 0..<3 {
      let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
      let client = socket(AF_INET, type, 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
      withUnsafeMutableBytes(of: &address) { bytes in
        _ = connect(
          client, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self),
          socklen_t(bytes.count))
      }
      sockets.append(client)
    }
    self.sockets = sockets
  }

  deinit { for socket in sockets { close(socket) } }
}
