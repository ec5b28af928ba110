import Glibc
import Synchronization

/// An nginx of one test's own, on a free port of loopback, stopped when nobody holds it any more.
///
/// ```swift
/// @Suite(.enabled(if: NginxServer.isInstalled, "nginx is not installed"))
/// …
/// let nginx = try NginxServer(server: """
///   location /hour/ { add_header Cache-Control "max-age=3600"; }
///   location /broken { return 500; }
///   """)
/// nginx.write(photo, to: "hour/a.jpg")        // served as \(nginx.url)/hour/a.jpg
/// …
/// #expect(try nginx.requests().map(\.target) == ["/hour/a.jpg"])
/// ```
package final class NginxServer: Sendable {
  /// A line of the access log.
  package struct Request: Sendable, Hashable {
    package var method: String
    /// Path and query as they were sent.
    package var target: String
    package var status: Int
    /// Of the body that was answered.
    package var bytes: Int
    package var host: String
    package var userAgent: String
    /// Empty where the field was not sent, like the next.
    package var ifNoneMatch: String
    package var ifModifiedSince: String
    package var range: String
  }

  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  package static let isInstalled = program != nil

  package let port: UInt16
  /// Without a slash at its end.
  package var url: String { "http://127.0.0.1:\(port)" }
  /// The folder whose files are served.
  package var files: String { folder.path + "/files" }

  private let folder = StorageTemporaryFolder()
  private let running = Mutex<NginxProcess?>(nil)
  private let markers = Atomic<Int>(0)

  /// - Parameters:
  ///   - server: what is to stand in the `server` block besides `listen` and `root`.
  ///   - http: what is to stand in the `http` block, such as `map`, `limit_req_zone` or servers.
  ///   In both, `@FILES@` and `@PORT@` are replaced.
  package init(server: String = "", http: String = "") throws {
    guard let program = Self.program else { throw Failure(description: "nginx is not installed") }
    mkdir(folder.path + "/files", 0o755)
    // Another program may take the port between the choice and the start.
    var attempts = 0
    while true {
      attempts += 1
      let port = Self.freePort()
      do {
        let text = Self.configuration(in: folder.path, port: port, server: server, http: http)
        StorageTemporaryFolder.write(text.utf8, to: folder.path + "/nginx.conf")
        let process = try NginxProcess(program: program, folder: folder.path)
        running.withLock { $0 = process }
        self.port = port
        return
      } catch let failure as Failure {
        guard failure.description.contains("in use"), attempts < 10 else { throw failure }
      }
    }
  }

  /// Serves by another configuration from now on, at the same port. Connections are closed; the access
  /// log goes on.
  package func reconfigure(server: String, http: String = "") throws {
    stop()
    let text = Self.configuration(in: folder.path, port: port, server: server, http: http)
    StorageTemporaryFolder.write(text.utf8, to: folder.path + "/nginx.conf")
    let process = try NginxProcess(program: Self.program!, folder: folder.path)
    running.withLock { $0 = process }
  }

  /// Returns when the port refuses connections; the access log is complete and stays readable.
  package func stop() {
    let process = running.withLock { process in
      defer { process = nil }
      return process
    }
    process?.stop()
  }

  deinit { stop() }

  /// Makes or replaces a file below `files`, with the folders above it, at once for whoever reads it.
  package func write(_ bytes: some Sequence<UInt8>, to path: String) {
    var parent = files
    for part in path.split(separator: "/").dropLast() {
      parent += "/" + part
      mkdir(parent, 0o755)
    }
    let new = folder.path + "/new"
    StorageTemporaryFolder.write(bytes, to: new)
    precondition(rename(new, files + "/" + path) == 0, "\(path) cannot be written")
  }

  package func remove(_ path: String) { unlink(files + "/" + path) }

  /// What was asked so far, oldest first. Complete for every answer that its client has read to the end.
  package func requests() throws -> [Request] {
    if running.withLock({ $0 != nil }) { try awaitLog() }
    let log = StorageTemporaryFolder.bytes(of: folder.path + "/access.log") ?? []
    return String(decoding: log, as: UTF8.self).split(separator: "\n")
      .map { Request(line: $0) }.filter { !$0.target.hasPrefix(Self.marker) }
  }

  /// The only worker handles one event after the other, so the line of a request that was sent after an
  /// answer was read comes after the answer's own.
  private func awaitLog() throws {
    let target = "\(Self.marker)\(markers.wrappingAdd(1, ordering: .relaxed).newValue)-"
    try get(target)
    while true {
      let log = StorageTemporaryFolder.bytes(of: folder.path + "/access.log") ?? []
      if String(decoding: log, as: UTF8.self).contains(target) { return }
      usleep(1000)
    }
  }

  /// Asks for a target and reads the answer to its end.
  private func get(_ target: String) throws {
    let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(connection) }
    var address = Self.loopback(port: port)
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else { throw Failure(description: "nginx no longer listens") }
    let head = Array("GET \(target) HTTP/1.0\r\n\r\n".utf8)
    send(connection, head, head.count, Int32(MSG_NOSIGNAL))
    var chunk = [UInt8](repeating: 0, count: 4096)
    while recv(connection, &chunk, chunk.count, 0) > 0 {}
  }

  private static let marker = "/.test-marker-"

  /// Not on every user's PATH.
  private static let program = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"]
    .first { (path: String) in access(path, X_OK) == 0 }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  /// A port that nobody listens on at this moment.
  private static func freePort() -> UInt16 {
    let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(probe) }
    var address = loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        precondition(bind(probe, $0, length) == 0, "no free port")
        getsockname(probe, $0, &length)
      }
      return UInt16(bigEndian: $0.pointee.sin_port)
    }
  }

  private static func configuration(
    in folder: String, port: UInt16, server: String, http: String
  ) -> String {
    func filled(_ text: String) -> String {
      text.replacing("@FILES@", with: folder + "/files").replacing("@PORT@", with: "\(port)")
    }
    // Root's temporary folders may be closed to the user that nginx would become.
    return """
      \(getuid() == 0 ? "user root;" : "")
      worker_processes 1;
      pid \(folder)/nginx.pid;
      error_log \(folder)/error.log;
      events { worker_connections 1024; }
      http {
        types {
          image/jpeg jpg jpeg; image/png png; image/webp webp; image/gif gif; image/avif avif;
          image/heic heic; image/tiff tif tiff; text/html html; text/plain txt;
        }
        default_type application/octet-stream;
        log_format tests '$request_method\t$request_uri\t$status\t$body_bytes_sent\t$http_host'
          '\t$http_user_agent\t$http_if_none_match\t$http_if_modified_since\t$http_range';
        access_log \(folder)/access.log tests;
        client_body_temp_path \(folder)/body;
        proxy_temp_path \(folder)/proxy;
        fastcgi_temp_path \(folder)/fastcgi;
        uwsgi_temp_path \(folder)/uwsgi;
        scgi_temp_path \(folder)/scgi;
        server {
          listen 127.0.0.1:\(port) backlog=1024;
          root \(folder)/files;
          location \(marker) { return 204; }
          \(filled(server))
        }
        \(filled(http))
      }
      """
  }
}

extension NginxServer.Request {
  fileprivate init(line: Substring) {
    // nginx escapes a tab within a value and writes "-" for a field that was not sent.
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
      .map { $0 == "-" ? "" : String($0).replacing("\\x22", with: "\"") }
    func field(_ index: Int) -> String { fields.indices.contains(index) ? fields[index] : "" }
    self.init(
      method: field(0), target: field(1), status: Int(field(2)) ?? 0, bytes: Int(field(3)) ?? 0,
      host: field(4), userAgent: field(5), ifNoneMatch: field(6), ifModifiedSince: field(7),
      range: field(8))
  }
}

/// nginx under the eye of a shell, which stops it when the test process lets go of the shell's input:
/// also when that process crashes.
private final class NginxProcess: Sendable {
  private let shell: pid_t
  private let input: Int32

  /// Returns when nginx listens.
  init(program: String, folder: String) throws {
    // nginx returns when it listens; it may write its number a moment later.
    let script = """
      "$1" -p "$2" -c "$2/nginx.conf" -e "$2/error.log" 2>&1 || exit
      exec >&- 2>&-
      read -r _
      until [ -s "$2/nginx.pid" ]; do sleep 0.01; done
      nginx=$(cat "$2/nginx.pid")
      # Again and again: a signal that comes between its number and its first wait is only noted, and it
      # would sleep until the next. Where nobody buries it, it stays as a zombie.
      while kill "$nginx" && ! grep -q ') Z ' "/proc/$nginx/stat"; do sleep 0.01; done
      """
    let (toShell, fromShell) = (Self.channel(), Self.channel())
    defer { close(fromShell.read) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, toShell.read, 0)
    posix_spawn_file_actions_adddup2(&actions, fromShell.write, 1)
    posix_spawn_file_actions_adddup2(&actions, fromShell.write, 2)
    let words = ["sh", "-c", script, "nginx", program, folder].map { (word: String) in strdup(word)
    }
    defer { for word in words { free(word) } }
    var pid = pid_t()
    let code = posix_spawn(&pid, "/bin/sh", &actions, nil, words + [nil], environ)
    close(toShell.read)
    close(fromShell.write)
    guard code == 0 else {
      close(toShell.write)
      throw NginxServer.Failure(description: "sh: \(String(cString: strerror(code)))")
    }
    // Ends when the shell has closed its output: nginx listens, or has said why it does not.
    let said = Self.readAll(fromShell.read)
    guard said.contains("[emerg]") else {
      (shell, input) = (pid, toShell.write)
      return
    }
    close(toShell.write)
    waitpid(pid, nil, 0)
    throw NginxServer.Failure(description: "nginx did not start: \(said)")
  }

  func stop() {
    close(input)
    waitpid(shell, nil, 0)
  }

  /// Closed in every child that is not given an end of it: another test's child would keep the shell's
  /// input open. (A pipe cannot be made so in one step: pipe2 is hidden from Swift.)
  private static func channel() -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0, "no channel could be made")
    return (ends[0], ends[1])
  }

  private static func readAll(_ descriptor: Int32) -> String {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
      bytes += chunk[..<count]
    }
  }
}
