import DecoderPool
import Glibc
import Vocabulary

/// Images through the decoders, a few more at a time than there are decoders.
struct DecodeWork: Work {
  private let names: [String]
  private let folder: String
  private let decoder: String
  private let decoders: Int

  init(_ values: WorkValues) throws {
    names = try values.lines("list")
    folder = try values.text("folder")
    decoder = try values.text("decoder")
    decoders = try values.count("decoders")
  }

  private static let recipes = [1280, 640, 320, 96].map { (width: Int) in
    Recipe(of: VariantSpec(name: "w\(width)", width: width), ratio: 1)
  }

  func run() async throws {
    try await WorkReport.measure {
      let pool = try DecoderPool(executable: decoder, decoders: decoders, memory: 2 << 30)
      let count = try await inTurn(names.count, atATime: decoders * 2) { number in
        try await render(names[number], pool)
      }
      // What its children have used is known when they have ended.
      await pool.stop()
      return count
    }
  }

  private func render(_ name: String, _ pool: DecoderPool) async throws {
    let original = open("\(folder)/\(name)", O_RDONLY | O_CLOEXEC)
    guard original >= 0 else { throw BenchFailure.system("open", "\(folder)/\(name)") }
    let outputs = try Self.recipes.map { recipe in (recipe: recipe, output: try temporaryFile()) }
    defer { for file in [original] + outputs.map(\.output) { close(file) } }
    let made = try await pool.render(
      RenderRequest(original: original, limits: LimitSettings(), variants: outputs))
    for variant in made.variants { _ = try variant.get() }
  }

  /// Beside the images, where it has no name.
  private func temporaryFile() throws -> Int32 {
    var path = Array("\(folder)/bench-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    guard file >= 0 else { throw BenchFailure.system("make a file in", folder) }
    _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    unlink(path)
    return file
  }
}
