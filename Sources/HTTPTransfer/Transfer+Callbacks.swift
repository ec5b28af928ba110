import CCurl
import Decompression
import Glibc
import Hashing
import HTTPCaching
import Threading
import Vocabulary

/// What libcurl calls while it works, always on the transfer thread.
extension Transfer {
  func setCallbacks() {
    let me = Unmanaged.passUnretained(self).toOpaque()
    tw_easy_set_pointer(easy, CURLOPT_PRIVATE, me)

    tw_easy_set_pointer(easy, CURLOPT_OPENSOCKETDATA, me)
    tw_easy_set_open_socket(easy) { me, _, address in
      Transfer.of(me).openSocket(address!)
    }
    // Connections outlive the exchange that opened them: the loop closes them, not the transfer.
    tw_easy_set_pointer(
      easy, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(loop).toOpaque())
    tw_easy_set_close_socket(easy) { loop, socket in
      TransferLoop.of(loop).sockets.close(socket)
      return 0
    }
    tw_easy_set_pointer(easy, CURLOPT_RESOLVER_START_DATA, me)
    tw_easy_set_before_look_up(easy) { _, _, me in Transfer.of(me).mayLookUp ? 0 : 1 }
    tw_easy_set_pointer(easy, CURLOPT_PREREQDATA, me)
    tw_easy_set_before_request(easy) { me, peer, _, _, _ in
      Transfer.of(me).mayAsk(peer!) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
    tw_easy_set_pointer(easy, CURLOPT_HEADERDATA, me)
    tw_easy_set_write(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, me in
      let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
      return Transfer.of(me).takeHeadLine(line) ? line.count : 0
    }
    tw_easy_set_pointer(easy, CURLOPT_WRITEDATA, me)
    tw_easy_set_write(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, me in
      let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
      return Transfer.of(me).takeBody(piece) ? piece.count : 0
    }
  }

  static func of(_ pointer: UnsafeMutableRawPointer?) -> Transfer {
    Unmanaged<Transfer>.fromOpaque(pointer!).takeUnretainedValue()
  }

  // MARK: Connecting

  /// libcurl is about to look up what it has not been told of. For a name it would ask the system past all
  /// our limits, and hold this thread until that answers should the exchange end before.
  private var mayLookUp: Bool {
    if !isAddress { verdict = .lacksAddress }
    return isAddress
  }

  /// - Returns: the socket, or -1, which makes libcurl try the host's next address.
  private func openSocket(_ target: UnsafeMutablePointer<curl_sockaddr>) -> CInt {
    loop.hasNewSockets = true
    guard let exchange, let address = NetworkAddress(target) else { return -1 }
    if let kind = exchange.request.guarding.refusal(of: address) {
      if refused == nil { refused = (address, kind) }
      return -1
    }
    let type = target.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue)
    let socket = Glibc.socket(target.pointee.family, type, target.pointee.protocol)
    guard socket >= 0 else { return -1 }
    hasOpenedSocket = true
    loop.sockets.opened(socket)
    return socket
  }

  /// The guard's second look: a connection that is reused was checked under the allow list of whoever
  /// opened it, and the socket callback is not asked again.
  private func mayAsk(_ peerText: UnsafeMutablePointer<CChar>) -> Bool {
    guard let exchange else { return false }
    notePeer(peerText)
    guard let peer else {
      verdict = .failed(.connection("the peer's address is unknown"))
      return false
    }
    if passedGuard != exchange.request.guarding {
      if let kind = exchange.request.guarding.refusal(of: peer) {
        verdict = hasOwnConnection ? .failed(blockedFault(peer, kind)) : .wantsOwnConnection
        return false
      }
      passedGuard = exchange.request.guarding
    }
    // libcurl repeats a request on other kept connections where one after the other has gone: once is
    // enough, on a new one.
    guard report.requests == 0 || hasOpenedSocket else {
      verdict = .wantsOwnConnection
      return false
    }
    report.address = route.proxy == nil ? peer : route.pinned
    report.requests += 1
    report.requestTime = Timestamp(milliseconds: exchange.request.clock.milliseconds())
    phase = .waiting
    lastByteAt = loop.now
    loop.note(deadline: deadline)
    return true
  }

  private func notePeer(_ text: UnsafeMutablePointer<CChar>) {
    let isKnown = peerText.withUnsafeBufferPointer { known in
      known.count > 0 && strcmp(known.baseAddress!, text) == 0
    }
    guard !isKnown else { return }
    passedGuard = nil
    peerText = Array(UnsafeBufferPointer(start: text, count: strlen(text) + 1))
    let name = String(cString: text)
    // A link-local peer carries its zone.
    peer = NetworkAddress(name.prefix { $0 != "%" })
  }

  // MARK: Receiving

  private func takeHeadLine(_ line: UnsafeRawBufferPointer) -> Bool {
    lastByteAt = loop.now
    switch head.take(line) {
    case .more: return true
    case .nonsense(let why): return fail(.nonsense(why))
    case .complete: return takeWholeHead()
    }
  }

  private func takeWholeHead() -> Bool {
    if let clock = exchange?.request.clock {
      report.responseTime = Timestamp(milliseconds: clock.milliseconds())
    }
    let partial = head.status == 206 ? exchange?.request.partial : nil
    guard head.hasWantedBody || partial != nil else {
      phase = .dropping
      return true
    }
    phase = .receiving
    do throws(TransferFault) {
      let frame = try BodyFrame(head.lines)
      declaredLength = frame.length
      decoder = frame.coding?.decoder()
      notesAt = firstNote
      if let partial {
        try goOn(with: partial, frame)
      } else if let length = frame.length, let limit = exchange?.request.maxBytes,
        frame.coding == nil, length > limit
      {
        throw .tooLarge(limit: limit, declared: length)
      }
      return true
    } catch {
      return fail(error)
    }
  }

  private func takeBody(_ piece: UnsafeRawBufferPointer) -> Bool {
    lastByteAt = loop.now
    guard phase == .receiving else { return drop(piece) }
    guard let decoder else { return take(piece) }
    switch decoder.decode(piece, { take($0) }) {
    case .goesOn: return true
    case .stopped: return false
    case .broken: return fail(.nonsense("its encoded body is broken"))
    }
  }

  /// - Parameter bytes: decoded.
  private func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    keepFirst(of: bytes)
    report.bodyBytes += bytes.count
    guard let maxBytes = exchange?.request.maxBytes else { return false }
    guard report.bodyBytes <= maxBytes else {
      return fail(.tooLarge(limit: maxBytes, declared: nil))
    }
    guard continued == nil || report.bodyBytes <= declaredLength! else {
      return fail(.unusableRest("more bytes came than it had declared"))
    }
    do throws(FailureRecord) {
      let sink = try openSink()
      hash.update(bytes)
      hasHashed = true
      try sink.write(bytes)
      if report.bodyBytes >= notesAt { noteBeginning() }
      return true
    } catch {
      return fail(.sink(error))
    }
  }

  private func drop(_ piece: UnsafeRawBufferPointer) -> Bool {
    // Its first bytes say what it is.
    if report.bodyBytes == 0 { decoder = (try? BodyFrame(head.lines))?.coding?.decoder() }
    report.bodyBytes += piece.count
    if report.firstBytes.count < Self.keptFirstBytes {
      if let decoder {
        _ = decoder.decode(piece) { bytes in
          keepFirst(of: bytes)
          return false
        }
        self.decoder = nil
      } else {
        keepFirst(of: piece)
      }
    }
    if report.bodyBytes <= Self.droppedBytesLimit { return true }
    verdict = .enough
    return false
  }

  private func openSink() throws(FailureRecord) -> any BodySink {
    if let sink { return sink }
    // Decoded it may be longer.
    let expected = decoder == nil ? declaredLength : nil
    let opened = try exchange!.request.makeSink(expected)
    sink = opened
    return opened
  }

  private func keepFirst(of piece: UnsafeRawBufferPointer) {
    let missing = Self.keptFirstBytes - report.firstBytes.count
    if missing > 0 { report.firstBytes.append(contentsOf: piece.prefix(missing)) }
  }

  private func fail(_ fault: TransferFault) -> Bool {
    verdict = .failed(fault)
    return false
  }

  /// The body is whole.
  func sealBody() -> TransferFault? {
    guard phase == .receiving else { return nil }
    if continued != nil, report.bodyBytes < declaredLength! {
      return .truncated(
        bytes: report.bodyBytes, declared: declaredLength, "its rest came without its end")
    }
    if let decoder, !decoder.isAtEnd {
      return .truncated(
        bytes: wireBytes, declared: declaredLength, "its encoded body has no end")
    }
    do throws(FailureRecord) {
      let sink = try openSink()
      hasHashed = false
      report.body = ReceivedBody(digest: hash.finish(), bytes: report.bodyBytes, sink: sink)
      return nil
    } catch {
      return .sink(error)
    }
  }
}

extension ResponseHead {
  /// Successes that carry the whole. 204 and 205 have no body.
  var hasWantedBody: Bool {
    (200..<300).contains(status) && status != 204 && status != 205 && status != 206
  }
}

extension NetworkAddress {
  fileprivate init?(_ target: UnsafeMutablePointer<curl_sockaddr>) {
    let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr)!
    self.init((UnsafeRawPointer(target) + offset).assumingMemoryBound(to: sockaddr.self))
  }
}
