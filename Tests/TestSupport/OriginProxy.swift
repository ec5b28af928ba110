import Glibc
import Synchronization
import Threading

/// A proxy on loopback that tunnels by CONNECT or SOCKS5 to numeric addresses, and logs who wanted what.
/// A request in absolute form is answered by a scripted origin just as well.
package final class OriginProxy: Sendable {
  package struct Tunnel: Sendable, Hashable {
    /// As it was asked for: `127.0.0.1:4711`.
    package var target: String
    /// The value of Proxy-Authorization, or `USER:PASSWORD` of SOCKS; nil: none.
    package var credentials: String?
    /// The client's whole request.
    package var head = ""

    package init(target: String, credentials: String?, head: String = "") {
      self.target = target
      self.credentials = credentials
      self.head = head
    }
  }

  package let port: UInt16
  private let listener: CInt
  private let status: Int
  private struct State {
    var tunnels: [Tunnel] = []
    var open: Set<CInt> = []
    var connections = 0
    var isStopped = false
  }
  private let state = Mutex(State())

  /// - Parameter status: what every CONNECT is answered with; SOCKS is refused unless it is 200.
  package init(answering status: Int = 200) throws {
    listener = try OriginSocket.listen(host: "127.0.0.1", port: 0, backlog: 512)
    port = OriginSocket.port(of: listener)
    self.status = status
    _ = OwnedThread(name: "origin-proxy") { [self] in acceptAll() }
  }

  package var tunnels: [Tunnel] { state.withLock { $0.tunnels } }
  package var connections: Int { state.withLock { $0.connections } }

  package func stop() {
    state.withLock { state in
      guard !state.isStopped else { return }
      state.isStopped = true
      shutdown(listener, CInt(SHUT_RDWR))
      for socket in state.open { shutdown(socket, CInt(SHUT_RDWR)) }
    }
  }

  private func acceptAll() {
    while true {
      let client = accept(listener, nil, nil)
      if client < 0, errno == EINTR || errno == ECONNABORTED { continue }
      guard client >= 0, note(client) else {
        if client >= 0 { close(client) }
        break
      }
      _ = OwnedThread(name: "origin-tunnel", stackBytes: 256 << 10) { [self] in
        serve(client)
        forget(client)
      }
    }
    state.withLock { state in
      state.isStopped = true
      close(listener)
    }
  }

  private func note(_ socket: CInt) -> Bool {
    state.withLock { state in
      guard !state.isStopped else { return false }
      state.open.insert(socket)
      state.connections += 1
      return true
    }
  }

  private func forget(_ socket: CInt) {
    state.withLock { state in
      state.open.remove(socket)
      close(socket)
    }
  }

  private func serve(_ client: CInt) {
    var first: UInt8 = 0
    guard recv(client, &first, 1, CInt(MSG_PEEK)) == 1 else { return }
    if first == 5 { serveSOCKS(client) } else { serveCONNECT(client) }
  }

  // MARK: CONNECT

  private func serveCONNECT(_ client: CInt) {
    var reader = OriginReader(socket: client)
    guard let head = reader.nextHead() else { return }
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
    let words = lines[0].split(separator: " ")
    let authorization = lines.first { $0.lowercased().hasPrefix("proxy-authorization:") }
    let tunnel = Tunnel(
      target: words.count > 1 ? String(words[1]) : "",
      credentials: authorization.map { String($0.drop { $0 != " " }.dropFirst()) },
      head: String(decoding: head, as: UTF8.self))
    state.withLock { $0.tunnels.append(tunnel) }
    guard words[0] == "CONNECT", status == 200, let origin = dial(tunnel.target) else {
      let refusal = "HTTP/1.1 \(status == 200 ? 502 : status) No\r\nContent-Length: 0\r\n\r\n"
      _ = OriginSocket.send(Array(refusal.utf8), to: client)
      return
    }
    _ = OriginSocket.send(Array("HTTP/1.1 200 Tunnel\r\n\r\n".utf8), to: client)
    relay(client, origin)
    close(origin)
  }

  // MARK: SOCKS5 (RFC 1928, RFC 1929)

  private func serveSOCKS(_ client: CInt) {
    guard let methods = receive(2, client), let offered = receive(Int(methods[1]), client) else {
      return
    }
    var credentials: String?
    if offered.contains(2) {
      _ = OriginSocket.send([5, 2], to: client)
      guard let user = receiveText(client, after: 1), let password = receiveText(client, after: 0)
      else { return }
      credentials = "\(user):\(password)"
      _ = OriginSocket.send([1, 0], to: client)
    } else {
      _ = OriginSocket.send([5, 0], to: client)
    }
    guard let request = receive(4, client), let target = receiveTarget(kind: request[3], client)
    else { return }
    let tunnel = Tunnel(target: target, credentials: credentials)
    state.withLock { $0.tunnels.append(tunnel) }
    let origin = status == 200 ? dial(target) : nil
    _ = OriginSocket.send([5, origin == nil ? 2 : 0, 0, 1, 0, 0, 0, 0, 0, 0], to: client)
    guard let origin else { return }
    relay(client, origin)
    close(origin)
  }

  private func receiveTarget(kind: UInt8, _ client: CInt) -> String? {
    let host: String?
    switch kind {
    case 1: host = receive(4, client)?.map { "\($0)" }.joined(separator: ".")
    case 3: host = receiveText(client, after: 0)
    default: host = receive(16, client).map { "\($0)" }
    }
    guard let host, let port = receive(2, client) else { return nil }
    return "\(host):\(Int(port[0]) << 8 | Int(port[1]))"
  }

  private func receiveText(_ socket: CInt, after skipped: Int) -> String? {
    guard let head = receive(skipped + 1, socket), let text = receive(Int(head[skipped]), socket)
    else { return nil }
    return String(decoding: text, as: UTF8.self)
  }

  private func receive(_ count: Int, _ socket: CInt) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    guard recv(socket, &bytes, count, CInt(MSG_WAITALL)) == count else { return nil }
    return bytes
  }

  // MARK: The tunnel

  /// - Parameter target: `ADDRESS:PORT`; a name is nothing that it knows.
  private func dial(_ target: String) -> CInt? {
    guard let colon = target.lastIndex(of: ":"), let port = UInt16(target[colon...].dropFirst())
    else { return nil }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    guard inet_pton(AF_INET, String(target[..<colon]), &address.sin_addr) == 1 else { return nil }
    let socket = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    let result = withUnsafeMutableBytes(of: &address) { bytes in
      connect(
        socket, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    if result == 0 { return socket }
    close(socket)
    return nil
  }

  private func relay(_ client: CInt, _ origin: CInt) {
    var sockets = [client, origin].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while poll(&sockets, 2, -1) > 0 || errno == EINTR {
      for (from, to) in [(0, 1), (1, 0)] where sockets[from].revents != 0 {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = recv(sockets[from].fd, &bytes, bytes.count, 0)
        guard count > 0, OriginSocket.send(Array(bytes[..<count]), to: sockets[to].fd) else {
          return
        }
      }
    }
  }
}
