import CSeccomp
import Glibc

/// Why this process could not be confined.
struct ConfinementFailure: Error {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}

/// Takes every system call away but those that decoding and encoding need.
///
/// Found by running the whole corpus: what is not listed kills the process.
enum Confinement {
  /// Memory, clocks, threads' waits, and descriptors that are open already.
  private static let allowed = [
    "read", "readv", "pread64", "write", "writev", "recvmsg", "sendmsg", "close", "fstat",
    "newfstatat", "lseek", "dup",
    "munmap", "mremap", "madvise", "brk",
    "futex", "set_robust_list", "rseq", "sched_yield", "sched_getaffinity", "clock_gettime",
    "clock_nanosleep", "nanosleep", "gettimeofday", "getrusage", "getrandom",
    "getpid", "getppid", "gettid", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack",
    "restart_syscall", "exit", "exit_group",
  ]

  /// What libraries ask and can do without: malloc how memory is over-committed, stdio whether a
  /// descriptor is a terminal. `socket` fails instead of killing so that its absence can be proven.
  private static let refused: [(call: String, error: Int32)] = [
    ("openat", EPERM), ("open", EPERM), ("socket", EPERM), ("ioctl", ENOTTY), ("umask", EPERM),
    ("unlink", EPERM),
    // What is looked for beside the files that are open: fonts, loaders of pictures, settings.
    ("access", EPERM), ("faccessat", EPERM), ("faccessat2", EPERM), ("readlink", EPERM),
    ("readlinkat", EPERM), ("getcwd", EPERM), ("statfs", EPERM), ("statx", EPERM),
    // GLib, before it writes a remark: whether the journal is at the other end.
    ("getpeername", ENOTSOCK),
    // Its flags lie in memory where a filter cannot look: glibc then takes `clone`.
    ("clone3", ENOSYS),
  ]

  static func enter() throws(ConfinementFailure) {
    guard let filter = seccomp_init(tw_kill_process()) else {
      throw ConfinementFailure("libseccomp does not start")
    }
    defer { seccomp_release(filter) }
    for call in allowed { try add(call, tw_allow(), to: filter) }
    for (call, error) in refused {
      try add(call, tw_answer_with_error(UInt16(error)), to: filter)
    }
    try addMemory(to: filter)
    try addThreadsAndDescriptors(to: filter)
    // libvips' threads exist already: the filter must hold for them too.
    guard seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0, seccomp_load(filter) == 0 else {
      throw ConfinementFailure("the kernel takes no system call filter")
    }
    try prove()
  }

  /// No memory that can be run: nothing here compiles code while it works.
  private static func addMemory(to filter: scmp_filter_ctx) throws(ConfinementFailure) {
    for call in ["mmap", "mprotect"] {
      try add(
        call, tw_allow(), to: filter,
        where: [
          scmp_arg_cmp(arg: 2, op: SCMP_CMP_MASKED_EQ, datum_a: UInt64(PROT_EXEC), datum_b: 0)
        ])
    }
  }

  private static func addThreadsAndDescriptors(to filter: scmp_filter_ctx)
    throws(ConfinementFailure)
  {
    let thread = UInt64(tw_clone_thread())
    try add(
      "clone", tw_allow(), to: filter,
      where: [scmp_arg_cmp(arg: 0, op: SCMP_CMP_MASKED_EQ, datum_a: thread, datum_b: thread)])
    try add(
      "prctl", tw_allow(), to: filter,
      where: [scmp_arg_cmp(arg: 0, op: SCMP_CMP_EQ, datum_a: UInt64(PR_SET_NAME), datum_b: 0)])
    // FreeType marks what it opens as close-on-exec.
    try add(
      "fcntl", tw_allow(), to: filter,
      where: [scmp_arg_cmp(arg: 1, op: SCMP_CMP_EQ, datum_a: UInt64(F_SETFD), datum_b: 0)])
    // abort() signals itself.
    try add(
      "tgkill", tw_allow(), to: filter,
      where: [scmp_arg_cmp(arg: 0, op: SCMP_CMP_EQ, datum_a: UInt64(getpid()), datum_b: 0)])
  }

  private static func add(
    _ call: String, _ action: UInt32, to filter: scmp_filter_ctx, where tests: [scmp_arg_cmp] = []
  ) throws(ConfinementFailure) {
    let number = seccomp_syscall_resolve_name(call)
    // Negative: this architecture never had it.
    guard number >= 0 else { return }
    guard seccomp_rule_add_array(filter, action, number, UInt32(tests.count), tests) == 0 else {
      throw ConfinementFailure("libseccomp refuses the rule for \(call)")
    }
  }

  /// A filter that does not filter would go unnoticed: try what must fail.
  private static func prove() throws(ConfinementFailure) {
    guard open("/dev/null", O_RDONLY) < 0, errno == EPERM else {
      throw ConfinementFailure("a file could be opened in spite of the filter")
    }
    guard Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) < 0, errno == EPERM else {
      throw ConfinementFailure("a socket could be opened in spite of the filter")
    }
  }
}
