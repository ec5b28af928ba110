import CSeccomp
import Glibc

/// Tries, once confined, what a decoder that was taken over would try.
///
/// Ends with status 0 where the attempt failed and 9 where it went through; most attempts end the
/// process with SIGSYS.
enum SelfTest {
  private static let wentThrough: Int32 = 9

  static func run(_ name: String) -> Never {
    guard let attempt = attempts[name] else {
      StandardError.say("no self-test is called \(name)")
      exit(2)
    }
    exit(attempt() ? wentThrough : 0)
  }

  /// Each answers whether it succeeded.
  private static let attempts: [String: @Sendable () -> Bool] = [
    "nothing": { false },
    "open": { open("/etc/passwd", O_RDONLY) >= 0 },
    "create": { open("/tmp/thumbdecoder-was-here", O_CREAT | O_WRONLY, 0o600) >= 0 },
    "look": { access("/etc/passwd", F_OK) == 0 },
    "socket": { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) >= 0 },
    "connect": { connect(3, nil, 0) == 0 },
    "fork": { call("clone", Int(SIGCHLD)) >= 0 },
    "exec": { "/bin/true".withCString { call("execve", Int(bitPattern: $0)) } >= 0 },
    "ptrace": { call("ptrace", 0, Int(getppid())) >= 0 },
    "kill": { kill(getppid(), 0) == 0 },
    "memory": { takesMemory(10 << 30) },
    "map code": {
      mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANON, -1, 0) != MAP_FAILED
    },
    "unlock code": { unlocksCode() },
    "thread": { !startsThread() },
    "abort": { abort() },
    "loop": { while true {} },
  ]

  private static func call(_ name: String, _ a: Int = 0, _ b: Int = 0, _ c: Int = 0) -> Int {
    tw_system_call(Int(seccomp_syscall_resolve_name(name)), a, b, c)
  }

  private static func takesMemory(_ bytes: Int) -> Bool {
    guard let memory = malloc(bytes) else { return false }
    memset(memory, 1, bytes)
    return true
  }

  private static func unlocksCode() -> Bool {
    let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
    return mprotect(page!, 4096, PROT_READ | PROT_EXEC) == 0
  }

  private static func startsThread() -> Bool {
    var thread = pthread_t()
    return pthread_create(&thread, nil, { _ in nil }, nil) == 0 && pthread_join(thread, nil) == 0
  }
}
