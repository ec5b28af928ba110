import Glibc

/// A program that was run to its end.
struct ChildProcess {
  var output: String
  /// In seconds, from its start to its end.
  var wall: Double
  /// User and system time of it and of its children that it has waited for, in seconds.
  var processor: Double
  var peakBytes: Int

  /// - Parameter mayFail: the exit statuses that are well besides 0.
  /// - Throws: where it cannot be started or ends badly.
  static func run(_ arguments: [String], mayFail: Set<Int32> = []) throws -> ChildProcess {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw BenchFailure.system("make", "a pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let start = seconds()
    let child = try spawn(arguments, output: ends[1])
    close(ends[1])
    defer { close(ends[0]) }
    let output = readAll(ends[0])
    var status: Int32 = 0
    var use = rusage()
    while wait4(child, &status, 0, &use) < 0, errno == EINTR {}
    let wall = seconds() - start
    let code = status & 0x7F == 0 ? status >> 8 & 0xFF : -1
    guard code == 0 || mayFail.contains(code) else {
      throw BenchFailure(
        message: "\(arguments.joined(separator: " ")) ended with \(code): \(output.suffix(2000))")
    }
    return ChildProcess(
      output: output, wall: wall, processor: use.processorSeconds,
      peakBytes: Int(use.ru_maxrss) * 1024)
  }

  /// - Parameter output: where standard output and standard error go; nil: where ours go.
  static func spawn(_ arguments: [String], output: Int32?) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let output {
      posix_spawn_file_actions_adddup2(&actions, output, 1)
      posix_spawn_file_actions_adddup2(&actions, output, 2)
    }
    // Whoever has started us may have blocked what ends nginx.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var list: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for text in list { free(text) } }
    var child = pid_t()
    let code = posix_spawn(&child, arguments[0], &actions, &attributes, &list, environ)
    guard code == 0 else { throw BenchFailure.system("start", arguments[0], code) }
    return child
  }

  private static func readAll(_ descriptor: Int32) -> String {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count > 0 {
        bytes += chunk[..<count]
      } else if count == 0 || errno != EINTR {
        return String(decoding: bytes, as: UTF8.self)
      }
    }
  }
}

/// On the monotonic clock.
func seconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

extension rusage {
  static func of(_ who: __rusage_who) -> rusage {
    var use = rusage()
    getrusage(__rusage_who_t(who.rawValue), &use)
    return use
  }

  var processorSeconds: Double {
    Double(ru_utime.tv_sec + ru_stime.tv_sec) + Double(ru_utime.tv_usec + ru_stime.tv_usec) * 1e-6
  }
}
