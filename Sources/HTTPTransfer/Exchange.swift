import HTTPCaching
import Hashing
import Synchronization
import Threading
import Vocabulary

/// Takes the bytes of one body. Called on the transfer thread only, one call after another; where the
/// connection is lost and the rest comes over another, it goes on with that.
package protocol BodySink: AnyObject, Sendable {
  /// - Parameter bytes: decoded, valid during the call only.
  /// - Throws: what ends the exchange, such as `disk-full`; it is passed on as it is.
  func write(_ bytes: UnsafeRawBufferPointer) throws(FailureRecord)

  /// So much could be gone on with, should the transfer end here. Called now and then for large bodies.
  func note(_ beginning: BodyBeginning)

  /// Leaves the beginning that was noted last to later processes: nobody writes any more.
  func keep()
}

/// A sink that keeps nothing.
extension BodySink {
  package func note(_ beginning: BodyBeginning) {}
  package func keep() {}
}

/// One GET as it goes out, with its limits.
package struct ExchangeRequest: Sendable {
  package var url: ItemURL
  /// Sent as they are, in this order; the transfer adds Host and `Accept-Encoding: identity`.
  package var fields: [HTTPFields.Line]
  package var guarding: AddressGuard
  /// Nil: straight to the origin.
  package var proxy: ProxySettings?
  /// Certificates to trust in place of those that the engine trusts; nil: those.
  package var caFile: String?
  /// For the look-up of the name, and anew for connection and TLS.
  package var connectTimeout: Duration
  /// No byte for this long once connected.
  package var idleTimeout: Duration
  /// From the moment the exchange gets its place on the transfer thread.
  package var timeout: Duration
  /// Of the body after content decoding.
  package var maxBytes: Int
  package var clock: WallClock
  /// What is there already, where `fields` ask for the rest. Only a 206 that fits is added to it; a
  /// body from its beginning gets a sink of its own.
  package var partial: PartialBody?
  /// Called on the transfer thread, once, at the first body byte of a success (2xx but 204, 205 and
  /// 206), or at its end where the body is empty. Other bodies are dropped.
  package var makeSink: @Sendable (_ expected: Int?) throws(FailureRecord) -> any BodySink

  package init(
    url: ItemURL, fields: [HTTPFields.Line] = [], guarding: AddressGuard = AddressGuard(),
    connectTimeout: Duration = .seconds(10), idleTimeout: Duration = .seconds(15),
    timeout: Duration = .seconds(60), maxBytes: Int = 64 << 20, clock: WallClock = .system,
    makeSink: @escaping @Sendable (_ expected: Int?) throws(FailureRecord) -> any BodySink
  ) {
    self.url = url
    self.fields = fields
    self.guarding = guarding
    self.connectTimeout = connectTimeout
    self.idleTimeout = idleTimeout
    self.timeout = timeout
    self.maxBytes = maxBytes
    self.clock = clock
    self.makeSink = makeSink
  }
}

/// A body that came whole.
package struct ReceivedBody: Sendable {
  /// Of the decoded bytes.
  package let digest: Digest
  /// Decoded.
  package let bytes: Int
  package let sink: any BodySink
}

/// What was seen of one exchange, however it ended.
package struct ExchangeReport: Sendable {
  /// Nil: the response came whole.
  package var fault: TransferFault?
  /// Nil where no response's head came.
  package var status: Int?
  package var fields = HTTPFields()
  /// From its arrival at the engine until it got its place on the transfer thread, the look-up of its
  /// name included.
  package var queued: Duration = .zero
  /// That left. More than one where a connection that was kept turned out to be dead: libcurl then asks
  /// once more over another.
  package var requests = 0
  /// When the last one left; nil where none did.
  package var requestTime: Timestamp?
  /// When the response's head had come.
  package var responseTime: Timestamp?
  /// Of the peer that was asked.
  package var address: NetworkAddress?
  /// Of a success that came whole, or of a 206 that completes what was there.
  package var body: ReceivedBody?
  /// Of a body that broke off, where its rest may be asked for.
  package var partial: PartialBody?
  /// The body's first bytes, at most 64: they tell what it is.
  package var firstBytes: [UInt8] = []
  /// Decoded bytes of the body so far, those that were there before included.
  package var bodyBytes = 0
  /// On the wire after TLS, head included.
  package var bytesIn = 0

  package init() {}

  /// Of an exchange that has not begun.
  package init(unstarted fault: TransferFault) { self.fault = fault }
}

/// One exchange on its way: what crosses between a task and the transfer thread.
package final class Exchange: Sendable {
  let request: ExchangeRequest
  let isCancelled = Atomic(false)
  private let atEnd: (@Sendable (consuming ExchangeReport) -> Void)?
  // Written once, before the exchange goes to the transfer thread through its inbox, or to whoever else
  // tells it, by a lock; read there only.
  private nonisolated(unsafe) var waiter: UnsafeContinuation<Void, Never>?
  // Written once, on the transfer thread or instead of posting it, before the waiter is told; taken by
  // the waiter after that.
  private nonisolated(unsafe) var report: ExchangeReport?

  /// - Parameter atEnd: is given the report on the transfer thread, as soon as the exchange has ended: for
  ///   what is not to wait until its task has its turn. Keep it short.
  package init(
    _ request: consuming ExchangeRequest,
    atEnd: (@Sendable (consuming ExchangeReport) -> Void)? = nil
  ) {
    self.request = request
    self.atEnd = atEnd
  }

  /// Before the exchange is started: who resumes after its end.
  // Unsafe is the name of the one without a check: an exchange ends exactly once.
  package func tellAtEnd(_ waiter: UnsafeContinuation<Void, Never>) { self.waiter = waiter }

  /// Exactly once, on the transfer thread, or instead of posting it.
  func end(_ report: consuming ExchangeReport) {
    take(report)
    tellWaiter()
  }

  /// The first half of its end.
  func take(_ report: consuming ExchangeReport) {
    if let atEnd { atEnd(report) } else { self.report = consume report }
  }

  /// The second; also for an exchange that is not to be started after all.
  package func tellWaiter() { waiter?.resume() }

  /// By the waiter, once, where there is no `atEnd`.
  func takeReport() -> ExchangeReport { report.take()! }
}
