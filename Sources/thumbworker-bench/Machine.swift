import FoundationEssentials
import Glibc

/// What the figures were measured on.
enum Machine {
  static var load: Double {
    var averages = [0.0]
    return getloadavg(&averages, 1) == 1 ? averages[0] : 0
  }

  static var cores: Int { ProcessInfo.processInfo.activeProcessorCount }

  static var processor: String {
    let lines = text(of: "/proc/cpuinfo").split(separator: "\n")
    let line = lines.first { $0.hasPrefix("model name") }
    return line?.split(separator: ":").last.map { $0.drop { $0 == " " } }.map(String.init)
      ?? "unknown"
  }

  static var kernel: String {
    String(text(of: "/proc/sys/kernel/osrelease").prefix { $0 != "\n" })
  }

  private static func text(of path: String) -> String {
    // A machine that does not say stays unknown.
    (try? contents(of: path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}
