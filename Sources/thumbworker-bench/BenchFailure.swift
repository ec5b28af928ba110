import Glibc

/// Why there are no figures.
struct BenchFailure: Error {
  var message: String
  /// 2: the command line is wrong; 3: something else failed.
  var exitCode: Int32 = 3

  static func usage(_ message: String) -> BenchFailure {
    BenchFailure(message: "\(message)\n\(BenchOptions.help)", exitCode: 2)
  }

  /// - Parameter code: the system's error number.
  static func system(_ action: String, _ path: String, _ code: Int32 = errno) -> BenchFailure {
    BenchFailure(message: "cannot \(action) \(path): \(String(cString: strerror(code)))")
  }
}
