/// The order of an item's properties in a HEIF file, AVIF included.
///
/// Crop, turn and mirror are applied in the order in which they stand, after what describes the
/// picture (ISO/IEC 23000-22 §7.3.6.7). libheif takes a size that stands behind a turn for the turned
/// one, and libvips then refuses the picture.
enum HEIFProperties {
  /// A box's place: its content without length and name, and its end.
  private struct Box {
    let name: Int
    let content: Range<Int>
  }

  private static let transforms: Set<Int> = [
    0x636C_6170,  // clap
    0x6972_6F74,  // irot
    0x696D_6972,  // imir
  ]

  /// The file with what describes in front of what transforms; nil where it stands so already, or
  /// where the boxes are not as expected.
  static func ordered(_ file: UnsafeRawBufferPointer) -> [UInt8]? {
    // meta's content begins with a version and flags.
    guard let meta = boxes(of: file, in: 0..<file.count).first(where: { $0.name == 0x6D65_7461 }),
      meta.content.count > 4,
      let properties = boxes(of: file, in: meta.content.dropFirst(4)).first(where: {
        $0.name == 0x6970_7270  // iprp
      })
    else { return nil }
    let parts = boxes(of: file, in: properties.content)
    let container = parts.first { $0.name == 0x6970_636F }  // ipco
    guard let container else { return nil }
    let names = boxes(of: file, in: container.content).map(\.name)
    var result = [UInt8](file)
    for part in parts where part.name == 0x6970_6D61 {  // ipma
      order(part.content, of: file, names: names, in: &result)
    }
    return result.elementsEqual(file) ? nil : result
  }

  private static func boxes(
    of file: UnsafeRawBufferPointer, in range: Range<Int>
  ) -> [Box] {
    var found: [Box] = []
    var at = range.lowerBound
    while let length = file.bigEndian(at: at), let name = file.bigEndian(at: at + 4), length >= 8,
      at + length <= range.upperBound
    {
      found.append(Box(name: name, content: at + 8..<at + length))
      at += length
    }
    return found
  }

  /// An `ipma`'s content: version and flags, a count of items; of each its id, a count, and so many
  /// associations of one byte or two, whose first bit says whether the property is essential.
  private static func order(
    _ content: Range<Int>, of file: UnsafeRawBufferPointer, names: [Int],
    in result: inout [UInt8]
  ) {
    guard let head = file.bigEndian(at: content.lowerBound),
      let items = file.bigEndian(at: content.lowerBound + 4)
    else { return }
    let idBytes = head >> 24 == 0 ? 2 : 4
    let width = head & 1 == 0 ? 1 : 2
    var at = content.lowerBound + 8
    for _ in 0..<items {
      let start = at + idBytes + 1
      guard start <= content.upperBound else { return }
      let end = start + Int(file[start - 1]) * width
      guard end <= content.upperBound else { return }
      let associations = stride(from: start, to: end, by: width).map {
        Array(file[$0..<$0 + width])
      }
      func transforms(_ association: [UInt8]) -> Bool {
        let index = association.dropFirst().reduce(Int(association[0] & 0x7F)) { $0 << 8 | Int($1) }
        return names.indices.contains(index - 1) && Self.transforms.contains(names[index - 1])
      }
      let ordered =
        associations.filter { !transforms($0) } + associations.filter { transforms($0) }
      result.replaceSubrange(start..<end, with: ordered.joined())
      at = end
    }
  }
}
