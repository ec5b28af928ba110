import DecoderPool
import Glibc
import TestSupport
import Testing
import Vocabulary

@Suite(.serialized) struct `The corpus` {
  static let recipes = [recipe(320, 320), recipe(96, 96) { $0.fit = .cover }]

  @Test(.enabled(if: ImageCorpus.shared != nil, "there is no ../shared/corpus"))
  func `runs`() async throws {
    let pool = try DecoderPool(executable: decoderExecutable, decoders: 2, memory: 2 << 30)
    for file in ImageCorpus.shared!.files {
      let start = ContinuousClock.now
      var text = ""
      do throws(DecodeFailure) {
        var limits = LimitSettings()
        limits.decodeTimeout = .seconds(20)
        let r = try await pool.render(readFile(file.path)!, limits: limits, Self.recipes).rendering
        text = "OK \(r.format) \(r.width)x\(r.height) f\(r.frames) \(r.variants.map { v in switch v { case .success(let x): "\(x.format) \(x.width)x\(x.height) \(x.bytes)"; case .failure(let f): "FAIL \(f.code) \(f.message)" } }) \(r.warnings)"
      } catch { text = "\(error.code): \(error.message)" }
      print("\(file.name)\t\(file.expected)\t\(file.width ?? 0)x\(file.height ?? 0)\t\((ContinuousClock.now - start).wholeMilliseconds)ms\t\(text)")
    }
    await pool.stop()
  }
}
