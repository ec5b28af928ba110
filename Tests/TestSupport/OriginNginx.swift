import Glibc
import Synchronization
import Threading

/// nginx with TLS and HTTP/2 on a loopback port, with a certificate of its own making.
package final class OriginNginx: Sendable {
  package static let isInstalled = access("/usr/sbin/nginx", X_OK) == 0

  package let port: UInt16
  /// The certificate that it shows, for the names `tls.example` and `127.0.0.1`.
  package let certificateFile: String
  private let folder: String
  private let log: OriginLog

  struct Failure: Error {
    let what: String
  }

  /// Serves one file, `/a.txt`, that says `hello`, and more.
  ///
  /// - Parameters:
  ///   - files: by their names.
  ///   - target: where everything below `/away/` is redirected to, by 303.
  package init(files: [String: [UInt8]] = [:], redirectingTo target: String? = nil) throws {
    var template = Array("/tmp/origin-nginx-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(what: "mkdtemp") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    certificateFile = "\(folder)/certificate.pem"
    port = try Self.freePort()
    log = try OriginLog(path: "\(folder)/access.log")
    try Self.write("hello", to: "\(folder)/a.txt")
    for (name, bytes) in files { StorageTemporaryFolder.write(bytes, to: "\(folder)/\(name)") }
    try Self.write(Self.configuration(folder, port, target), to: "\(folder)/nginx.conf")
    guard
      Self.run(
        "/usr/bin/openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        "-keyout", "\(folder)/key.pem", "-out", certificateFile, "-subj", "/CN=tls.example",
        "-addext", "subjectAltName=DNS:tls.example,IP:127.0.0.1") == 0,
      // It returns when it listens, and goes on in the background.
      Self.run("/usr/sbin/nginx", "-c", "\(folder)/nginx.conf") == 0
    else { throw Failure(what: "openssl or nginx") }
  }

  /// Returns when so many requests have been logged, which may be after they were answered: a line
  /// for each, with protocol, connection, target.
  package func accessLog(reach count: Int) async -> [String] { await log.lines(reach: count) }

  package func stop() {
    _ = Self.run("/usr/sbin/nginx", "-c", "\(folder)/nginx.conf", "-s", "stop")
    log.stop()
    _ = Self.run("/bin/rm", "-rf", folder)
  }

  private static func configuration(
    _ folder: String, _ port: UInt16, _ target: String?
  ) -> String {
    let away = target.map { "location /away/ { return 303 \($0); }" } ?? ""
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: " ")
    return """
      worker_processes 1; pid \(folder)/pid; error_log \(folder)/error.log;
      \(getuid() == 0 ? "user root;" : "")
      events { worker_connections 256; }
      http {
        log_format short '$server_protocol $connection $request_uri';
        access_log \(folder)/access.log short; \(temporary)
        server {
          listen 127.0.0.1:\(port) ssl http2; root \(folder); \(away)
          ssl_certificate \(folder)/certificate.pem; ssl_certificate_key \(folder)/key.pem;
        }
      }
      """
  }

  private static func freePort() throws -> UInt16 {
    let socket = try OriginSocket.listen(host: "127.0.0.1", port: 0, backlog: 1)
    defer { close(socket) }
    return OriginSocket.port(of: socket)
  }

  private static func write(_ text: String, to path: String) throws {
    guard let file = fopen(path, "w") else { throw Failure(what: path) }
    fputs(text, file)
    fclose(file)
  }

  /// - Returns: the exit status; its output goes nowhere.
  private static func run(_ command: String...) -> CInt {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in CInt(1)...2 {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    guard posix_spawn(&process, command[0], &actions, nil, &arguments, environ) == 0 else {
      return -1
    }
    var status: CInt = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status
  }
}

/// A log file that is a pipe, so that its reader is told of each line.
private final class OriginLog: Sendable {
  private struct State {
    var lines: [String] = []
    var waiters: [(count: Int, continuation: CheckedContinuation<[String], Never>)] = []
  }

  private let state = Mutex(State())
  private let pipe: CInt
  private static let lastLine = "stop"

  init(path: String) throws {
    guard mkfifo(path, 0o600) == 0 else { throw OriginNginx.Failure(what: path) }
    // For both, so that neither end waits for the other to be opened.
    pipe = open(path, O_RDWR | O_CLOEXEC)
    guard pipe >= 0 else { throw OriginNginx.Failure(what: path) }
    _ = OwnedThread(name: "origin-log") { [self] in readAll() }
  }

  func lines(reach count: Int) async -> [String] {
    await withCheckedContinuation { continuation in
      let lines = state.withLock { state -> [String]? in
        if state.lines.count >= count { return state.lines }
        state.waiters.append((count, continuation))
        return nil
      }
      if let lines { continuation.resume(returning: lines) }
    }
  }

  func stop() {
    _ = Array((Self.lastLine + "\n").utf8).withUnsafeBytes { write(pipe, $0.baseAddress, $0.count) }
  }

  private func readAll() {
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(pipe, &chunk, chunk.count)
      guard count > 0 else { break }
      text += chunk[..<count]
      while let end = text.firstIndex(of: 0x0A) {
        let line = String(decoding: text[..<end], as: UTF8.self)
        text.removeFirst(end + 1)
        guard line != Self.lastLine else {
          close(pipe)
          return
        }
        note(line)
      }
    }
  }

  private func note(_ line: String) {
    let (lines, ready) = state.withLock { state in
      state.lines.append(line)
      let count = state.lines.count
      defer { state.waiters.removeAll { $0.count <= count } }
      return (state.lines, state.waiters.filter { $0.count <= count })
    }
    for waiter in ready { waiter.continuation.resume(returning: lines) }
  }
}
