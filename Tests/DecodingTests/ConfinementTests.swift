import Glibc
import Testing

@Suite struct `A confined decoder` {
  /// - Returns: the exit status, or minus the signal that ended it.
  private func end(ofSelfTest name: String) -> Int32 {
    var process: pid_t = 0
    let arguments = [decoderExecutable, "--memory", "268435456", "--selftest", name]
    var pointers = arguments.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var environment: [UnsafeMutablePointer<CChar>?] = [nil]
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 3, "/dev/null", O_RDWR, 0)
    let status = posix_spawn(&process, decoderExecutable, &actions, nil, &pointers, &environment)
    guard status == 0 else { return status }
    var wait: Int32 = 0
    waitpid(process, &wait, 0)
    return wait & 0x7F == 0 ? (wait >> 8) & 0xFF : -(wait & 0x7F)
  }

  @Test(arguments: ["open", "create", "look", "socket", "memory"])
  func `is refused`(_ attempt: String) {
    #expect(end(ofSelfTest: attempt) == 0)
  }

  @Test(arguments: ["connect", "fork", "exec", "ptrace", "kill", "map code", "unlock code"])
  func `is killed when it tries to`(_ attempt: String) {
    #expect(end(ofSelfTest: attempt) == -SIGSYS)
  }

  @Test func `may start threads and end itself`() {
    #expect(end(ofSelfTest: "thread") == 0)
    #expect(end(ofSelfTest: "abort") == -SIGABRT)
  }

  @Test func `would tell if an attempt went through`() {
    #expect(end(ofSelfTest: "nothing") == 0)
    #expect(end(ofSelfTest: "no such test") == 2)
  }
}
