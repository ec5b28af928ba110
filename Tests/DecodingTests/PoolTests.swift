import CVips
import DecoderWire
import Glibc
import Synchronization
import TestSupport
import Testing
import Threading
import Vocabulary

@testable import DecoderPool
@testable import Imaging

/// Programs that stand in for a decoder.
private final class FakeDecoder: Sendable {
  let path: String

  init(_ script: String) {
    var name = Array("/tmp/thumbworker-fake-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let text = Array("#!/bin/sh\n\(script)\n".utf8)
    _ = write(descriptor, text, text.count)
    fchmod(descriptor, 0o700)
    close(descriptor)
  }

  deinit { unlink(path) }
}

private func failure(
  _ pool: DecoderPool, _ file: [UInt8], timeout: Duration = .seconds(30), _ recipes: [Recipe]
) async -> DecodeFailure? {
  var limits = LimitSettings()
  limits.decodeTimeout = timeout
  do throws(DecodeFailure) {
    _ = try await pool.render(file, limits: limits, recipes)
    return nil
  } catch {
    return error
  }
}

/// Takes a decoder seconds.
private let slow = (
  file: TestPictures.photo("jpegsave", 1200, 900),
  recipes: (0..<20).map { index in
    recipe(1200 - index, nil, .avif) { $0.effort = .small }
  }
)

@Suite(.serialized) struct `A pool of decoders` {
  private let good = TestPictures.photo("jpegsave", 100, 80)

  private let named = NamedDecoder()

  private func pool(_ decoders: Int = 1, memory: Int = 1 << 30) throws -> DecoderPool {
    try DecoderPool(executable: named.path, decoders: decoders, memory: memory)
  }

  @Test func `serves many tasks and leaves nothing behind`() async throws {
    let pool = try pool(2)
    let good = good
    await withTaskGroup(of: DecodeFailure?.self) { group in
      for _ in 0..<20 { group.addTask { await failure(pool, good, [recipe(20)]) } }
      for await failure in group { #expect(failure == nil) }
    }
    #expect(named.processes.count == 2)
    await pool.stop()
    #expect(named.processes.isEmpty)
    #expect(await failure(pool, good, [recipe(20)])?.code == "cancelled")
  }

  @Test func `kills a decoder that takes too long, and goes on`() async throws {
    let pool = try pool()
    #expect(await failure(pool, good, [recipe(20)]) == nil)
    let failed = await failure(pool, slow.file, timeout: .milliseconds(200), slow.recipes)
    #expect(failed?.code == "decoder-timeout")
    #expect(failed?.disposition == .giveUp)
    #expect(await failure(pool, good, [recipe(20)]) == nil)
    await pool.stop()
  }

  @Test func `replaces a decoder that is killed, and blames the killer`() async throws {
    let pool = try pool()
    #expect(await failure(pool, good, [recipe(20)]) == nil)
    let decoder = try #require(named.processes.first)
    async let failed = failure(pool, slow.file, slow.recipes)
    // Its first image has made the decoder known: the second one is under way or about to be.
    try await Task.sleep(for: .milliseconds(100))
    kill(decoder, SIGKILL)
    let failure1 = await failed
    #expect(failure1?.code == "decoder-crashed")
    #expect(failure1?.disposition == .retry(notBefore: nil))
    #expect(await failure(pool, good, [recipe(20)]) == nil)
    await pool.stop()
  }

  @Test func `replaces a decoder that died between two images unnoticed`() async throws {
    let pool = try pool()
    #expect(await failure(pool, good, [recipe(20)]) == nil)
    let decoder = try #require(named.processes.first)
    kill(decoder, SIGKILL)
    while !NamedDecoder.isZombie(decoder) { usleep(1000) }
    #expect(await failure(pool, good, [recipe(20)]) == nil)
    await pool.stop()
  }

  @Test func `refuses what would take too much memory, and goes on`() async throws {
    let pool = try pool(memory: 1)
    let large = TestPictures.locked {
      let black = try! vips(
        "black", ["width": .int(6000), "height": .int(6000), "bands": .int(3)])
      return TestPictures.save(black, "pngsave")
    }
    let failed = await failure(pool, large, [recipe(3000), recipe(2900)])
    #expect(failed?.code == "decoder-memory")
    #expect(await failure(pool, good, [recipe(20)]) == nil)
    // 108 MB of pixels, of which never more than some rows are held.
    #expect(await failure(pool, large, [recipe(1000), recipe(900)]) == nil)
    await pool.stop()
  }

  @Test func `tells when no decoder can be started, with its last words`() async throws {
    let fake = FakeDecoder("echo 'no libvips here' >&2; exit 1")
    let pool = try DecoderPool(executable: fake.path, decoders: 1, memory: 1 << 30)
    let failed = try #require(await failure(pool, good, [recipe(20)]))
    #expect(failed.code == "decoder-unavailable")
    #expect(failed.disposition == .stopRun)
    #expect(failed.message.contains("no libvips here"))
    await pool.stop()
    #expect(throws: DecodeFailure.self) {
      try DecoderPool(executable: "/no/such/file", decoders: 1, memory: 1 << 30)
    }
  }

  @Test func `lets no decoder wait for ever for its start`() throws {
    let fake = FakeDecoder("exec sleep 60")
    var launch = DecoderLaunch(executable: fake.path)
    launch.readyWithin = .milliseconds(50)
    #expect(throws: DecodeFailure.self) { try DecoderProcess(launch) }
  }

  @Test func `believes nothing that is malformed`() throws {
    let fake = FakeDecoder("printf 'hello' >&3; exec sleep 60")
    let launch = DecoderLaunch(executable: fake.path)
    #expect(throws: DecodeFailure.self) { try DecoderProcess(launch) }
  }

  private func hello(processing: Int = Recipe.processingVersion) -> DecoderMessage {
    .hello(
      DecoderGreeting(
        processing: processing, libvips: "8.0.0", reads: [.jpeg], encoders: .unknown))
  }

  /// For a shell's printf.
  private func escaped(_ bytes: [UInt8]) -> String {
    bytes.map { byte in
      let octal = String(byte, radix: 8)
      return "\\" + String(repeating: "0", count: 3 - octal.count) + octal
    }.joined()
  }

  @Test func `takes no decoder of another build`() throws {
    var strange = hello().packet
    strange[0] -= 1
    for (bytes, reason) in [
      (strange, "otherwise than this program"),
      (hello(processing: 99).packet, "processes by version 99"),
      (DecoderMessage.ready(addressSpace: 1).packet, "out of turn"),
    ] {
      let fake = FakeDecoder("printf '\(escaped(bytes))' >&3; exec sleep 60")
      let launch = DecoderLaunch(executable: fake.path)
      let failure = #expect(throws: DecodeFailure.self) { try DecoderProcess(launch) }
      #expect(failure?.message.contains(reason) == true, "\(failure?.message ?? "")")
      #expect(failure?.disposition == .stopRun)
    }
  }

  @Test func `tells what its decoders are, before they are ready`() async throws {
    let fake = FakeDecoder("printf '\(escaped(hello().packet))' >&3; exec sleep 60")
    let pool = try DecoderPool(executable: fake.path, decoders: 1, memory: 1 << 30)
    #expect(try await pool.greeting().libvips == "8.0.0")
    await pool.stop()
    let real = try DecoderPool(executable: decoderExecutable, decoders: 1, memory: 1 << 30)
    let greeting = try await real.greeting()
    #expect(greeting.reads.isSuperset(of: [.jpeg, .png, .webp, .gif, .tiff, .bmp]))
    for format in [ImageFormat.jpeg, .png, .webp, .gif] {
      let versions = try #require(greeting.encoders.byFormat[format])
      #expect(versions.hasPrefix("vips-\(greeting.libvips)"), "\(versions)")
    }
    #expect(greeting.encoders.byFormat[.webp]!.contains("+webp-"))
    #expect(greeting.encoders.byFormat[.jpeg]!.contains("+jpeg-"))
    await real.stop()
  }

  /// How a decoder may end while it has an image.
  private static let ends: [(script: String, code: String, says: String)] = [
    ("kill -SEGV $$", "decoder-crashed", "signal 11"),
    ("kill -SYS $$", "decoder-crashed", "signal 31"),
    ("exit 3", "decoder-crashed", "status 3"), ("exit 71", "decoder-memory", "set aside"),
    ("echo 'memory allocation of 8 bytes failed' >&2; kill -ABRT $$", "decoder-memory", "8 bytes"),
    (
      // As Swift does, with a trace behind it.
      "echo 'Fatal error: failed to allocate 9 bytes' >&2; seq 1 400 >&2; kill -ABRT $$",
      "decoder-memory", "400"
    ),
    ("exec sleep 60", "decoder-timeout", "longer than 50ms"),
    ("printf xyz >&3; exec sleep 60", "decoder-crashed", "malformed"),
  ]

  @Test(arguments: ends.indices)
  func `tells how a decoder has ended, and blames the image`(_ index: Int) async throws {
    let (script, code, says) = Self.ends[index]
    let ready = DecoderMessage.ready(addressSpace: 1).packet
    let fake = FakeDecoder(
      """
      printf '\(escaped(hello().packet))' >&3; printf '\(escaped(ready))' >&3
      dd bs=32768 count=1 <&3 >/dev/null 2>&1
      \(script)
      """)
    let pool = try DecoderPool(executable: fake.path, decoders: 1, memory: 1 << 30)
    let timeout: Duration = code == "decoder-timeout" ? .milliseconds(50) : .seconds(60)
    let failed = try #require(await failure(pool, good, timeout: timeout, [recipe(20)]))
    #expect(failed.code == code, "\(failed.message)")
    #expect(failed.message.contains(says), "\(failed.message)")
    #expect(failed.disposition == .giveUp)
    await pool.stop()
  }

  @Test func `replaces a decoder after so many images`() async throws {
    let pool = try pool()
    let small = TestPictures.file("pngsave", 4, 4) { _, _ in [9, 9, 9] }
    var seen: [pid_t] = []
    for _ in 0..<DecoderUse.mostImages + 2 {
      #expect(await failure(pool, small, [recipe(2, nil, .png)]) == nil)
      if let decoder = named.processes.first, seen.last != decoder { seen.append(decoder) }
    }
    #expect(seen.count == 2)
    await pool.stop()
  }

  @Test(arguments: [
    (1, 0, 0, false), (DecoderUse.mostImages, 0, 0, true), (2, 64 << 20, 0, false),
    (2, 64 << 20 + 1, 0, true), (2, 0, 1_800_001, true),
  ])
  func `replaces a decoder that is worn out`(
    _ images: Int, _ growth: Int, _ milliseconds: Int, _ isWornOut: Bool
  ) {
    var use = DecoderUse()
    use.images = images
    use.note(heldBytes: 5 << 20, processorMilliseconds: 1)
    use.note(heldBytes: 5 << 20 + growth, processorMilliseconds: milliseconds)
    #expect(use.isWornOut == isWornOut)
  }

  @Test func `has decoders of one kind only`() throws {
    guard case .hello(var greeting) = hello() else { return }
    let kin = DecoderKin()
    try kin.admit(greeting)
    try kin.admit(greeting)
    greeting.encoders = EncoderVersions([.webp: "vips-8.0.0+webp-8"])
    let failure = #expect(throws: DecodeFailure.self) { try kin.admit(greeting) }
    #expect(failure?.code == "decoder-unavailable")
  }

  @Test func `gives decoders nothing to inherit`() async throws {
    let secret = MemoryFile([1, 2, 3])
    let fake = FakeDecoder("ls /proc/self/fd | tr '\\n' ' ' >&2; env >&2; exit 1")
    let copy = dup(secret.descriptor)  // without close-on-exec
    defer { close(copy) }
    let pool = try DecoderPool(executable: fake.path, decoders: 1, memory: 1 << 30)
    let failed = try #require(await failure(pool, good, [recipe(20)]))
    // 0 to 4, and the one that lists them.
    #expect(failed.message.contains("it said: 0 1 2 3 4 5 "), "\(failed.message)")
    #expect(!failed.message.contains("HOME="))
    #expect(failed.message.contains("MALLOC_ARENA_MAX=1"))
    await pool.stop()
  }

  @Test func `ends decoders when their thread or their worker ends`() throws {
    let launch = DecoderLaunch(executable: decoderExecutable)
    let orphan = try launch.start()
    close(orphan.socket)
    var status: Int32 = 0
    waitpid(orphan.process, &status, 0)
    #expect(status == 0 || status >> 8 == 1)
    close(orphan.standardError)

    nonisolated(unsafe) var started: DecoderLaunch.Started?  // joined before it is read
    OwnedThread(name: "short-lived") {
      started = try? launch.start()
      if let started {
        // Its first word says that it asked to die with its parent.
        var entry = pollfd(fd: started.socket, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 30_000)
      }
    }.join()
    let child = try #require(started)
    waitpid(child.process, &status, 0)
    #expect(status & 0x7F == SIGKILL)
    close(child.socket)
    close(child.standardError)
  }

  @Test func `drops what is cancelled before its turn`() async throws {
    let pool = try pool()
    let good = good
    async let first = failure(pool, slow.file, timeout: .milliseconds(600), slow.recipes)
    let second = Task { await failure(pool, good, [recipe(20)]) }
    second.cancel()
    let dropped = await second.value
    #expect(dropped == nil || dropped?.code == "cancelled")
    _ = await first
    await pool.stop()
  }

  @Test func `does not let a decoder write to the original`() async throws {
    let original = MemoryFile(good)
    let output = MemoryFile()
    let pool = try pool()
    let rendering = try await pool.render(
      RenderRequest(
        original: original.descriptor, limits: LimitSettings(),
        variants: [(recipe(20), output.descriptor)]))
    #expect(rendering.variants.count == 1)
    #expect(original.bytes == good)
    await pool.stop()
  }

  @Test func `takes no output that cannot be written`() async throws {
    let original = MemoryFile(good)
    let pool = try pool()
    let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
    defer { close(full) }
    let rendering = try await pool.render(
      RenderRequest(
        original: original.descriptor, limits: LimitSettings(),
        variants: [(recipe(20), full)]))
    guard case .failure(let failure) = rendering.variants[0] else {
      Issue.record("it was made")
      return
    }
    #expect(["disk-full", "output-unwritable"].contains(failure.code))
    await pool.stop()
  }
}
