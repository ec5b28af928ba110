import Glibc

/// A file of certificates in PEM form (RFC 7468), looked at for slips; what a certificate says is the TLS
/// library's business.
enum CertificateFile {
  /// The bundle of all public authorities has a quarter of that.
  private static let maxBytes = 1 << 20

  /// What is wrong with it, in words; nil where it holds certificates.
  static func fault(ofFileAt path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return "cannot be read: \(String(cString: strerror(errno)))" }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      return "is not a regular file"
    }
    guard status.st_size <= maxBytes else {
      return "has over 1 MiB: that is no list of certificates"
    }
    guard let text = contents(of: descriptor) else {
      return "cannot be read: \(String(cString: strerror(errno)))"
    }
    return fault(of: text)
  }

  private static func contents(of descriptor: CInt) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: maxBytes)
    var count = 0
    while count < maxBytes {
      let read = bytes.withUnsafeMutableBytes { room in
        Glibc.read(descriptor, room.baseAddress! + count, maxBytes - count)
      }
      if read < 0 { return nil }
      if read == 0 { break }
      count += read
    }
    return Array(bytes[..<count])
  }

  private static let kinds = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"]

  static func fault(of text: [UInt8]) -> String? {
    var found = 0
    /// The kind of the block that the line stands in, and its Base64 so far.
    var block: (kind: String, bytes: [UInt8])?
    for line in String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline) {
      if let kind = line.label(after: "-----BEGIN ") {
        block = (kind, [])
      } else if let kind = line.label(after: "-----END "), let ended = block {
        guard kind == ended.kind else { return "holds a \(ended.kind) without its end" }
        if kinds.contains(kind) {
          guard ended.bytes.isBase64OfSequence else { return "holds a certificate that is damaged" }
          found += 1
        }
        block = nil
      } else {
        block?.bytes += line.utf8.filter { $0 > 0x20 }
      }
    }
    if let block { return "holds a \(block.kind) without its end" }
    return found > 0 ? nil : "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"
  }
}

extension Substring {
  fileprivate func label(after start: String) -> String? {
    guard hasPrefix(start) else { return nil }
    return String(dropFirst(start.count).prefix { $0 != "-" })
  }
}

extension [UInt8] {
  /// Whether it is Base64 of a DER sequence of the length that it says: what each certificate is.
  fileprivate var isBase64OfSequence: Bool {
    guard count % 4 == 0, count >= 12 else { return false }
    let padding = reversed().prefix { $0 == UInt8(ascii: "=") }.count
    let digits = dropLast(padding)
    guard padding <= 2, digits.allSatisfy(\.isBase64) else { return false }
    let head = digits.prefix(8).map { UInt64($0.base64Value) }
    let bits = head.reduce(0) { $0 << 6 | $1 }
    let bytes = (0..<6).map { UInt8(truncatingIfNeeded: bits >> UInt64(40 - 8 * $0)) }
    let size = count / 4 * 3 - padding
    // The head of each certificate of more than 255 bytes: a sequence, its length in two bytes. TRUSTED
    // ones have something behind it.
    guard bytes[0] == 0x30, bytes[1] == 0x82 else { return bytes[0] == 0x30 && size < 260 }
    return 4 + (Int(bytes[2]) << 8 | Int(bytes[3])) <= size
  }
}

extension UInt8 {
  fileprivate var isBase64: Bool {
    (0x61...0x7A).contains(self | 0x20) || (0x30...0x39).contains(self) || self == 0x2B
      || self == 0x2F
  }

  fileprivate var base64Value: UInt8 {
    switch self {
    case 0x41...0x5A: self - 0x41
    case 0x61...0x7A: self - 0x61 + 26
    case 0x30...0x39: self - 0x30 + 52
    case 0x2B: 62
    default: 63
    }
  }
}
