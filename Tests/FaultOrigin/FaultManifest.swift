/// The manifest that asks a fault origin for everything it can do.
///
/// Each item says in its `meta` what it must end as. Each has a host name of its own, below localhost, so
/// that one path's faults are not held against the next.
struct FaultManifest {
  let faults: [Fault]
  let port: UInt16

  func url(_ fault: Fault) -> String { "http://\(fault.name).localhost:\(port)/\(fault.name)" }

  var text: String {
    let items = faults.map { fault in
      let code = fault.end.code.map { ", \"error\": \"\($0)\"" } ?? ""
      return """
            {"id": "\(fault.name)", "url": "\(url(fault))",
             "meta": {"does": "\(fault.does)", "outcome": "\(fault.end.outcome)"\(code)}}
        """
    }
    return """
      {
        "version": 1,
        "name": "faults",
        "network": {
          "allow": ["127.0.0.0/8"], "concurrency": 64,
          "connectTimeout": "3s", "idleTimeout": "2s", "timeout": "5s",
          "attempts": 2, "backoff": {"initial": "50ms", "max": "100ms"},
          "maxBytes": "2MiB"
        },
        "variants": [{"name": "thumb", "width": 32}],
        "items": [
      \(items.joined(separator: ",\n"))
        ]
      }
      """
  }

  /// What `/` shows.
  var page: String {
    let width = faults.map(\.name.utf8.count).max() ?? 0
    let lines = faults.map { fault in
      let blanks = String(repeating: " ", count: width - fault.name.utf8.count + 2)
      let end = fault.end.code ?? fault.end.outcome
      return "/\(fault.name)\(blanks)\(fault.does): \(end)"
    }
    return "An origin with every fault; /manifest.json asks for each of them.\n\n"
      + lines.joined(separator: "\n") + "\n"
  }
}
