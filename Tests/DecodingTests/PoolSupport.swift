import DecoderPool
import Glibc
import Synchronization
import TestSupport
import Vocabulary

/// The decoder that was built with these tests.
let decoderExecutable: String = {
  var path = [CChar](repeating: 0, count: Int(PATH_MAX))
  let count = readlink("/proc/self/exe", &path, path.count)
  let program = String(decoding: path.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  return program.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/thumbdecoder"
}()

/// Tests that can do any amount of work do little, unless `THUMBWORKER_SOAK` says for how many images.
enum Soak {
  static let images = getenv("THUMBWORKER_SOAK").flatMap { Int(String(cString: $0)) }
}

/// One rendering with its files.
struct Rendered {
  var rendering: Rendering
  var outputs: [MemoryFile]

  /// The bytes of the variant at `index`.
  func bytes(_ index: Int = 0) -> [UInt8] { outputs[index].bytes }
}

extension DecoderPool {
  func render(
    _ file: [UInt8], limits: LimitSettings = LimitSettings(), _ recipes: [Recipe]
  ) async throws(DecodeFailure) -> Rendered {
    let original = MemoryFile(file)
    let outputs = recipes.map { _ in MemoryFile() }
    let variants = zip(recipes, outputs).map { (recipe: $0, output: $1.descriptor) }
    let rendering = try await render(
      RenderRequest(original: original.descriptor, limits: limits, variants: variants))
    withExtendedLifetime(original) {}
    return Rendered(rendering: rendering, outputs: outputs)
  }
}

/// A recipe by its differences from the default.
func recipe(
  _ width: Int?, _ height: Int? = nil, _ format: VariantSpec.Format = .auto,
  change: (inout VariantSpec) -> Void = { _ in }
) -> Recipe {
  var spec = VariantSpec(name: "test", width: width, height: height)
  spec.format = format
  change(&spec)
  return Recipe(of: spec, ratio: 1)
}

/// The pool that rendering tests share; its decoders end with the test process.
let sharedPool = try! DecoderPool(executable: decoderExecutable, decoders: 2, memory: 2 << 30)

/// The only variant of a file.
func render(_ file: [UInt8], _ recipe: Recipe) async throws -> DecodedPicture {
  let rendered = try await sharedPool.render(file, [recipe])
  _ = try rendered.rendering.variants[0].get()
  return DecodedPicture(rendered.bytes())
}

/// The code that rendering fails with; nil where it does not.
func failure(_ file: [UInt8], _ recipes: [Recipe] = [recipe(50)]) async -> String? {
  do throws(DecodeFailure) {
    _ = try await sharedPool.render(file, recipes)
    return nil
  } catch {
    return error.code
  }
}

/// The decoder under a name of its own, so that its processes can be told from others.
final class NamedDecoder: Sendable {
  private static let count = Atomic(0)
  private let name = "tw-\(getpid())-\(count.add(1, ordering: .relaxed).newValue)"

  var path: String { "/tmp/\(name)" }

  init() { symlink(decoderExecutable, path) }

  deinit { unlink(path) }

  /// Those that run now, or wait to be reaped.
  var processes: Set<pid_t> {
    guard let all = opendir("/proc") else { return [] }
    defer { closedir(all) }
    var found: Set<pid_t> = []
    while let entry = readdir(all) {
      let number = withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard let process = pid_t(number) else { continue }
      let stat = String(decoding: readFile("/proc/\(number)/stat") ?? [], as: UTF8.self)
      if stat.contains("(\(name.prefix(15)))") { found.insert(process) }
    }
    return found
  }

  /// What they have for themselves, in bytes: resident, and not of a file.
  var privateMemory: Int {
    processes.reduce(0) { sum, process in
      let fields = String(decoding: readFile("/proc/\(process)/statm") ?? [], as: UTF8.self)
        .split(separator: " ").compactMap { Int($0) }
      guard fields.count > 2 else { return sum }
      return sum + (fields[1] - fields[2]) * Int(getpagesize())
    }
  }

  static func isZombie(_ process: pid_t) -> Bool {
    String(decoding: readFile("/proc/\(process)/stat") ?? [], as: UTF8.self).contains(") Z ")
  }
}
