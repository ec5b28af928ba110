import CUnix
import DecoderWire
import Glibc
import Vocabulary

/// A decoder that said what it is. Belongs to one thread, which ends it.
final class DecoderProcess {
  /// Why nothing more comes from it.
  enum Silence: Error {
    case deadline
    /// Its end of the socket is closed: it is dead or dying.
    case gone
    case malformed
  }

  private let process: pid_t
  private let socket: PacketSocket
  private let standardError: Int32
  private let readyUntil: ContinuousClock.Instant
  /// What it says it is.
  private(set) var greeting: DecoderGreeting!  // set by `init`, or it throws
  /// Where it writes variants.
  let room: OutputRoom
  /// In bytes, when it was ready; nil before.
  private var addressSpace: Int?
  private var exitStatus: Int32?
  private var said: [UInt8] = []

  init(_ launch: DecoderLaunch) throws(DecodeFailure) {
    let started = try launch.start()
    process = started.process
    socket = PacketSocket(descriptor: started.socket)
    room = started.room
    standardError = started.standardError
    readyUntil = .now + launch.readyWithin
    let message = try firstWords()
    guard case .hello(let greeting) = message else { throw notStarted("it spoke out of turn") }
    guard greeting.processing == Recipe.processingVersion else {
      throw notStarted(
        "it processes by version \(greeting.processing), not \(Recipe.processingVersion)")
    }
    self.greeting = greeting
  }

  /// Blocks until it is warm and confined. After that nothing is waited for.
  func becomeReady() throws(DecodeFailure) {
    guard addressSpace == nil else { return }
    let message = try firstWords()
    guard case .ready(let bytes) = message else { throw notStarted("it spoke out of turn") }
    addressSpace = bytes
  }

  private func firstWords() throws(DecodeFailure) -> DecoderMessage {
    let reason: String
    do throws(Silence) {
      let message = try receive(until: readyUntil)
      guard case .unfit(let why) = message else { return message }
      reason = why.printable
    } catch {
      reason =
        switch error {
        case .deadline: "it was not ready in time"
        case .gone: "it ended at once"
        case .malformed: "it speaks otherwise than this program"
        }
    }
    throw notStarted(reason)
  }

  private func notStarted(_ reason: String) -> DecodeFailure {
    let said = end().said
    return DecodeFailure(
      .decoderUnavailable,
      "the decoder does not start: \(reason)" + (said.isEmpty ? "" : "; it said: \(said)"))
  }

  // MARK: Limits

  /// Lets it take so much memory from now on, beyond what it has.
  ///
  /// Only we can: a confined process may not change its limits.
  ///
  /// - Parameters:
  ///   - memory: of address space, in bytes.
  ///   - output: how large a variant's file may become, in bytes.
  func limit(memory: Int, output: Int) throws(Silence) {
    let whole = UInt(presentAddressSpace + memory)
    guard tw_limit_memory(process, whole) == 0, tw_limit_files(process, UInt(output)) == 0 else {
      throw .gone
    }
  }

  /// What it holds beyond what it had when it was ready: leaks, and what its allocator does not give
  /// back, in bytes.
  var growth: Int { max(0, presentAddressSpace - (addressSpace ?? 0)) }

  /// By the kernel's word. Where that is not to be had, what it said before it had seen an image.
  private var presentAddressSpace: Int {
    let file = open("/proc/\(process)/statm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return addressSpace ?? 0 }
    defer { close(file) }
    var text = [UInt8](repeating: 0, count: 64)
    let count = read(file, &text, text.count)
    let digits = text.prefix(max(0, count)).prefix { (0x30...0x39).contains($0) }
    let pages = Int(String(decoding: digits, as: UTF8.self))
    return pages.map { $0 * Int(getpagesize()) } ?? addressSpace ?? 0
  }

  // MARK: Conversing

  func send(_ message: WorkerMessage, descriptor: Int32? = nil) throws(Silence) {
    do {
      try socket.send(message.packet, descriptor: descriptor)
    } catch {
      throw error.errorNumber == EAGAIN ? .deadline : .gone
    }
  }

  func receive(until deadline: ContinuousClock.Instant) throws(Silence) -> DecoderMessage {
    try wait(until: deadline)
    let packet: ArraySlice<UInt8>
    do {
      let (bytes, descriptor) = try socket.receive()
      if let descriptor { close(descriptor) }  // none is expected, and none is kept
      packet = bytes
    } catch {
      throw .gone
    }
    do {
      return try DecoderMessage(packet: packet)
    } catch {
      throw .malformed
    }
  }

  private func wait(until deadline: ContinuousClock.Instant) throws(Silence) {
    while true {
      let left = (deadline - .now).wholeMilliseconds
      guard left > 0 else { throw .deadline }
      var entry = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
      if poll(&entry, 1, Int32(min(left, 60_000))) > 0 { return }
    }
  }

  // MARK: Living and dying

  /// Whether it still runs, as far as can be told without asking it.
  var isAlive: Bool {
    collectStandardError()
    guard exitStatus == nil else { return false }
    var status: Int32 = 0
    if waitpid(process, &status, WNOHANG) == process { exitStatus = status }
    return exitStatus == nil
  }

  /// How a decoder ended.
  struct Death {
    /// 0 where it was no signal.
    var signal: Int32
    var exitCode: Int32
    /// Whether it was still running and we killed it.
    var wasKilledByUs: Bool
    /// The end of its standard error.
    var said: String
  }

  /// Kills it if it still runs, and leaves no trace of it. Only once.
  ///
  /// - Parameter grace: how long a decoder whose socket is closed may take to die by itself, so that
  ///   its own reason is seen.
  func end(grace: Duration = .zero) -> Death {
    let deadline = ContinuousClock.now + grace
    while isAlive, ContinuousClock.now < deadline { usleep(1000) }
    let isOurs = isAlive
    if isOurs { reap() }
    collectStandardError()
    close(socket.descriptor)
    close(standardError)
    let status = exitStatus ?? 0
    return Death(
      signal: status & 0x7F, exitCode: (status >> 8) & 0xFF, wasKilledByUs: isOurs,
      said: lastWords)
  }

  /// The beginning and the end of the last that it wrote: who crashes says why, and then at length where.
  private var lastWords: String {
    let words = String(decoding: said, as: UTF8.self)
    return words.count <= 400
      ? words.printable
      : words.prefix(250).description.printable + " … " + words.suffix(150).description.printable
  }

  private func reap() {
    kill(process, SIGKILL)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    exitStatus = status
  }

  /// Keeps the last of what it wrote; the pipe never fills up.
  private func collectStandardError() {
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(standardError, &chunk, chunk.count)
      guard count > 0 else { return }
      said = (said + chunk[..<count]).suffix(4096)
    }
  }
}

extension String {
  /// On one line, without what a terminal would obey, and not long.
  var printable: String {
    let scalars = unicodeScalars.prefix(500).map { scalar -> Character in
      scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
        ? " " : Character(scalar)
    }
    return String(scalars.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
