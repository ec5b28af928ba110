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
      writer.put(order.formats)
    case .output(let order):
      writer.put(UInt8(2))
      writer.put(order.number)
      writer.put(order.recipe)
    case .granted(let number):
      writer.put(UInt8(3))
      writer.put(number)
    case .taken(let number):
      writer.put(UInt8(4))
      writer.put(number)
    }
    return writer.bytes
  }

  package init(packet: ArraySlice<UInt8>) throws(MalformedPacket) {
    var reader = try PacketReader(packet)
    switch try reader.get(UInt8.self) {
    case 1:
      self = .image(
        ImageOrder(
          number: try reader.get(UInt32.self), outputs: try reader.count(upTo: Wire.maxOutputs),
          maxPixels: try reader.count(), maxFrames: try reader.count(),
          maxMemory: try reader.count(), formats: try reader.formats()))
    case 2:
      self = .output(
        OutputOrder(number: try reader.get(UInt32.self), recipe: try reader.text()))
    case 3: self = .granted(number: try reader.get(UInt32.self))
    case 4: self = .taken(number: try reader.get(UInt32.self))
    default: throw MalformedPacket()
    }
    try reader.finish()
  }
}
