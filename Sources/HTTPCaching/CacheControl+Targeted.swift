extension CacheControl {
  /// Reads a targeted field such as CDN-Cache-Control: a structured dictionary, strictly.
  ///
  /// - Parameter lines: the values of the field's lines, in order.
  /// - Returns: nil where the field is to be passed over: it is missing or empty, it does not parse,
  ///   or a directive that we know has a value of another type than its own.
  /// - Source: RFC 9213 §2.1 and §2.2.
  package init?(targeted lines: [String]) {
    guard !lines.isEmpty, let dictionary = StructuredDictionary(lines), !dictionary.members.isEmpty
    else { return nil }
    self.init()
    for (directive, value) in dictionary.members {
      guard set(directive, to: value) else { return nil }
    }
  }

  /// False where the directive has a value of a wrong type.
  private mutating func set(_ directive: String, to value: StructuredDictionary.Value) -> Bool {
    switch directive {
    case "max-age": set(\.maxAge, to: value)
    case "s-maxage": set(\.sMaxAge, to: value)
    case "stale-if-error": set(\.staleIfError, to: value)
    case "stale-while-revalidate": set(\.staleWhileRevalidate, to: value)
    case "no-store": set(.noStore, to: value)
    case "no-cache": set(.noCache, to: value, takesFieldNames: true)
    case "private": set(.isPrivate, to: value, takesFieldNames: true)
    case "public": set(.isPublic, to: value)
    case "must-revalidate": set(.mustRevalidate, to: value)
    case "proxy-revalidate": set(.proxyRevalidate, to: value)
    case "must-understand": set(.mustUnderstand, to: value)
    case "immutable": set(.immutable, to: value)
    default: true
    }
  }

  private mutating func set(
    _ directive: WritableKeyPath<CacheControl, Seconds>, to value: StructuredDictionary.Value
  ) -> Bool {
    guard case .integer(let seconds) = value else { return false }
    self[keyPath: directive] = seconds < 0 ? .invalid : .value(min(seconds, deltaSecondsCeiling))
    return true
  }

  private mutating func set(
    _ flag: Flags, to value: StructuredDictionary.Value, takesFieldNames: Bool = false
  ) -> Bool {
    switch value {
    case .boolean(true): flags.insert(flag)
    case .boolean(false): break
    case .string where takesFieldNames, .token where takesFieldNames: flags.insert(flag)
    default: return false
    }
    return true
  }
}
