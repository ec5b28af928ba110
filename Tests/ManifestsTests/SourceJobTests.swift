import TestSupport
import Testing
import Vocabulary

@testable import Manifests

@Suite struct `A source in a manifest's place` {
  private func open(_ variants: String..., named name: String = "list.txt.gz") throws
    -> ManifestFile
  {
    let file = ManifestTestFile("http://a/1\n", named: name)
    return try ManifestFile.open(source: file.path, variants: variants)
  }

  @Test func `is a job of its own, with the variants of the command line`() throws {
    let job = try open(
      "thumb=200x100,fit=cover,format=webp,quality=70,enlarge=true,background=#000000",
      "wide=640,dpr=1+2", "high=x480")
    #expect(job.settings.name == "list" && job.itemCount == 0 && job.sources.count == 1)
    var thumb = VariantSpec(name: "thumb", width: 200, height: 100)
    (thumb.fit, thumb.format, thumb.quality, thumb.enlarge) = (.cover, .webp, 70, true)
    thumb.background = VariantSpec.Color("#000000")!
    var wide = VariantSpec(name: "wide", width: 640)
    wide.dpr = [1, 2]
    #expect(job.settings.variants == [thumb, wide, VariantSpec(name: "high", height: 480)])
    // The same command is the same job, to the ledger too.
    #expect(try open("a=9", named: "b.csv").headText == open("a=9", named: "b.csv").headText)
  }

  @Test(arguments: [
    ("thumb", "--variant: \"thumb\" is none"), ("thumb=", "--variant: \"thumb=\" is none"),
    ("=9", "--variant: \"=9\" is none"), ("a=9,fit", "--variant: \"a=9,fit\" is none"),
    ("a=-9", "--variant: \"a=-9\" is none"), ("a=9,fit=cower", "variants[0].fit: \"cower\" is not"),
    ("A=9", "variants[0].name: \"A\" is no variant's name"),
    ("a=9,widht=8", "variants[0].widht: unknown key, did you mean \"width\"?"),
  ])
  func `is refused with a variant that is none`(text: String, words: String) {
    let failure = #expect(throws: ManifestFailure.self) { try open(text) }
    #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
  }

  @Test(arguments: [
    ("/a/My List.csv.gz", "my-list"), ("-", "stdin"),
    ("https://a.example/x/Feed.xml?sig=s", "feed"),
    ("https://a.example/?a=b", "a"), ("/a/...txt", "list"), ("/a/2026.txt", "2026"),
  ])
  func `has a name that a job may have`(source: String, name: String) throws {
    if source.hasPrefix("/") {
      let file = ManifestTestFile("", named: String(source.dropFirst(3)))
      #expect(try ManifestFile.open(source: file.path, variants: []).settings.name == name)
    } else {
      #expect(try ManifestFile.open(source: source, variants: []).settings.name == name)
    }
  }

  @Test func `shows no secret of its URL`() throws {
    let job = try ManifestFile.open(source: "https://a.example/x.csv?token=s3cret", variants: [])
    #expect(!job.path.contains("s3cret") && job.sources[0].text.contains("s3cret"))
  }

  @Test(arguments: [
    ("-", true), ("urls.txt", true), ("a/feed.csv.gz", true), ("x.jsonl.zst", true),
    ("https://a.example/x", true), ("sitemap.xml", true), ("catalog.json", false),
    ("jobs/catalog", false), ("txt", false),
  ])
  func `is told from a manifest by its name`(text: String, isSource: Bool) {
    #expect(SourceAddress.isLikely(text) == isSource)
  }
}
