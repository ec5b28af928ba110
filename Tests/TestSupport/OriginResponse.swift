import Dispatch
import Glibc

/// What a scripted origin does upon one request: steps, played in order.
package struct OriginResponse: Sendable {
  package enum Step: Sendable {
    case sendBytes([UInt8])
    /// Nothing for so long; cut short when the client goes.
    case pause(Duration)
    /// The same bytes again and again, until the client goes.
    case trickle(String, every: Duration)
    /// Until the client goes.
    case hang
    /// Until the test opens it.
    case wait(OriginGate)
    /// Ends the connection in order.
    case close
    /// Ends the connection with a TCP reset.
    case reset

    package static func send(_ text: String) -> Step { .sendBytes(Array(text.utf8)) }
  }

  package var steps: [Step]

  package static func steps(_ steps: [Step]) -> OriginResponse { OriginResponse(steps: steps) }

  /// A whole response with Content-Length; the connection goes on.
  package static func ok(
    _ body: [UInt8], _ fields: [(String, String)] = []
  ) -> OriginResponse {
    status(200, body, fields)
  }

  package static func ok(_ body: String, _ fields: [(String, String)] = []) -> OriginResponse {
    ok(Array(body.utf8), fields)
  }

  package static func status(
    _ status: Int, _ body: [UInt8] = [], _ fields: [(String, String)] = []
  ) -> OriginResponse {
    var all = fields
    if status != 204, status != 304, !fields.contains(where: { $0.0 == "Content-Length" }) {
      all.append(("Content-Length", String(body.count)))
    }
    return steps([.sendBytes(head(status, all) + body)])
  }

  package static func redirect(_ status: Int = 302, to location: String) -> OriginResponse {
    self.status(status, [], [("Location", location)])
  }

  /// Exactly these bytes, then the end of the connection.
  package static func raw(_ text: String) -> OriginResponse { steps([.send(text), .close]) }

  /// Status line and fields up to the empty line.
  package static func head(_ status: Int, _ fields: [(String, String)]) -> [UInt8] {
    var text = "HTTP/1.1 \(status) Scripted\r\n"
    for (name, value) in fields { text += "\(name): \(value)\r\n" }
    return Array((text + "\r\n").utf8)
  }

  /// - Parameter atEnd: called once, before the bytes that end the response or when it has ended.
  /// - Returns: whether the connection goes on.
  func play(on socket: CInt, atEnd: () -> Void) -> Bool {
    var hasEnded = false
    defer { if !hasEnded { atEnd() } }
    for (index, step) in steps.enumerated() {
      if index == steps.count - 1, case .sendBytes = step {
        hasEnded = true
        atEnd()
      }
      guard step.play(on: socket) else { return false }
    }
    return true
  }
}

extension OriginResponse.Step {
  fileprivate func play(on socket: CInt) -> Bool {
    switch self {
    case .sendBytes(let bytes): return OriginSocket.send(bytes, to: socket)
    case .pause(let duration):
      OriginSocket.pause(duration, socket)
      return true
    case .trickle(let text, let interval):
      while OriginSocket.send(Array(text.utf8), to: socket) { OriginSocket.pause(interval, socket) }
      return false
    case .hang:
      OriginSocket.pause(nil, socket)
      return false
    case .wait(let gate):
      gate.wait()
      return true
    case .close: return false
    case .reset:
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(
        socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
      return false
    }
  }
}

/// Holds an origin's answers until a test lets them go.
package final class OriginGate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  /// Lets everybody pass, now and later.
  package func open() { semaphore.signal() }

  package func wait() {
    semaphore.wait()
    semaphore.signal()
  }
}
