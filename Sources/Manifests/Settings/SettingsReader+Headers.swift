import Vocabulary

extension SettingsReader {
  /// Headers with their variables filled in, in the order of their names. No message shows a value:
  /// it may be a secret.
  func headers(_ network: ObjectReader) -> [NetworkSettings.Header] {
    let place = network.place["headers"]
    guard case .object(let members)? = network.value("headers") else {
      problems.add(place, "must be an object, not \(network.value("headers")!.kind)")
      return []
    }
    var names: Set<String> = []
    let headers = members.compactMap { member -> NetworkSettings.Header? in
      let place = place[member.key]
      guard HeaderRules.isName(member.key) else {
        problems.add(place, "is no header's name")
        return nil
      }
      guard names.insert(member.key.lowercased()).inserted else {
        problems.add(place, "given twice: header names have no case")
        return nil
      }
      guard !HeaderRules.ours.contains(member.key.lowercased()) else {
        problems.add(
          place,
          member.key.lowercased() == "user-agent"
            ? "set network.userAgent instead" : "is set by thumbworker itself")
        return nil
      }
      guard case .string(let text) = member.value else {
        problems.add(place, "must be a string, not \(member.value.kind)")
        return nil
      }
      return value(text, of: member.key, at: place).map { .init(name: member.key, value: $0) }
    }
    return headers.sorted { $0.name < $1.name }
  }

  private func value(_ text: String, of name: String, at place: Place) -> String? {
    guard let template = HeaderTemplate(text) else {
      problems.add(place, "holds a \"${\" that is no ${NAME}")
      return nil
    }
    guard template.hasVariable || !NetworkSettings.Header.isCredential(name: name) else {
      let variable = suggestedVariable(for: name)
      problems.add(
        place,
        "a credential does not belong in a manifest: write ${\(variable)} in its place and set "
          + "\(variable) in the environment")
      return nil
    }
    let value = filledIn(template, at: place)
    guard let value, value.utf8.allSatisfy(HeaderRules.isValueByte) else {
      if value != nil { problems.add(place, "must not hold control characters") }
      return nil
    }
    return value
  }

  /// - Returns: nil where a variable is not set; that has been noted.
  func filledIn(_ template: HeaderTemplate, at place: Place) -> String? {
    var text = ""
    var isComplete = true
    for part in template.parts {
      switch part {
      case .literal(let literal): text += literal
      case .variable(let name):
        if let value = environment[String(name)], !value.isEmpty {
          text += value
        } else if let standIn {
          text += standIn
        } else {
          problems.add(place, "the environment variable \(name) is not set or is empty")
          isComplete = false
        }
      }
    }
    return isComplete ? text : nil
  }

  /// `X-Api-Key` → `X_API_KEY`.
  private func suggestedVariable(for header: String) -> String {
    String(header.uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
  }
}
