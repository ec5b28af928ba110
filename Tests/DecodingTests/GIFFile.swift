/// A GIF made by hand: with the disposal, the places and the times of frames that are asked for, which
/// no encoder of libvips leaves to its caller.
struct GIFFile {
  struct Frame {
    var x = 0
    var y = 0
    var width: Int
    var height: Int
    /// Hundredths of a second.
    var delay = 10
    /// 0 and 1 leave the frame, 2 clears its place, 3 brings back what was there before.
    var disposal: UInt8 = 1
    var transparent: UInt8?
    /// The same all over; places in the palette.
    var colour: UInt8
  }

  var width: Int
  var height: Int
  /// At most four colours.
  var palette: [[UInt8]]
  /// The repetitions that the file asks for, 0 without end; nil where it says nothing.
  var loop: Int?
  var frames: [Frame]

  var bytes: [UInt8] {
    var file = Array("GIF89a".utf8) + short(width) + short(height)
    // A palette of four colours.
    file += [0b1000_0001, 0, 0]
    for index in 0..<4 { file += index < palette.count ? palette[index] : [0, 0, 0] }
    if let loop {
      file += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1] + short(loop) + [0]
    }
    for frame in frames { file += bytes(of: frame) }
    return file + [0x3B]
  }

  private func bytes(of frame: Frame) -> [UInt8] {
    let flags = frame.disposal << 2 | (frame.transparent == nil ? 0 : 1)
    return [0x21, 0xF9, 4, flags] + short(frame.delay) + [frame.transparent ?? 0, 0]
      + [0x2C] + short(frame.x) + short(frame.y) + short(frame.width) + short(frame.height) + [0]
      + compressed(Array(repeating: frame.colour, count: frame.width * frame.height))
  }

  /// LZW whose table is cleared before its codes grow beyond 8 bits: each pixel is a byte.
  private func compressed(_ pixels: [UInt8]) -> [UInt8] {
    let (clear, end): (UInt8, UInt8) = (128, 129)
    var codes: [UInt8] = []
    for (index, pixel) in pixels.enumerated() {
      if index % 100 == 0 { codes.append(clear) }
      codes.append(pixel)
    }
    codes.append(end)
    let blocks = stride(from: 0, to: codes.count, by: 255).flatMap { start -> [UInt8] in
      let block = codes[start..<min(start + 255, codes.count)]
      return [UInt8(block.count)] + block
    }
    return [7] + blocks + [0]
  }

  private func short(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8)] }
}
