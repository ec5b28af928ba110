import Vocabulary

/// One job's cache settings, ready to judge many responses by.
package struct FreshnessRules: Sendable, Hashable {
  package let settings: CacheSettings
  let defaultTTL: Int64
  let minTTL: Int64
  let maxTTL: Int64
  let staleIfError: Int64

  package init(_ settings: CacheSettings) {
    self.settings = settings
    defaultTTL = settings.defaultTTL.settingMilliseconds
    minTTL = settings.minTTL.settingMilliseconds
    maxTTL = settings.maxTTL?.settingMilliseconds ?? DurationText.never.wholeMilliseconds
    staleIfError = settings.staleIfError.settingMilliseconds
  }

  /// The directives that govern a response for this job, and where they stand.
  struct Governing {
    var control: CacheControl
    var expires: CachingFields.SingleDate
    /// The targeted field that stands in for Cache-Control and Expires; nil where none does.
    var target: String?
  }

  /// The first of the job's targeted fields that is there and valid, else Cache-Control and Expires.
  ///
  /// - Source: RFC 9213 §2.1. Only `rfc9111` knows targeted fields.
  func governing(_ fields: HTTPFields, read: CachingFields) -> Governing {
    if settings.policy == .rfc9111 {
      for target in settings.targets {
        if let control = CacheControl(targeted: fields[target]) {
          return Governing(control: control, expires: .absent, target: target)
        }
      }
    }
    return Governing(control: read.cacheControl, expires: read.expires, target: nil)
  }
}

extension Duration {
  /// A setting as milliseconds: not below zero, not above `never`, so that sums cannot overflow.
  fileprivate var settingMilliseconds: Int64 {
    min(max(wholeMilliseconds, 0), DurationText.never.wholeMilliseconds)
  }
}
