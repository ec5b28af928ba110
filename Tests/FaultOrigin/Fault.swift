import TestSupport

/// One path of the fault origin: what it does, and what an item of it must end as.
struct Fault: Sendable {
  enum End: Sendable, Equatable {
    case fetched
    case notStored
    /// With this error code.
    case failed(String)

    /// As `run --json` names it.
    var outcome: String {
      switch self {
      case .fetched: "fetched"
      case .notStored: "not_stored"
      case .failed: "failed"
      }
    }

    var code: String? { if case .failed(let code) = self { code } else { nil } }
  }

  /// Also the item's id, and its path.
  let name: String
  /// In words.
  let does: String
  let end: End
  let respond: @Sendable (OriginServer.Request) -> OriginResponse

  init(
    _ name: String, _ does: String, _ end: End,
    _ respond: @escaping @Sendable (OriginServer.Request) -> OriginResponse
  ) {
    self.name = name
    self.does = does
    self.end = end
    self.respond = respond
  }
}

/// A picture of this origin, another one for each name.
func picture(_ name: String, width: Int = 64) -> [UInt8] {
  let seed = name.utf8.reduce(UInt32(7)) { $0 &* 31 &+ UInt32($1) }
  return PlainPNG.bytes(
    width: width, height: width * 3 / 4, red: UInt8(seed & 255), green: UInt8(seed >> 8 & 255),
    blue: UInt8(seed >> 16 & 255))
}
