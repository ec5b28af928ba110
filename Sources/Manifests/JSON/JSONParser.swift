import CYajl

/// Feeds JSON text to yajl, piece by piece, and its events to a `JSONEvents`.
///
/// Holds one token at most: memory does not depend on the document's length.
final class JSONParser {
  /// Where and why reading ended early.
  struct Stop: Error {
    /// Bytes from the document's start up to and including the one that is to blame.
    let offset: Int
    /// A sentence without its place.
    let reason: String
  }

  private let events: JSONEvents
  private let handle: yajl_handle
  // yajl keeps the address of its callbacks.
  private let callbacks: UnsafeMutablePointer<yajl_callbacks>
  private var fed = 0
  /// Bytes fed since the last event: a token under way, or blanks.
  private var quiet = 0
  private var surrogates = SurrogateCheck()

  /// - Parameter manyValues: the text is of values one after another, not of one.
  init(_ events: JSONEvents, manyValues: Bool = false) {
    self.events = events
    callbacks = .allocate(capacity: 1)
    callbacks.initialize(to: Self.table)
    handle = yajl_alloc(callbacks, nil, Unmanaged.passUnretained(events).toOpaque())!
    if manyValues { tw_yajl_allow_many_values(handle) }
  }

  deinit {
    yajl_free(handle)
    callbacks.deallocate()
  }

  func feed(_ bytes: UnsafeRawBufferPointer) throws(Stop) {
    guard let base = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
    if let fault = surrogates.fault(in: bytes) {
      // What stands before it may be worse.
      let status = yajl_parse(handle, base, fault)
      guard status == yajl_status_ok else { throw stop(status) }
      throw Stop(
        offset: fed + fault + 1, reason: "not JSON: a \\u escape that is half of a surrogate pair")
    }
    let before = events.count
    let status = yajl_parse(handle, base, bytes.count)
    guard status == yajl_status_ok else { throw stop(status) }
    fed += bytes.count
    quiet = events.count == before ? quiet + bytes.count : 0
    guard quiet <= JSONLimits.stringBytes else {
      throw Stop(offset: fed, reason: "a string or a gap of over 1 MiB")
    }
  }

  /// The text has ended.
  func finish() throws(Stop) {
    let status = yajl_complete_parse(handle)
    guard status == yajl_status_ok else {
      if status == yajl_status_client_canceled { throw stop(status) }
      throw Stop(offset: fed, reason: "not JSON: the text ends too early")
    }
  }

  private func stop(_ status: yajl_status) -> Stop {
    let offset = fed + yajl_get_bytes_consumed(handle)
    guard status == yajl_status_error else {
      return Stop(offset: offset, reason: events.stopReason ?? "reading was stopped")
    }
    guard let text = yajl_get_error(handle, 0, nil, 0) else {
      return Stop(offset: offset, reason: "not JSON")
    }
    defer { yajl_free_error(handle, text) }
    let words = String(cString: text).split(separator: "\n").first ?? "unknown error"
    return Stop(offset: offset, reason: "not JSON: \(words)")
  }

  /// yajl's events, handed on to the object behind the context pointer, which outlives the parser's
  /// every call because `events` holds it.
  private static let table = yajl_callbacks(
    yajl_null: { lend($0) { $0.null() } },
    yajl_boolean: { context, value in lend(context) { $0.boolean(value != 0) } },
    yajl_integer: nil,
    yajl_double: nil,
    yajl_number: { context, text, count in
      lend(context) { events in
        text!.withMemoryRebound(to: UInt8.self, capacity: count) {
          events.number(UnsafeBufferPointer(start: $0, count: count))
        }
      }
    },
    yajl_string: { context, text, count in
      lend(context) { events in
        count <= JSONLimits.stringBytes
          ? events.string(UnsafeBufferPointer(start: text, count: count))
          : events.stop("a string of over 1 MiB")
      }
    },
    yajl_start_map: { lend($0) { $0.deeper() && $0.openObject() } },
    yajl_map_key: { context, text, count in
      lend(context) { events in
        count <= JSONLimits.stringBytes
          ? events.key(UnsafeBufferPointer(start: text, count: count))
          : events.stop("a string of over 1 MiB")
      }
    },
    yajl_end_map: {
      lend($0) {
        $0.depth -= 1
        return $0.closeObject()
      }
    },
    yajl_start_array: { lend($0) { $0.deeper() && $0.openArray() } },
    yajl_end_array: {
      lend($0) {
        $0.depth -= 1
        return $0.closeArray()
      }
    })
}

/// Without a reference count: there are some six events to an item.
@inline(__always)
private func lend(_ context: UnsafeMutableRawPointer?, _ body: (JSONEvents) -> Bool) -> CInt {
  Unmanaged<JSONEvents>.fromOpaque(context!)._withUnsafeGuaranteedRef { events in
    events.count &+= 1
    return body(events) ? 1 : 0
  }
}

extension JSONEvents {
  fileprivate final func deeper() -> Bool {
    depth += 1
    return depth <= JSONLimits.depth
      || stop("arrays and objects within each other over \(JSONLimits.depth) deep")
  }
}
