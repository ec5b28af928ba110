import HTTPCaching
import HTTPTransfer
import Vocabulary

/// One hop to fetch: its URL, and how.
package struct FetchRequest: Sendable {
  package var url: ItemURL
  /// If-None-Match, If-Modified-Since: sent as they are.
  package var conditions: HTTPFields
  /// Resolved for the host already.
  package var settings: NetworkSettings
  /// Whether `settings.headers` that are credentials go along: to the item's own origin only.
  package var sendsCredentials: Bool
  /// Of the whole chain of redirects, on the sleeper's clock; nil: `settings.timeout` from now.
  ///
  /// Time spent waiting for the host's turn, for its Retry-After, for a backoff or for a place in the
  /// engine does not count: it is added, and told as `waited`, so that the next hop's deadline can be
  /// moved as well.
  package var deadline: Duration?
  /// Called on the transfer thread, for each body anew, at the first byte of a 200 or another 2xx but
  /// 204, 205 and 206; at its end where it is empty. A body that is completed by its rest over another
  /// connection stays in its sink. Keep it short.
  package var makeSink: @Sendable (_ expected: Int?) throws(FailureRecord) -> any BodySink
  /// What an earlier process has left of this body, asked for once, before the first attempt; whoever
  /// is given it owns it.
  package var takeBeginning: @Sendable () async -> PartialBody? = { nil }
  /// Asked when the host's turn has come and nothing was sent yet. If it may not, the turn goes to the
  /// next and it ends as cancelled.
  package var mayBegin: @Sendable () -> Bool = { true }

  package init(
    url: ItemURL, conditions: HTTPFields = HTTPFields(), settings: NetworkSettings,
    sendsCredentials: Bool, deadline: Duration? = nil,
    makeSink: @escaping @Sendable (_ expected: Int?) throws(FailureRecord) -> any BodySink
  ) {
    self.url = url
    self.conditions = conditions
    self.settings = settings
    self.sendsCredentials = sendsCredentials
    self.deadline = deadline
    self.makeSink = makeSink
  }
}

/// A complete response, whatever its status.
package struct FetchedResponse: Sendable {
  /// 200 where a body was put together from its beginning and a 206.
  package var status: Int
  package var fields: HTTPFields
  /// When the request left (RFC 9111 §4.2.3 `request_time`), of the attempt that was answered.
  package var requestTime: Timestamp
  /// When the response's head had come (`response_time`).
  package var responseTime: Timestamp
  /// As sent, for Vary; the values of credentials are replaced by their SHA-256.
  package var requestFields: HTTPFields
  package var hadAuthorization: Bool
  /// Of a success; nil where the status has no body, or one that is of no use.
  package var body: ReceivedBody?
  /// Of a body that was dropped: its first bytes, at most 64.
  package var firstBytes: [UInt8]
  /// The peer that answered.
  package var address: NetworkAddress?
  /// Where the server asked to be left alone until then.
  package var notBefore: Timestamp?
  package var effort: FetchEffort

  package var requests: Int { effort.requests }
  package var bytesIn: Int { effort.bytesIn }
}

/// What one hop has cost, failed attempts included.
package struct FetchEffort: Sendable, Hashable {
  /// Tries, whether or not their request got as far as the wire.
  package var attempts = 0
  /// Requests that left.
  package var requests = 0
  /// Received on the wire after TLS, heads included.
  package var bytesIn = 0
  /// Spent waiting for the host's turn, for Retry-After, for backoff and for a place in the engine.
  package var waited: Duration = .zero

  package init() {}
}
