import Glibc
import Manifests

/// Writes a manifest of any length, an item a line.
enum ManifestText {
  /// Four variants, and loopback allowed.
  static let head = """
    "version":1,"name":"bench","network":{"allow":["127.0.0.0/8"],"concurrency":32,"perHost":32},
    "variants":[{"name":"w1280","width":1280},{"name":"w640","width":640},{"name":"w320","width":320},
    {"name":"w96","width":96}]
    """

  /// - Parameters:
  ///   - head: keys and values that stand before the items, such as `"version":1`.
  ///   - url: of an item, by its number.
  static func write(
    to path: String, head: String, items count: Int, url: (Int) -> String
  ) throws {
    guard let file = fopen(path, "w") else { throw BenchFailure.system("make", path) }
    fputs("{\(head),\"items\":[", file)
    for number in 0..<count {
      fputs(
        "\(number == 0 ? "" : ",")\n{\"id\":\"item-\(number)\",\"url\":\"\(url(number))\"}", file)
    }
    fputs("\n]}\n", file)
    guard ferror(file) == 0, fclose(file) == 0 else { throw BenchFailure.system("write", path) }
  }

  /// The catalog's items as a source; ids where its form has them.
  static func writeSource(to path: String, _ format: SourceFormat, items count: Int) throws {
    guard let file = fopen(path, "w") else { throw BenchFailure.system("make", path) }
    let (head, end) =
      switch format {
      case .ndjson, .text: ("", "")
      case .csv: ("id,url\r\n", "")
      case .sitemap: ("<urlset><url>\n", "</url></urlset>\n")
      }
    fputs(head, file)
    for number in 0..<count {
      let url = catalogURL(number)
      switch format {
      case .ndjson: fputs("{\"id\":\"item-\(number)\",\"url\":\"\(url)\"}\n", file)
      case .csv: fputs("item-\(number),\(url)\r\n", file)
      case .text: fputs("\(url)\n", file)
      case .sitemap: fputs("<image><loc>\(url)</loc></image>\n", file)
      }
    }
    fputs(end, file)
    guard ferror(file) == 0, fclose(file) == 0 else { throw BenchFailure.system("write", path) }
  }

  /// URLs as a shop's catalog has them, on eight hosts that nobody asks.
  static func catalogURL(_ number: Int) -> String {
    let noise = String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, radix: 16)
    return "https://img\(number % 8).example.com/photos/\(noise.prefix(2))/\(noise)_\(number).jpg"
  }

  /// One URL a line, as the ledger's yardstick reads them.
  static func writeURLs(to path: String, count: Int) throws {
    guard let file = fopen(path, "w") else { throw BenchFailure.system("make", path) }
    for number in 0..<count { fputs(catalogURL(number) + "\n", file) }
    guard ferror(file) == 0, fclose(file) == 0 else { throw BenchFailure.system("write", path) }
  }
}
