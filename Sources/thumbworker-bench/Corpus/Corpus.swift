import Glibc

/// Files for an origin to serve.
struct Corpus {
  var folder: String
  /// Their names in `folder`.
  var names: [String]
  var bytes: Int

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

  mutating func add(_ file: [UInt8], _ name: String) throws {
    try write(file, to: "\(folder)/\(name)")
    names.append(name)
    bytes += file.count
  }

  /// One name a line.
  func writeList(to path: String) throws {
    try write(Array(names.map { $0 + "\n" }.joined().utf8), to: path)
  }
}

/// A file of its own, whole.
func write(_ bytes: [UInt8], to path: String) throws {
  guard let file = fopen(path, "w") else { throw BenchFailure.system("make", path) }
  let written = fwrite(bytes, 1, bytes.count, file)
  guard fclose(file) == 0, written == bytes.count else { throw BenchFailure.system("write", path) }
}
