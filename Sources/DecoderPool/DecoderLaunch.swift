import DecoderWire
import Glibc
import Vocabulary

/// How a decoder process is started.
struct DecoderLaunch: Sendable {
  let executable: String
  /// What jobs allow: the decoder has no loader of other formats.
  var formats = ImageFormat.allowedByDefault
  /// For starting libvips and warming it up: a fraction of a second, on a machine that is not at its
  /// limit. One that is would rather wait than end its run.
  var readyWithin: Duration = .seconds(120)

  init(executable: String) { self.executable = executable }

  private var arguments: [String] {
    [
      executable, "--memory", String(MemoryShares.headerMemory), "--formats",
      formats.map(\.rawValue).sorted().joined(separator: ","),
    ]
  }

  /// Everything that it inherits. One malloc arena: more would only fragment. One thread of libraries
  /// that bring their own pool: the next core has the next decoder.
  private static let environment = [
    "LC_ALL=C", "MALLOC_ARENA_MAX=1", "G_SLICE=always-malloc", "VIPS_CONCURRENCY=1",
    "OMP_NUM_THREADS=1",
    "SWIFT_BACKTRACE=enable=no",
  ]

  /// What a started process is reached by: the caller closes both and reaps it.
  struct Started {
    let process: pid_t
    let socket: Int32
    /// Where it writes variants.
    let room: OutputRoom
    /// The reading end of its standard error; never blocks.
    let standardError: Int32
  }

  /// Must be called by the thread that the process is to live with.
  func start() throws(DecodeFailure) -> Started {
    let pair = try socketPair(SOCK_SEQPACKET)
    defer { close(pair.theirs) }
    // Not a pipe: its two ends could not be made close-on-exec and non-blocking at once.
    let errors: (ours: Int32, theirs: Int32)
    do throws(DecodeFailure) {
      errors = try socketPair(SOCK_STREAM, flags: Int32(SOCK_NONBLOCK.rawValue))
    } catch {
      close(pair.ours)
      throw error
    }
    defer { close(errors.theirs) }
    limitSending(of: pair.ours)
    do throws(DecodeFailure) {
      let room = try outputRoom()
      let process = try spawn(
        socket: pair.theirs, outputs: room.descriptor, standardError: errors.theirs)
      return Started(
        process: process, socket: pair.ours, room: room, standardError: errors.ours)
    } catch {
      close(pair.ours)
      close(errors.ours)
      throw error
    }
  }

  private func outputRoom() throws(DecodeFailure) -> OutputRoom {
    do throws(OutputRoom.Failure) {
      return try OutputRoom()
    } catch {
      throw unavailable("memfd_create", error.errorNumber)
    }
  }

  private func socketPair(
    _ kind: __socket_type, flags: Int32 = 0
  ) throws(DecodeFailure) -> (ours: Int32, theirs: Int32) {
    var pair: [Int32] = [-1, -1]
    let type = Int32(kind.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags
    guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw unavailable("socketpair", errno) }
    return (pair[0], pair[1])
  }

  /// posix_spawn, never fork: no code of ours runs between.
  private func spawn(
    socket: Int32, outputs: Int32, standardError: Int32
  ) throws(DecodeFailure) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    Inheritance.set(in: &actions, socket: socket, outputs: outputs, standardError: standardError)
    var attributes = posix_spawnattr_t()
    prepare(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }

    var process: pid_t = 0
    let status = withCStrings(self.arguments) { arguments in
      withCStrings(Self.environment) { environment in
        posix_spawn(&process, executable, &actions, &attributes, arguments, environment)
      }
    }
    guard status == 0 else { throw unavailable("posix_spawn", status) }
    return process
  }

  /// No signal mask of ours, and a process group of its own: an interrupt at the terminal is for the
  /// worker, which lets what is under way finish.
  private func prepare(_ attributes: inout posix_spawnattr_t) {
    posix_spawnattr_init(&attributes)
    let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
    posix_spawnattr_setflags(&attributes, Int16(flags))
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setpgroup(&attributes, 0)
  }

  /// A decoder that does not read must not hold its thread for ever.
  private func limitSending(of socket: Int32) {
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(
      socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  private func unavailable(_ call: String, _ error: Int32) -> DecodeFailure {
    DecodeFailure(
      .decoderUnavailable,
      "the decoder \(executable) cannot be started: \(call): \(String(cString: strerror(error)))")
  }
}

/// Lends texts as C's array of strings, with a null at its end.
private func withCStrings<Result>(
  _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
) -> Result {
  let copies = texts.map { strdup($0) }
  defer { for copy in copies { free(copy) } }
  return body(copies + [nil])
}
