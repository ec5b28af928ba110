import Vocabulary

extension CachingFields {
  /// How old a response was when it came, in milliseconds, 0 or more.
  ///
  /// Apparent age holds only between synchronised clocks, says the RFC. So it counts where an Age
  /// field tells that the response lay in a cache. Without one, every cache that keeps to HTTP/1.1
  /// has just asked the origin, and a Date of two hours ago tells of the origin's clock: such an
  /// origin's `Expires` of a minute ahead would never be fresh.
  ///
  /// - Source: RFC 9111 §4.2.3; its names are kept.
  func correctedInitialAge(requestTime: Int64, responseTime: Int64) -> Int64 {
    let responseDelay = max(0, responseTime - requestTime)
    guard let age else { return responseDelay }
    let ageValue = age * 1000
    let correctedAgeValue = ageValue + responseDelay
    guard let dateValue = date else { return correctedAgeValue }
    let apparentAge = max(0, responseTime - dateValue)
    return max(apparentAge, correctedAgeValue)
  }
}
