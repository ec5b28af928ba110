import CCurl
import Decompression
import Glibc
import Hashing
import HTTPCaching
import Vocabulary

/// An easy handle and the exchange that it carries at the moment. Lives on the transfer thread, and
/// goes from one exchange to the next with its buffers, its hash and its options.
final class Transfer {
  typealias EasyHandle = UnsafeMutableRawPointer

  enum Phase {
    /// Looking up the name, connecting, shaking hands.
    case connecting
    /// The request has left.
    case waiting
    /// The body goes to the sink.
    case receiving
    /// The body is of no use: all but its first bytes are dropped.
    case dropping
  }

  /// What a callback decided before libcurl reports the end.
  enum Verdict {
    case failed(TransferFault)
    /// Enough was seen of a body that is dropped.
    case enough
    /// A connection opened under another allow list: once more on a new one.
    case wantsOwnConnection
    /// What libcurl was told of the name has been withdrawn since: it has to be looked up once more.
    case lacksAddress
  }

  /// Of bodies that are dropped, so that a small one leaves its connection usable.
  static let droppedBytesLimit = 64 << 10
  static let keptFirstBytes = 64
  /// Asked of a socket at once. libcurl takes and frees a buffer of that size for each exchange: from
  /// 64 KiB on malloc tidies up its small pieces each time, which costs more than the calls it saves.
  static let receiveBytes = 60 << 10

  let easy: EasyHandle
  // Unsafe, as it is asked for its time at each line of a head: the loop owns its transfers and
  // outlives them.
  unowned(unsafe) let loop: TransferLoop

  var exchange: Exchange?
  /// Among the loop's active ones.
  var place = 0
  var phase = Phase.connecting
  var verdict: Verdict?
  var head = ResponseHead()
  var report = ExchangeReport()
  var declaredLength: Int?
  /// Of a body that comes encoded all the same.
  var decoder: (any ContentDecoder)?
  /// So many bytes of the body have to be there before its beginning is noted.
  var notesAt = Int.max
  /// What was there before, once a 206 that fits has come.
  var continued: PartialBody?
  var sink: (any BodySink)?
  var hash = SHA256()
  var hasHashed = false

  /// The exchange's limits, in milliseconds.
  var limits = TimeLimits()
  // On the loop's clock, in milliseconds.
  var startedAt: Int64 = 0
  var lastByteAt: Int64 = 0
  /// The wire's byte count when it was last looked at: it moves even while a decoder holds its output
  /// back.
  var lastWireBytes = 0

  /// The first address that the guard refused, and its kind.
  var refused: (address: NetworkAddress, kind: String)?
  var hasOpenedSocket = false
  var hasOwnConnection = false

  /// The peer's address in libcurl's words and in ours, kept from one exchange to the next: most
  /// go to the same one.
  var peerText: [CChar] = []
  var peer: NetworkAddress?
  /// Under which this peer was let through last.
  var passedGuard: AddressGuard?

  /// Whether libcurl may make an address of what it connects to: where that is one already.
  var isAddress = false
  var route = Route.direct
  /// What a proxy is told to connect to.
  var pinList: UnsafeMutablePointer<curl_slist>?
  /// A file of certificates; nil: the system's store.
  var trusted: String?
  private var nameList: UnsafeMutablePointer<curl_slist>?
  private var origin = OriginURL()
  private var fieldList = FieldList()
  private var toldConnectLimit: Int64 = 0
  private var offersHTTP2 = false
  let errorText: UnsafeMutablePointer<CChar>

  init(loop: TransferLoop) {
    self.loop = loop
    easy = curl_easy_init()!
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    setConstantOptions()
    setCallbacks()
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_slist_free_all(nameList)
    curl_slist_free_all(pinList)
    errorText.deallocate()
  }

  private func setConstantOptions() {
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_PATH_AS_IS, 1)
    set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_PROXY, "")  // else the environment's proxies count,
    set(CURLOPT_NOPROXY, "")  // and its exceptions from ours
    set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    set(CURLOPT_BUFFERSIZE, Self.receiveBytes)
    tw_easy_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
    trust(loop.options.caFile)
  }

  func set(_ option: CURLoption, _ value: Int) { tw_easy_set_long(easy, option, value) }
  func set(_ option: CURLoption, _ value: String?) { tw_easy_set_text(easy, option, value) }

  // MARK: From one exchange to the next

  /// - Parameters:
  ///   - milliseconds: that it has waited for its place.
  ///   - names: what libcurl has to be told of them.
  func begin(
    _ exchange: Exchange, by route: Route, queued milliseconds: Int64, names: [String]
  ) {
    self.exchange = exchange
    report.queued = .milliseconds(milliseconds)
    startedAt = loop.now
    setOwnConnection(false)
    origin.tell(easy, exchange.request.url)
    limits.take(exchange.request)
    if limits.connect != toldConnectLimit {
      toldConnectLimit = limits.connect
      set(CURLOPT_CONNECTTIMEOUT_MS, Int(limits.connect))
    }
    offerHTTP2(exchange.request.url.isSecure)
    listFields(exchange.request.fields)
    if !names.isEmpty { tell(names) }
    follow(route, exchange)
    prepare()
  }

  /// libcurl reads the list once, when the exchange begins.
  private func tell(_ names: [String]) {
    curl_slist_free_all(nameList)
    nameList = names.reduce(nil) { curl_slist_append($0, $1) }
    tw_easy_set_pointer(easy, CURLOPT_RESOLVE, nameList)
  }

  /// Over TLS, and then one connection for many streams, even if the first has to wait for its
  /// handshake. Without TLS it would only make libcurl compare every connection with each request.
  private func offerHTTP2(_ isOffered: Bool) {
    guard isOffered != offersHTTP2 else { return }
    offersHTTP2 = isOffered
    set(CURLOPT_HTTP_VERSION, isOffered ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
    set(CURLOPT_PIPEWAIT, isOffered ? 1 : 0)
  }

  /// For the same exchange: a connection that no other has opened.
  func beginAgainOnOwnConnection() {
    setOwnConnection(true)
    prepare()
  }

  private func setOwnConnection(_ isOwn: Bool) {
    guard isOwn != hasOwnConnection else { return }
    hasOwnConnection = isOwn
    set(CURLOPT_FRESH_CONNECT, isOwn ? 1 : 0)
  }

  private func prepare() {
    phase = .connecting
    verdict = nil
    head.reset()
    declaredLength = nil
    notesAt = .max
    decoder = nil
    continued = nil
    sink = nil
    refused = nil
    hasOpenedSocket = false
    lastByteAt = loop.now
    lastWireBytes = 0
    errorText[0] = 0
    if hasHashed {
      _ = hash.finish()
      hasHashed = false
    }
  }

  private func listFields(_ fields: [HTTPFields.Line]) {
    if fieldList.list(fields) { tw_easy_set_pointer(easy, CURLOPT_HTTPHEADER, fieldList.first) }
  }

  /// Hands out what was seen, and forgets it.
  func takeReport(fault: TransferFault?) -> ExchangeReport {
    report.fault = fault
    if head.isComplete {
      report.status = head.status
      report.fields = HTTPFields(head.lines)
    }
    report.partial = partial(after: fault)
    report.bytesIn = wireBytes + headBytes
    sink = nil
    continued = nil
    exchange = nil
    var taken = ExchangeReport()
    swap(&taken, &report)
    return taken
  }

  /// Of the body so far, before content decoding.
  var wireBytes: Int {
    var count: curl_off_t = 0
    tw_easy_get_size(easy, CURLINFO_SIZE_DOWNLOAD_T, &count)
    return Int(count)
  }

  private var headBytes: Int {
    var count = 0
    tw_easy_get_long(easy, CURLINFO_HEADER_SIZE, &count)
    return count
  }
}

/// An exchange's limits in milliseconds.
struct TimeLimits {
  private(set) var connect: Int64 = 1
  private(set) var idle: Int64 = 1
  private(set) var whole: Int64 = 1
  /// What they were made from, nearly always what the next request has as well.
  private var given = (connect: Duration.zero, idle: Duration.zero, whole: Duration.zero)

  mutating func take(_ request: ExchangeRequest) {
    let next = (request.connectTimeout, request.idleTimeout, request.timeout)
    guard given != next else { return }
    given = next
    connect = given.connect.clampedMilliseconds
    idle = given.idle.clampedMilliseconds
    whole = given.whole.clampedMilliseconds
  }
}

extension Duration {
  /// For the loop and libcurl: at least 1, at most a day.
  var clampedMilliseconds: Int64 { min(max(wholeMilliseconds, 1), 86_400_000) }
}
