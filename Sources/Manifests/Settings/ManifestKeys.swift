/// Every key that a manifest may hold, object by object, in the order in which the contract has them.
/// The JSON Schema names the same ones; a test compares the two.
enum ManifestKeys {
  static let document = [
    "$schema", "version", "name", "network", "cache", "hosts", "limits", "variants", "publish",
    "fallback", "items", "sources",
  ]
  static let network = [
    "concurrency", "perHost", "ratePerHost", "connectTimeout", "idleTimeout", "timeout",
    "maxBytes", "maxRedirects", "attempts", "backoff", "allow", "headers", "userAgent", "proxy",
    "caFile",
  ]
  static let backoff = ["initial", "max"]
  static let cache = [
    "policy", "shared", "defaultTTL", "minTTL", "maxTTL", "negativeTTL", "targets", "staleIfError",
  ]
  static let host = ["match", "network", "cache"]
  static let limits = ["maxPixels", "maxFrames", "decodeTimeout", "memory", "formats"]
  static let variant = [
    "name", "width", "height", "fit", "position", "enlarge", "format", "quality", "effort",
    "background", "dpr", "metadata", "animation", "maxBytes",
  ]
  static let publish = ["path", "original", "prune", "withdraw"]
  static let item = ["id", "url", "variants", "meta"]
}
