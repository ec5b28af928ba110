import Vocabulary

/// Writes a packet: little-endian integers, texts with their length in front.
struct PacketWriter {
  private(set) var bytes: [UInt8] = [Wire.version]

  mutating func put(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func put(count: Int) { put(Int64(count)) }

  /// Cut to what a text may hold, never inside a character.
  mutating func put(_ text: String) {
    var cut = Substring(text)
    while cut.utf8.count > Wire.maxText { cut = cut.dropLast(max(1, cut.utf8.count / 64)) }
    put(UInt16(cut.utf8.count))
    bytes.append(contentsOf: cut.utf8)
  }

  mutating func put(_ format: ImageFormat) {
    put(UInt8(ImageFormat.allCases.firstIndex(of: format)!))
  }

  mutating func put(_ placeholder: Placeholder) {
    bytes += [placeholder.color.red, placeholder.color.green, placeholder.color.blue]
    put(UInt8(placeholder.thumbHash.count))
    bytes += placeholder.thumbHash
  }

  mutating func put(_ formats: Set<ImageFormat>) {
    put(UInt8(formats.count))
    for format in ImageFormat.allCases where formats.contains(format) { put(format) }
  }

  mutating func put(_ greeting: DecoderGreeting) {
    put(count: greeting.processing)
    put(greeting.libvips)
    put(greeting.reads)
    put(greeting.encoders.text)
  }

  mutating func put(_ fault: Fault) {
    put(fault.kind.rawValue)
    put(fault.message)
  }
}

/// A packet that is not one of ours.
package struct MalformedPacket: Error, Sendable, Equatable {
  package init() {}
}

/// Reads a packet; every read checks what is left.
struct PacketReader {
  private var rest: ArraySlice<UInt8>

  init(_ packet: ArraySlice<UInt8>) throws(MalformedPacket) {
    rest = packet
    guard try get(UInt8.self) == Wire.version else { throw MalformedPacket() }
  }

  mutating func get<Value: FixedWidthInteger>(_: Value.Type) throws(MalformedPacket) -> Value {
    let size = MemoryLayout<Value>.size
    guard rest.count >= size else { throw MalformedPacket() }
    var value: Value = 0
    withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: rest.prefix(size)) }
    rest = rest.dropFirst(size)
    return Value(littleEndian: value)
  }

  /// Zero or more.
  mutating func count(upTo limit: Int = .max) throws(MalformedPacket) -> Int {
    let value = try get(Int64.self)
    guard value >= 0, value <= Int64(limit) else { throw MalformedPacket() }
    return Int(value)
  }

  mutating func text() throws(MalformedPacket) -> String {
    let length = Int(try get(UInt16.self))
    guard length <= Wire.maxText, rest.count >= length else { throw MalformedPacket() }
    defer { rest = rest.dropFirst(length) }
    return String(decoding: rest.prefix(length), as: UTF8.self)
  }

  mutating func format() throws(MalformedPacket) -> ImageFormat {
    let index = Int(try get(UInt8.self))
    guard ImageFormat.allCases.indices.contains(index) else { throw MalformedPacket() }
    return ImageFormat.allCases[index]
  }

  mutating func placeholder() throws(MalformedPacket) -> Placeholder {
    let color = VariantSpec.Color(
      red: try get(UInt8.self), green: try get(UInt8.self), blue: try get(UInt8.self))
    let length = Int(try get(UInt8.self))
    guard Placeholder.hashLengths.contains(length), rest.count >= length else {
      throw MalformedPacket()
    }
    defer { rest = rest.dropFirst(length) }
    return Placeholder(color: color, thumbHash: Array(rest.prefix(length)))
  }

  mutating func formats() throws(MalformedPacket) -> Set<ImageFormat> {
    var formats: Set<ImageFormat> = []
    for _ in 0..<(try get(UInt8.self)) { formats.insert(try format()) }
    return formats
  }

  mutating func greeting() throws(MalformedPacket) -> DecoderGreeting {
    DecoderGreeting(
      processing: try count(), libvips: try text(), reads: try formats(),
      encoders: EncoderVersions(text: try text()))
  }

  mutating func fault() throws(MalformedPacket) -> Fault {
    guard let kind = Fault.Kind(rawValue: try get(UInt8.self)) else { throw MalformedPacket() }
    return Fault(kind, try text())
  }

  func finish() throws(MalformedPacket) {
    guard rest.isEmpty else { throw MalformedPacket() }
  }
}
