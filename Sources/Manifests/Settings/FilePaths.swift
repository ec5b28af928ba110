import Glibc

/// Paths of files that a manifest names: relative to its folder there, absolute everywhere else.
enum FilePaths {
  static func absolute(_ path: String, from folder: String) -> String {
    path.hasPrefix("/") ? path : "\(folder == "/" ? "" : folder)/\(path)"
  }

  /// From the working folder.
  static func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    guard let here = getcwd(nil, 0) else { return "/\(path)" }
    defer { free(here) }
    return path.isEmpty ? String(cString: here) : absolute(path, from: String(cString: here))
  }
}

extension JSONValue {
  /// A manifest's head whose `caFile`s are absolute: who reads it back may stand elsewhere.
  func withAbsolutePaths(from folder: String) -> JSONValue {
    mappingMembers { key, value in
      switch (key, value) {
      case ("network", _): value.withAbsoluteCAFile(from: folder)
      case ("hosts", .array(let hosts)):
        .array(
          hosts.map { host in
            host.mappingMembers { key, value in
              key == "network" ? value.withAbsoluteCAFile(from: folder) : value
            }
          })
      default: value
      }
    }
  }

  private func withAbsoluteCAFile(from folder: String) -> JSONValue {
    mappingMembers { key, value in
      guard key == "caFile", case .string(let path) = value else { return value }
      return .string(FilePaths.absolute(path, from: folder))
    }
  }

  private func mappingMembers(_ change: (String, JSONValue) -> JSONValue) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(members.map { Member(key: $0.key, value: change($0.key, $0.value)) })
  }
}
