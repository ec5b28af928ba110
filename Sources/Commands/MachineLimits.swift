import FoundationEssentials
import Glibc

/// What this process may take of its machine.
struct MachineLimits {
  /// Files and connections that may be open at once.
  let openFiles: Int
  let processors: Int
  /// Bytes, of the machine or of the control group that this process is in, whichever is less.
  let memory: Int

  init() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    openFiles = limit.rlim_cur > UInt(Int.max) ? Int.max : Int(limit.rlim_cur)
    processors = ProcessInfo.processInfo.activeProcessorCount
    let physical = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
    memory = min(physical, Self.controlGroupsMemory ?? .max)
  }

  /// Nil where there is no limit, or no control groups of the second version.
  private static var controlGroupsMemory: Int? {
    let path = "/sys/fs/cgroup/memory.max"
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    return Int(text.filter(\.isNumber))
  }
}
