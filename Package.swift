// swift-tools-version: 6.0
import PackageDescription

// Arrows point downwards only: entry, flow, stages, ground, C. `Sources/README.md` draws them.

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

func module(
  _ name: String, _ dependencies: [Target.Dependency] = [], path: String? = nil
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: path ?? "Sources/\(name)",
    swiftSettings: strict)
}

/// - Parameter exports: functions of C that the libraries that are loaded are to find in the program.
func program(
  _ name: String, _ dependencies: [Target.Dependency], exports: [String] = []
) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Sources/\(name)", swiftSettings: strict,
    linkerSettings: exports.isEmpty
      ? [] : [.unsafeFlags(exports.flatMap { ["-Xlinker", "--export-dynamic-symbol=\($0)"] })])
}

func shim(_ name: String, pkgConfig: String? = nil) -> Target {
  .systemLibrary(name: name, path: "Sources/CShims/\(name)", pkgConfig: pkgConfig)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["TestSupport"], path: "Tests/\(name)",
    resources: resources, swiftSettings: strict)
}

let package = Package(
  name: "thumbworker",
  products: [
    .executable(name: "thumbworker", targets: ["thumbworker"]),
    .executable(name: "thumbdecoder", targets: ["thumbdecoder"]),
    .executable(name: "thumbworker-bench", targets: ["thumbworker-bench"]),
  ],
  targets: [
    // C: each imported by exactly one Swift target
    shim("CCrypto", pkgConfig: "libcrypto"),
    shim("CCoding"),
    shim("CExpat", pkgConfig: "expat"),
    shim("CCurl", pkgConfig: "libcurl"),
    shim("CSQLite", pkgConfig: "sqlite3"),
    shim("CSeccomp", pkgConfig: "libseccomp"),
    // gobject's flags are all that vips.h needs; those of libvips add -pthread, which SwiftPM
    // refuses with a warning.
    shim("CVips", pkgConfig: "gobject-2.0"),
    shim("CYajl", pkgConfig: "yajl"),
    shim("CFiles"),
    shim("CJPEG"),
    shim("CResample"),
    shim("CUnix"),
    shim("CThreadName"),

    // ground: no C library, no files, no network
    module("Vocabulary"),
    module("HTTPCaching", ["Vocabulary"]),
    module("Threading", ["CThreadName"]),

    // what stages stand on
    module("Decompression", ["CCoding"]),
    module("Hashing", ["CCrypto", "Vocabulary"]),
    module("DecoderWire", ["CUnix", "Vocabulary"]),
    module("LedgerCore", ["HTTPCaching", "Vocabulary"]),
    module(
      "HTTPTransfer",
      ["CCurl", "Decompression", "HTTPCaching", "Hashing", "Threading", "Vocabulary"]),

    // stages
    module("Manifests", ["CExpat", "CYajl", "Decompression", "Hashing", "Vocabulary"]),
    module(
      "Fetching", ["HTTPCaching", "HTTPTransfer", "Hashing", "Threading", "Vocabulary"]),
    module("Storage", ["CFiles", "Hashing", "Threading", "Vocabulary"]),
    module(
      "LedgerSQLite",
      ["CSQLite", "HTTPCaching", "Hashing", "LedgerCore", "Threading", "Vocabulary"]),
    module("DecoderPool", ["DecoderWire", "Threading", "Vocabulary"]),

    // flow
    module(
      "Pipeline",
      [
        "DecoderPool", "Fetching", "HTTPCaching", "HTTPTransfer", "Hashing", "LedgerCore",
        "Manifests", "Storage", "Threading", "Vocabulary",
      ]),
    module("Reporting", ["HTTPCaching", "LedgerCore", "Pipeline", "Vocabulary"]),

    // the confined process
    module("Imaging", ["CJPEG", "CResample", "CVips", "Vocabulary"]),
    program(
      "thumbdecoder", ["CSeccomp", "DecoderWire", "Imaging", "Vocabulary"],
      exports: ["access", "open", "open64"]),

    // entry
    module(
      "Commands",
      [
        "DecoderPool", "Fetching", "HTTPCaching", "HTTPTransfer", "Hashing", "LedgerCore",
        "LedgerSQLite", "Manifests", "Pipeline", "Reporting", "Storage", "Threading", "Vocabulary",
      ]),
    program("thumbworker", ["Commands", "Threading"]),

    // figures: how fast each stage is
    program(
      "thumbworker-bench",
      [
        "DecoderPool", "Fetching", "HTTPCaching", "HTTPTransfer", "Hashing", "LedgerCore",
        "LedgerSQLite", "Manifests", "Storage", "Threading", "Vocabulary",
      ]),

    // tests
    .target(
      name: "TestSupport", dependencies: ["Threading", "Vocabulary"], path: "Tests/TestSupport",
      swiftSettings: strict),
    // plays the other program that opens, locks or breaks a ledger's file
    .target(
      name: "ForeignSQLite", dependencies: ["CSQLite"], path: "Tests/ForeignSQLite",
      swiftSettings: strict),
    .executableTarget(
      name: "fault-origin", dependencies: ["TestSupport"], path: "Tests/FaultOrigin",
      swiftSettings: strict),
    tests("VocabularyTests", ["Vocabulary"]),
    tests("HTTPCachingTests", ["HTTPCaching", "Vocabulary"]),
    tests("ManifestsTests", ["Hashing", "Manifests", "Vocabulary"]),
    tests(
      "FetchingTests",
      [
        "Decompression", "Fetching", "HTTPCaching", "HTTPTransfer", "Hashing", "Threading",
        "Vocabulary",
      ]),
    tests("StorageTests", ["Hashing", "Storage", "Threading", "Vocabulary"]),
    tests(
      "LedgerTests",
      [
        "ForeignSQLite", "HTTPCaching", "Hashing", "LedgerCore", "LedgerSQLite", "Threading",
        "Vocabulary",
      ]),
    tests(
      "DecodingTests",
      ["CVips", "DecoderPool", "DecoderWire", "Imaging", "Threading", "Vocabulary"]),
    tests(
      "PipelineTests",
      [
        "DecoderPool", "Fetching", "HTTPCaching", "HTTPTransfer", "Hashing", "LedgerCore",
        "LedgerSQLite", "Manifests", "Pipeline", "Storage", "Threading", "Vocabulary",
      ]),
    tests("EndToEndTests", ["ForeignSQLite", "Threading", "Vocabulary"]),
  ]
)
