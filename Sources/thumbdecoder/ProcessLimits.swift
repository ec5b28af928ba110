import CSeccomp
import Glibc

/// What this process may never exceed, whatever the image.
enum ProcessLimits {
  /// Seconds of CPU in its life; the pool replaces a decoder long before, and kills one that takes too
  /// long over an image.
  private static let processorSeconds: UInt = 3600
  /// Those of one conversation and of the fonts that are kept, and some to spare.
  private static let descriptors: UInt = 48

  static func set() throws(ConfinementFailure) {
    try set(RLIMIT_CORE, 0, "RLIMIT_CORE")
    try set(RLIMIT_CPU, processorSeconds, "RLIMIT_CPU")
    // None, until the worker raises it for an image.
    try setSoft(RLIMIT_FSIZE, 0, "RLIMIT_FSIZE")
    try set(RLIMIT_NOFILE, descriptors, "RLIMIT_NOFILE")
    // Swift's runtime may have put its crash reporter there, which opens files and starts programs.
    for crash in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP] {
      signal(crash, SIG_DFL)
    }
    // A file over its limit is an error of that write, not the end.
    signal(SIGXFSZ, SIG_IGN)
    try setThreadStacks()
    try control(PR_SET_PDEATHSIG, UInt(SIGKILL), "PR_SET_PDEATHSIG")
    try control(PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")
  }

  /// Codecs start threads and do not look whether they could: libde265 then waits for ever. The usual
  /// stack of 8 MiB would be most of what a small picture is given.
  private static func setThreadStacks() throws(ConfinementFailure) {
    guard tw_set_thread_stacks(1 << 20) == 0 else {
      throw ConfinementFailure("the stacks of threads cannot be made smaller")
    }
  }

  /// The address space may grow by so many bytes from here: libraries, which are shared, do not count.
  /// Only the worker can raise that again, since a confined process may not.
  ///
  /// - Returns: what it is now, in bytes.
  static func setMemory(beyondPresent bytes: Int) throws(ConfinementFailure) -> Int {
    guard let present = addressSpace() else {
      throw ConfinementFailure("/proc/self/statm cannot be read")
    }
    try setSoft(RLIMIT_AS, UInt(present) + UInt(bytes), "RLIMIT_AS")
    // Last: it takes /proc/self away.
    try control(PR_SET_DUMPABLE, 0, "PR_SET_DUMPABLE")
    return present
  }

  /// In bytes.
  private static func addressSpace() -> Int? {
    guard let file = fopen("/proc/self/statm", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard fgets(&line, Int32(line.count), file) != nil else { return nil }
    return Int(strtol(line, nil, 10)) * Int(getpagesize())
  }

  private static func setSoft(
    _ resource: __rlimit_resource, _ value: UInt, _ name: String
  ) throws(ConfinementFailure) {
    var limit = rlimit()
    let number = __rlimit_resource_t(resource.rawValue)
    guard getrlimit(number, &limit) == 0 else {
      throw ConfinementFailure("\(name): \(String(cString: strerror(errno)))")
    }
    limit.rlim_cur = min(value, limit.rlim_max)
    guard setrlimit(number, &limit) == 0 else {
      throw ConfinementFailure("\(name): \(String(cString: strerror(errno)))")
    }
  }

  private static func set(
    _ resource: __rlimit_resource, _ value: UInt, _ name: String
  ) throws(ConfinementFailure) {
    var limit = rlimit(rlim_cur: value, rlim_max: value)
    guard setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else {
      throw ConfinementFailure("\(name): \(String(cString: strerror(errno)))")
    }
  }

  private static func control(
    _ option: Int32, _ value: UInt, _ name: String
  ) throws(ConfinementFailure) {
    guard tw_prctl(option, value) == 0 else {
      throw ConfinementFailure("\(name): \(String(cString: strerror(errno)))")
    }
  }
}
