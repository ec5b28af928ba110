import CVips

/// Names of libvips' metadata that we read or write.
enum MetadataField {
  static let iccProfile = "icc-profile-data"
  static let exif = "exif-data"
  static let orientation = "orientation"
  static let pages = "n-pages"
  static let pageHeight = "page-height"
  static let delays = "delay"
  static let loop = "loop"
}

extension Picture {
  func has(_ field: String) -> Bool { vips_image_get_typeof(image, field) != 0 }

  func int(_ field: String) -> Int? {
    guard has(field) else { return nil }
    var value: gint = 0
    guard vips_image_get_int(image, field, &value) == 0 else {
      vips_error_clear()
      return nil
    }
    return Int(value)
  }

  func ints(_ field: String) -> [Int32]? {
    guard has(field) else { return nil }
    var start: UnsafeMutablePointer<gint>?
    var count: gint = 0
    guard vips_image_get_array_int(image, field, &start, &count) == 0, let start else {
      vips_error_clear()
      return nil
    }
    return Array(UnsafeBufferPointer(start: start, count: Int(count)))
  }

  /// Only valid while the picture is.
  func blob(_ field: String) -> UnsafeRawBufferPointer? {
    guard has(field) else { return nil }
    var start: UnsafeRawPointer?
    var count = 0
    guard vips_image_get_blob(image, field, &start, &count) == 0 else {
      vips_error_clear()
      return nil
    }
    return UnsafeRawBufferPointer(start: start, count: count)
  }

  var fields: [String] {
    guard let names = vips_image_get_fields(image) else { return [] }
    defer { g_strfreev(names) }
    var found: [String] = []
    var next = names
    while let name = next.pointee {
      found.append(String(cString: name))
      next += 1
    }
    return found
  }

  /// A picture of the same pixels whose metadata may be changed.
  func withOwnMetadata() throws(VipsFailure) -> Picture { try vips("copy", ["in": .picture(self)]) }

  func set(_ field: String, to value: Int) { vips_image_set_int(image, field, gint(value)) }

  func set(_ field: String, to values: [Int32]) {
    vips_image_set_array_int(image, field, values, gint(values.count))
  }

  func remove(_ field: String) { vips_image_remove(image, field) }
}
