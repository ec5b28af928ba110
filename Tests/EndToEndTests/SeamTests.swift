#if DEBUG
  import ForeignSQLite
  import Foundation
  import Glibc
  import TestSupport
  import Testing
  import Threading

  /// Every place between two steps at which a worker may die, and what it was at.
  @Suite struct `A worker that dies at a seam` {
    enum Work: String, Sendable {
      /// The first run of a job on a root that is not there.
      case firstRun = "a first run"
      /// A run in which every picture has changed.
      case change = "a run that replaces all"
      case purge, repair, collection = "gc"
    }

    struct Row: CustomTestStringConvertible, Sendable {
      var seam: CrashSeam
      /// How often the seam is come to until it dies there.
      var time = 1
      var work = Work.firstRun

      var testDescription: String { "\(work.rawValue), \(seam.rawValue) \(time)" }
    }

    static let rows = [
      Row(seam: .migrationWritten, time: 5), Row(seam: .migrationCommitted, time: 4),
      Row(seam: .storeChecked), Row(seam: .itemsEntered), Row(seam: .bodyReceived, time: 2),
      Row(seam: .variantsRendered, time: 2), Row(seam: .bytesSynced), Row(seam: .objectNamed),
      Row(seam: .objectNamed, time: 4), Row(seam: .objectsDurable, time: 2),
      Row(seam: .settlementWritten), Row(seam: .settlementCommitted), Row(seam: .namePublished),
      Row(seam: .namesDurable), Row(seam: .settlementCommitted, work: .change),
      Row(seam: .linkPrepared, time: 2, work: .change), Row(seam: .namesDurable, work: .change),
      Row(seam: .entriesForgotten, work: .purge), Row(seam: .objectsLetGo, work: .purge),
      Row(seam: .entriesForgotten, work: .collection),
      Row(seam: .objectsRemoved, work: .collection), Row(seam: .objectPutAside, work: .repair),
      Row(seam: .namesDurable, work: .repair),
    ]

    @Test func `has a row for each seam`() {
      #expect(Set(Self.rows.map(\.seam)) == Set(CrashSeam.allCases))
    }

    @Test(arguments: rows)
    func `loses nothing and repeats nothing but what was under way`(_ row: Row) async throws {
      let house = try CrashHouse()
      try await house.prepare(row.work)
      let arguments = house.command(row.work)
      let died = try await house.thumbworker(
        arguments, ["THUMBWORKER_CRASH_AT": "\(row.seam.rawValue):\(row.time)"])
      #expect(died.status == 137, "the seam was not come to: \(died.output)\(died.errors)")
      let asked = house.origin.requests.count
      let left = try house.itemsToAsk(after: row.work)

      if row.work != .firstRun, row.work != .change {
        let again = try await house.thumbworker(arguments)
        #expect(again.status == 0, "\(again.errors)")
      }
      if row.work == .repair {
        let page = house.scenario.publishedPaths.filter { $0.hasSuffix("/a.jpg") }
        #expect(page == ["thumb/a.jpg"], "a damaged picture is not served")
      }
      let next = try await house.run()
      #expect(next.status == 0 && next.outcomes.values.reduce(0, +) == house.items.count)
      #expect(house.origin.requests.count - asked == left, "\(next.output)")
      try await house.expectAllWell()
    }
  }

  /// A job of a few pictures with two variants each.
  private final class CrashHouse {
    var scenario = Scenario()
    let origin: OriginServer
    private let generation = Script(0)
    private(set) var items = ["a", "b", "c"]

    init() throws {
      let generation = generation
      origin = try OriginServer.start { request in
        let name = request.path.utf8.reduce(0) { $0 &+ $1 }
        // The first generation is stale at once, so that the next run asks for its pictures again.
        let lifetime = generation.now == 0 ? 0 : 86_400
        return .ok(
          PlainPNG.bytes(red: name, green: UInt8(generation.now)),
          [("Cache-Control", "max-age=\(lifetime)")])
      }
      scenario.settings["variants"] = [
        ["name": "thumb", "width": 16], ["name": "page", "width": 32],
      ]
    }

    deinit { origin.stop() }

    private var manifest: String {
      get throws { try scenario.manifest(items.map { ["id": $0, "url": origin.url("/\($0)")] }) }
    }

    func prepare(_ work: `A worker that dies at a seam`.Work) async throws {
      if work != .change { generation.now = 1 }
      guard work != .firstRun else { return }
      #expect(try await run().nonzero == ["fetched": 3])
      generation.now = 1
      switch work {
      case .collection:
        items.removeLast()
        #expect(try await run().nonzero == ["fresh": 2])
      case .repair:
        let made = try await scenario.show("a")["variants"] as? [[String: Any]]
        let page = try #require(made?.first { $0["name"] as? String == "page" })
        try scenario.damage(try #require(page["sha256"] as? String))
      default: break
      }
    }

    /// The command that is to die, and that is given once more afterwards.
    func command(_ work: `A worker that dies at a seam`.Work) -> [String] {
      switch work {
      // Its leases are not to be waited for.
      case .firstRun, .change:
        ["run", (try? manifest) ?? "", "--json", "--workers", "1", "--lease", "200ms"]
      case .purge: ["purge", origin.url("/a")]
      case .repair: ["verify", "--repair"]
      case .collection: ["gc", "--max-age", "0s"]
      }
    }

    func thumbworker(
      _ arguments: [String], _ environment: [String: String] = [:]
    ) async throws -> ProgramRun.Result {
      try await ProgramRun(
        "thumbworker", arguments + ["--root", scenario.root], in: scenario.folder.path,
        environment: environment
      ).result()
    }

    func run() async throws -> ProgramRun.Result { try await scenario.run(try manifest) }

    /// How many items are to be asked for after the crash, by what the ledger has on disk.
    func itemsToAsk(after work: `A worker that dies at a seam`.Work) throws -> Int {
      switch work {
      case .purge: return 1
      case .collection, .repair: return 0
      case .firstRun, .change: break
      }
      // Of a copy: whoever opens the ledger mends what the crash has left.
      let copy = LedgerFolder()
      for name in ["ledger.sqlite", "ledger.sqlite-wal"] {
        if let bytes = StorageTemporaryFolder.bytes(of: "\(scenario.root)/\(name)") {
          copy.write(bytes, to: name)
        }
      }
      let settled = try? ForeignProgram(copy.file("ledger.sqlite")).count(
        "items", where: "run > 0 AND run = (SELECT max(number) FROM runs)")
      return items.count - (settled ?? 0)
    }

    func expectAllWell() async throws {
      let expected = items.flatMap { item in ["page", "thumb"].map { "\($0)/\(item).jpg" } }
      #expect(scenario.publishedPaths == expected.sorted())
      #expect(try await run().nonzero == ["fresh": items.count])
      let verified = try await thumbworker(["verify", "--json"])
      #expect(verified.status == 0 && verified.json["strangers"] as? Int == 0, "\(verified.output)")
      let collected = try await thumbworker(["gc", "--json"])
      let objects = collected.json["objects"] as? [String: Int]
      #expect(objects?["count"] == scenario.objectCount, "\(collected.output)")
      // Who ends well may leave its folder there, empty.
      let temporary = scenario.root + "/tmp"
      let left = StorageTemporaryFolder.names(in: temporary).flatMap {
        StorageTemporaryFolder.names(in: "\(temporary)/\($0)")
      }
      #expect(left.isEmpty)
    }
  }
#endif
