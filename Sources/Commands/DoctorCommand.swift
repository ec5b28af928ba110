import DecoderPool
import Glibc
import LedgerCore
import LedgerSQLite
import Reporting
import Storage
import Threading
import Vocabulary

/// `doctor`: says whether this machine can do the work. It changes nothing.
struct DoctorCommand {
  private typealias Finding = DoctorReport.Finding

  let call: Invocation

  func execute() async -> ExitCode {
    let (decoder, decoderFindings) = await decoderFindings()
    let (newest, ledger) = await ledgerFindings()
    let report = DoctorReport(
      version: Program.version,
      findings: decoderFindings + [disk()] + ledger + limits() + [clock(newest)],
      decoder: decoder)
    call.console.print(call.parsed.has("--json") ? [report.json] : report.lines)
    return report.isWell ? .well : .environment
  }

  // MARK: Decoders

  private func decoderFindings() async -> (DecoderGreeting?, [Finding]) {
    do {
      let pool = try call.site.decoders(formats: ImageFormat.allowedByDefault)
      do throws(DecodeFailure) {
        let greeting = try await pool.greeting()
        let proof: Finding
        do throws(DecodeFailure) {
          try await pool.prove()
          proof = Finding(
            "sandbox", .ok, "a decoder has confined itself, and proven that it can open no file")
        } catch {
          proof = Finding(
            "sandbox", .failed, error.message,
            hint: "decoders need a kernel with seccomp, and a container that lets them use it")
        }
        await pool.stop()
        return (greeting, formats(greeting) + [proof])
      } catch {
        await pool.stop()
        return (nil, [Finding("libvips", error)])
      }
    } catch let failure as DecodeFailure {
      return (nil, [Finding("libvips", failure)])
    } catch let error as UsageError {
      return (nil, [Finding("libvips", .failed, error.message, hint: error.hint)])
    } catch {
      return (nil, [Finding("libvips", .failed, "\(error)")])
    }
  }

  private func formats(_ greeting: DecoderGreeting) -> [Finding] {
    func names(_ formats: Set<ImageFormat>) -> String {
      ImageFormat.allCases.filter(formats.contains).map(\.rawValue).joined(separator: ", ")
    }
    let common = ImageFormat.allowedByDefault.subtracting(greeting.reads)
    let variants = Set(VariantSpec.Format.allCases.compactMap(\.imageFormat))
      .subtracting(greeting.writes)
    return [
      Finding("libvips", .ok, "version \(greeting.libvips)"),
      Finding(
        "reads", common.isEmpty ? .ok : .warning,
        names(greeting.reads) + (common.isEmpty ? "" : "; not \(names(common))"),
        hint: "pictures in these formats fail as unsupported-format: install a libvips with them"),
      Finding(
        "writes", variants.isEmpty ? .ok : .warning,
        names(greeting.writes) + (variants.isEmpty ? "" : "; not \(names(variants))"),
        hint: "give variants another format, or install a libvips with these"),
    ]
  }

  // MARK: Disk

  private static let littleSpace = 1 << 30
  private static let fewNames = 10_000

  private func disk() -> Finding {
    let probe = RootProbe(call.site.layout)
    let place =
      "\(probe.folder)\(probe.isRootThere ? "" : " (there is no \(call.site.layout.root) yet)"), "
      + "\(probe.fileSystem), \(ByteSizeText.format(probe.freeBytes)) free"
    if let obstacle = probe.obstacle {
      return Finding(
        "disk", .failed, "\(place): \(obstacle)",
        hint: "give --root a folder of a local file system that this user can write to")
    }
    if probe.freeBytes < Self.littleSpace {
      return Finding("disk", .warning, place, hint: "free some space: a run stops when it is full")
    }
    if let names = probe.freeNames, names < Self.fewNames {
      return Finding(
        "disk", .warning, "\(place), \(names) inodes left",
        hint: "each original, variant and folder takes one: a run stops when there are none")
    }
    if ["nfs", "cifs", "smb2", "fuse"].contains(probe.fileSystem) {
      return Finding(
        "disk", .warning, place,
        hint: "the ledger's locks are only safe on a file system of this machine: move the root")
    }
    return Finding("disk", .ok, "\(place), hard links")
  }

  // MARK: Ledger

  /// - Returns: also when something last happened, by the clock of that time.
  private func ledgerFindings() async -> (newest: Timestamp?, [Finding]) {
    let path = call.site.layout.ledger
    guard access(path, F_OK) == 0 else {
      return (nil, [Finding("ledger", .ok, "none yet: the first run makes it")])
    }
    do throws(LedgerFailure) {
      let ledger = try await LedgerSQLite.examine(path: path)
      if let fault = ledger.fault {
        let failure = LedgerFailure.damaged(path: path, reason: fault)
        return (ledger.lastRun, [Finding("ledger", failure)])
      }
      let later =
        ledger.version < ledger.newestVersion
        ? "; the next run brings it to version \(ledger.newestVersion)" : ""
      return (
        ledger.lastRun,
        [
          Finding(
            "ledger", .ok, "\(path) is sound, its schema of version \(ledger.version)\(later)")
        ]
      )
    } catch {
      return (nil, [Finding("ledger", error)])
    }
  }

  // MARK: Limits and clock

  /// The default job's transfers, each with a file, and what stands open besides.
  private static let enoughFiles = 512

  private func limits() -> [Finding] {
    let machine = MachineLimits()
    let needed = LimitSettings().memory
    let memory =
      "\(machine.processors) processors, \(ByteSizeText.format(machine.memory)) of memory"
    return [
      machine.openFiles < Self.enoughFiles
        ? Finding(
          "open-files", .warning, "\(machine.openFiles) may be open at once",
          hint: "raise it with ulimit -n 4096, or LimitNOFILE= in a systemd unit")
        : Finding("open-files", .ok, "\(machine.openFiles) may be open at once"),
      machine.memory < needed
        ? Finding(
          "memory", .warning, memory,
          hint: "set limits.memory below it: decoders may take "
            + "\(ByteSizeText.format(needed)) where a job does not say less")
        : Finding("memory", .ok, memory),
    ]
  }

  private var now: Timestamp { Timestamp(milliseconds: WallClock.system.milliseconds()) }

  /// No clock that is right is before it: 2025-01-01.
  private static let earliest = Timestamp(milliseconds: 1_735_689_600_000)

  private func clock(_ newest: Timestamp?) -> Finding {
    let hint = "set it, by NTP if possible: expiry is reckoned by it"
    if now < Self.earliest { return Finding("clock", .failed, "it says \(now)", hint: hint) }
    if let newest, now < newest {
      return Finding(
        "clock", .warning, "it says \(now), and a run ended at \(newest)", hint: hint)
    }
    return Finding("clock", .ok, "it says \(now)")
  }
}
