import Glibc

/// An nginx that serves a folder on a free port of loopback, as long as this lives.
final class Origin {
  let url: String
  private let process: pid_t

  /// - Parameters:
  ///   - folder: what it serves.
  ///   - home: where its configuration and its log stand.
  ///   - server: what is to stand in the `server` block besides.
  init(serving folder: String, home: String, server: String = "") throws {
    let port = try Self.freePort()
    url = "http://127.0.0.1:\(port)"
    try write(
      Array(Self.configuration(port, folder, home, server).utf8), to: "\(home)/nginx.conf")
    process = try ChildProcess.spawn(
      [try Self.program, "-p", home, "-c", "\(home)/nginx.conf", "-e", "\(home)/error.log"],
      output: nil)
    for _ in 0..<500 where !Self.isListening(port) { usleep(10_000) }
    guard Self.isListening(port) else {
      kill(process, SIGTERM)
      throw BenchFailure(message: "nginx does not listen; see \(home)/error.log")
    }
  }

  deinit {
    kill(process, SIGTERM)
    var status: Int32 = 0
    waitpid(process, &status, 0)
  }

  private static func configuration(
    _ port: UInt16, _ folder: String, _ home: String, _ server: String
  ) -> String {
    """
    daemon off; master_process off;
    \(getuid() == 0 ? "user root;" : "")
    pid \(home)/nginx.pid;
    events { worker_connections 1024; }
    http {
      access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
      open_file_cache max=10000 inactive=600s;
      types { image/jpeg jpg jpeg; image/png png; image/webp webp; image/gif gif; image/avif avif; }
      client_body_temp_path \(home)/body; proxy_temp_path \(home)/proxy;
      fastcgi_temp_path \(home)/fastcgi; uwsgi_temp_path \(home)/uwsgi; scgi_temp_path \(home)/scgi;
      server { listen 127.0.0.1:\(port) backlog=1024; root \(folder); \(server) }
    }
    """
  }

  private static var program: String {
    get throws {
      let paths = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"]
      guard let path = paths.first(where: { access($0, X_OK) == 0 }) else {
        throw BenchFailure(message: "nginx is not installed")
      }
      return path
    }
  }

  private static func freePort() throws -> UInt16 {
    let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(probe) }
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    return try withLoopback(port: 0) { address in
      guard bind(probe, address, length) == 0, getsockname(probe, address, &length) == 0 else {
        throw BenchFailure.system("bind", "a port of loopback")
      }
      return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        UInt16(bigEndian: $0.pointee.sin_port)
      }
    }
  }

  private static func isListening(_ port: UInt16) -> Bool {
    let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(probe) }
    return withLoopback(port: port) {
      connect(probe, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
    }
  }

  private static func withLoopback<Result>(
    port: UInt16, _ body: (UnsafeMutablePointer<sockaddr>) throws -> Result
  ) rethrows -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return try withUnsafeMutablePointer(to: &address) {
      try $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
    }
  }
}
