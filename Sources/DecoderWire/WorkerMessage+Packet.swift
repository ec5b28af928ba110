import Vocabulary

extension WorkerMessage {
  package var packet: [UInt8] {
    var writer = PacketWriter()
    switch self {
    case .image(let order):
      writer.put(UInt8(1))
      writer.put(order.number)
      writer.put(count: order.outputs)
      writer.put(count: order.maxPixels)
      writer.put(count: order.maxFrames)
      writer.put(count: order.maxMemory)
      writer.put(UInt8(order.formats.count))
      for format in ImageFormat.allCases where order.formats.contains(format) { writer.put(format) }
    case .output(let order):
      writer.put(UInt8(2))
      writer.put(order.number)
      writer.put(order.recipe)
    }
    return writer.bytes
  }

  package init(packet: ArraySlice<UInt8>) throws(MalformedPacket) {
    var reader = try PacketReader(packet)
    switch try reader.get(UInt8.self) {
    case 1:
      var order = ImageOrder(
        number: try reader.get(UInt32.self), outputs: try reader.count(upTo: Wire.maxOutputs),
        maxPixels: try reader.count(), maxFrames: try reader.count(),
        maxMemory: try reader.count(), formats: [])
      for _ in 0..<(try reader.get(UInt8.self)) { order.formats.insert(try reader.format()) }
      self = .image(order)
    case 2:
      self = .output(
        OutputOrder(number: try reader.get(UInt32.self), recipe: try reader.text()))
    default: throw MalformedPacket()
    }
    try reader.finish()
  }
}
