import CSeccomp
import Glibc

/// What this process has taken, as far as it may still ask.
enum ProcessUse {
  /// Given out by malloc and not returned.
  static var heldBytes: Int {
    tw_allocated_bytes()
  }

  /// What malloc keeps free beyond this is given back after each image, in bytes: the next decoder's
  /// image may need it.
  private static let keptBytes = 8 << 20

  static func returnFreeMemory() {
    if tw_free_bytes() > keptBytes { tw_trim() }
  }

  static var processorMilliseconds: Int {
    var use = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &use)
    let times = [use.ru_utime, use.ru_stime]
    return times.reduce(0) { $0 + Int($1.tv_sec) * 1000 + Int($1.tv_usec) / 1000 }
  }
}
