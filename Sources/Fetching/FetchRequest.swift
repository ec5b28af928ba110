import HTTPCaching
import HTTPTransfer
import Vocabulary

/// One hop to fetch: its URL, and how.
package struct FetchRequest: Sendable {
  package var url: ItemURL
  /// If-None-Match, If-Modified-Since: sent as they are.
  package var conditions: HTTPFields
  /// Of the host.
  package let manner: RequestManner
  package var settings: NetworkSettings { manner.settings }
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
  /// is given it owns it. Nil where nothing is left.
  package var takeBeginning: (@Sendable () async -> PartialBody?)?
  /// Asked when the host's turn has come and nothing was sent yet, before it waits for that, and of all
  /// who wait at each `Fetcher.sendAway`. If it may not, the turn goes to the next and it ends as
  /// cancelled. It is asked under locks: it is short, and does not come back to the fetcher.
  package var mayBegin: @Sendable () -> Bool = { true }

  package init(
    url: ItemURL, conditions: HTTPFields = HTTPFields(), manner: RequestManner,
    sendsCredentials: Bool, deadline: Duration? = nil,
    makeSink: @escaping @Sendable (_ expected: Int?) throws(FailureRecord) -> any BodySink
  ) {
    self.url = url
    self.conditions = conditions
    self.manner = manner
    self.sendsCredentials = sendsCredentials
    self.deadline = deadline
    self.makeSink = makeSink
  }

  /// For many requests under the same settings keep one `RequestManner`.
  package init(
    url: ItemURL, conditions: HTTPFields = HTTPFields(), settings: NetworkSettings,
    sendsCredentials: Bool, deadline: Duration? = nil,
    makeSink: @escaping @Sendable (_ expected: Int?) throws(FailureRecord) -> any BodySink
  ) {
    self.init(
      url: url, conditions: conditions, manner: RequestManner(settings),
      sendsCredentials: sendsCredentials, deadline: deadline, makeSink: makeSink)
  }
}

/// A complete response, whatever its status.
// One object: it goes through the frames of several tasks' functions, and is large.
package final class FetchedResponse: Sendable {
  /// 200 where a body was put together from its beginning and a 206.
  package let status: Int
  package let fields: HTTPFields
  /// When the request left (RFC 9111 §4.2.3 `request_time`), of the attempt that was answered.
  package let requestTime: Timestamp
  /// When the response's head had come (`response_time`).
  package let responseTime: Timestamp
  /// As sent, for Vary; the values of credentials are replaced by their SHA-256.
  package let requestFields: HTTPFields
  package let hadAuthorization: Bool
  /// Of a success; nil where the status has no body, or one that is of no use.
  package let body: ReceivedBody?
  /// Of a body that was dropped: its first bytes, at most 64.
  package let firstBytes: [UInt8]
  /// The peer that answered.
  package let address: NetworkAddress?
  /// Where the server asked to be left alone until then.
  package let notBefore: Timestamp?
  package let effort: FetchEffort

  package var requests: Int { effort.requests }
  package var bytesIn: Int { effort.bytesIn }

  /// - Parameters:
  ///   - report: of an exchange without fault: it has a head.
  ///   - beginning: the body's beginning, where the exchange has brought its rest.
  init(
    _ report: borrowing ExchangeReport, _ sent: RequestFields, completing beginning: PartialBody?,
    effort: FetchEffort
  ) {
    if let beginning, report.status == 206, report.body != nil {
      status = 200
      fields = beginning.fields.completed(by: report.fields)
    } else {
      status = report.status!
      fields = report.fields
    }
    requestTime = report.requestTime!
    responseTime = report.responseTime!
    requestFields = sent.kept
    hadAuthorization = sent.hasAuthorization
    body = report.body
    firstBytes = report.firstBytes
    address = report.address
    notBefore = nil
    self.effort = effort
  }

  /// The same, of a server that has asked to be left alone until then.
  init(_ response: FetchedResponse, notBefore: Timestamp, effort: FetchEffort) {
    status = response.status
    fields = response.fields
    requestTime = response.requestTime
    responseTime = response.responseTime
    requestFields = response.requestFields
    hadAuthorization = response.hadAuthorization
    body = response.body
    firstBytes = response.firstBytes
    address = response.address
    self.notBefore = notBefore
    self.effort = effort
  }
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
