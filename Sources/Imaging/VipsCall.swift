import CVips

/// What libvips said when it gave up: its error buffer, copied and cut; empty where it only logged.
struct VipsFailure: Error {
  let words: String

  static let maxWords = 500

  /// Takes what stands in the error buffer, which belongs to the whole process.
  static func take() -> VipsFailure {
    VipsFailure(words: takeWords() ?? "")
  }

  /// Empties the buffer; nil where nothing was said.
  static func takeWords() -> String? {
    guard let buffer = vips_error_buffer_copy() else { return nil }
    defer { g_free(buffer) }
    vips_error_clear()
    var lines: [Substring] = []
    for line in String(cString: buffer).split(separator: "\n") where !lines.contains(line) {
      lines.append(line)
    }
    return lines.isEmpty ? nil : String(lines.joined(separator: "; ").prefix(maxWords))
  }
}

/// A value for one of an operation's arguments.
enum OperationArgument {
  case int(Int)
  case bool(Bool)
  case double(Double)
  case text(String)
  case picture(Picture)
  case pictures([Picture])
  case doubles([Double])
  /// Not copied: they must stay until the operation's result is gone.
  case bytes(UnsafeRawBufferPointer)
}

/// The arguments that an operation has set after it ran.
struct VipsOutputs {
  fileprivate let object: UnsafeMutablePointer<GObject>

  func picture(_ name: String = "out") -> Picture {
    value(name, vips_image_get_type()) { value in
      Picture(owning: g_value_dup_object(&value)!.assumingMemoryBound(to: VipsImage.self))
    }
  }

  func bytes(_ name: String = "buffer") -> [UInt8] {
    value(name, vips_blob_get_type()) { value in
      guard let blob = g_value_get_boxed(&value) else { return [] }
      var count = 0
      let start = vips_blob_get(blob.assumingMemoryBound(to: VipsBlob.self), &count)
      return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }
  }

  private func value<Result>(
    _ name: String, _ type: GType, _ read: (inout GValue) -> Result
  ) -> Result {
    var value = GValue()
    g_value_init(&value, type)
    defer { g_value_unset(&value) }
    g_object_get_property(object, name, &value)
    return read(&value)
  }
}

/// Builds and runs a libvips operation by its name: the one way in which we call libvips' operations.
///
/// Most run later, when their result's pixels are asked for.
func vips<Result>(
  _ name: String, _ arguments: [String: OperationArgument],
  read: (VipsOutputs) -> Result
) throws(VipsFailure) -> Result {
  guard let new = vips_operation_new(name) else { throw VipsFailure.take() }
  let object = UnsafeMutableRawPointer(new).assumingMemoryBound(to: GObject.self)
  for (name, argument) in arguments { set(name, argument, of: object) }
  // The way of every binding; the cache that it looks into is off.
  var built: UnsafeMutablePointer<VipsOperation>? = new
  let status = vips_cache_operation_buildp(&built)
  let operation = UnsafeMutableRawPointer(built ?? new)
  defer {
    vips_object_unref_outputs(operation.assumingMemoryBound(to: VipsObject.self))
    g_object_unref(operation)
  }
  guard status == 0 else { throw VipsFailure.take() }
  return read(VipsOutputs(object: operation.assumingMemoryBound(to: GObject.self)))
}

/// The common case: an operation with one picture as its result.
func vips(
  _ name: String, _ arguments: [String: OperationArgument]
) throws(VipsFailure) -> Picture {
  try vips(name, arguments, read: { $0.picture() })
}

private func set(
  _ name: String, _ argument: OperationArgument, of object: UnsafeMutablePointer<GObject>
) {
  var value = GValue()
  func put(_ type: GType, _ fill: (inout GValue) -> Void) {
    g_value_init(&value, type)
    fill(&value)
    g_object_set_property(object, name, &value)
    g_value_unset(&value)
  }
  switch argument {
  case .int(let number): put(GObjectType.int) { g_value_set_int(&$0, gint(number)) }
  case .bool(let flag): put(GObjectType.boolean) { g_value_set_boolean(&$0, flag ? 1 : 0) }
  case .double(let number): put(GObjectType.double) { g_value_set_double(&$0, number) }
  case .text(let text): put(GObjectType.string) { g_value_set_string(&$0, text) }
  case .picture(let picture):
    put(vips_image_get_type()) { g_value_set_object(&$0, picture.image) }
  case .pictures(let pictures):
    put(vips_array_image_get_type()) { fill(&$0, with: pictures) }
  case .doubles(let numbers):
    put(vips_array_double_get_type()) {
      vips_value_set_array_double(&$0, numbers, gint(numbers.count))
    }
  case .bytes(let bytes):
    let blob = vips_blob_new(nil, bytes.baseAddress, bytes.count)!
    put(vips_blob_get_type()) { g_value_set_boxed(&$0, blob) }
    vips_area_unref(UnsafeMutableRawPointer(blob).assumingMemoryBound(to: VipsArea.self))
  }
}

private func fill(_ value: inout GValue, with pictures: [Picture]) {
  vips_value_set_array_image(&value, gint(pictures.count))
  let places = vips_value_get_array_image(&value, nil)!
  for (i, picture) in pictures.enumerated() {
    g_object_ref(picture.image)
    places[i] = picture.image
  }
}

/// GObject's fundamental types, which its header makes with a macro: the number shifted by two.
private enum GObjectType {
  static let boolean = GType(5 << 2)
  static let int = GType(6 << 2)
  static let double = GType(15 << 2)
  static let string = GType(16 << 2)
}
