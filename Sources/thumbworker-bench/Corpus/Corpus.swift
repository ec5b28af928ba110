import FoundationEssentials
import Glibc

/// Files for an origin to serve.
struct Corpus {
  var folder: String
  /// Their names in `folder`.
  var names: [String]
  var bytes: Int

  private init(folder: String, names: [String], bytes: Int) {
    self.folder = folder
    self.names = names
    self.bytes = bytes
  }

  /// PNGs, no two alike, of evenly spread sizes.
  static func noise(
    count: Int, bytes: ClosedRange<Int>, in folder: String
  ) throws -> Corpus {
    var corpus = Corpus(folder: folder, names: [], bytes: 0)
    var sizes = Noise(seed: 1)
    for number in 0..<count {
      let size = Int.random(in: bytes, using: &sizes)
      try corpus.add(NoisePNG.file(bytes: size, seed: UInt64(number) + 2), "\(number).png")
    }
    return corpus
  }

  /// JPEGs of 1600 × 1200 pixels, no two alike.
  static func photographs(count: Int, in folder: String) throws -> Corpus {
    var corpus = Corpus(folder: folder, names: [], bytes: 0)
    for number in 0..<count {
      let file = NoiseJPEG.file(width: 1600, height: 1200, seed: UInt64(number))
      try corpus.add(file, "\(number).jpg")
    }
    return corpus
  }

  mutating func add(_ file: [UInt8], _ name: String) throws {
    try write(file, to: "\(folder)/\(name)")
    names.append(name)
    bytes += file.count
  }

  /// The files of a folder, in the order of their names.
  init(of folder: String, atMost count: Int) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    self.folder = folder
    self.names = Array(names.filter { !$0.hasPrefix(".") }.prefix(count))
    bytes = try self.names.reduce(0) { bytes, name in
      var status = stat()
      let path = "\(folder)/\(name)"
      guard stat(path, &status) == 0 else { throw BenchFailure.system("look at", path) }
      return bytes + Int(status.st_size)
    }
    guard !self.names.isEmpty else { throw BenchFailure(message: "\(folder) holds no file") }
  }

  /// One name a line.
  func writeList(to path: String) throws {
    try write(Array(names.map { $0 + "\n" }.joined().utf8), to: path)
  }
}
