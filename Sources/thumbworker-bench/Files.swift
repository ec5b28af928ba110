import Glibc

/// A file of its own, whole.
func write(_ bytes: [UInt8], to path: String) throws {
  guard let file = fopen(path, "w") else { throw BenchFailure.system("make", path) }
  let written = fwrite(bytes, 1, bytes.count, file)
  guard fclose(file) == 0, written == bytes.count else { throw BenchFailure.system("write", path) }
}

/// All bytes of a file.
func contents(of path: String) throws -> [UInt8] {
  guard let file = fopen(path, "r") else { throw BenchFailure.system("read", path) }
  defer { fclose(file) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 65_536)
  while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
  guard ferror(file) == 0 else { throw BenchFailure.system("read", path) }
  return bytes
}
