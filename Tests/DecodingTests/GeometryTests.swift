import Imaging
import Testing
import Vocabulary

@Suite struct `The layout of a variant` {
  struct Row: CustomTestStringConvertible, Sendable {
    var fit: VariantSpec.Fit
    var source: PixelSize
    var box: (Int?, Int?)
    var enlarge = false
    var scaled: PixelSize
    var frame: PixelSize

    init(
      _ fit: VariantSpec.Fit, _ source: PixelSize, _ box: (Int?, Int?), enlarge: Bool = false,
      _ scaled: PixelSize, _ frame: PixelSize? = nil
    ) {
      self.fit = fit
      self.source = source
      self.box = box
      self.enlarge = enlarge
      self.scaled = scaled
      self.frame = frame ?? scaled
    }

    var testDescription: String {
      "\(source) \(fit) \(box.0 ?? 0)×\(box.1 ?? 0)\(enlarge ? " enlarged" : "")"
    }
  }

  static let rows = [
    Row(.inside, PixelSize(5920, 6736), (nil, 480), PixelSize(422, 480)),
    Row(.inside, PixelSize(4000, 3000), (640, nil), PixelSize(640, 480)),
    Row(.inside, PixelSize(4000, 3000), (640, 100), PixelSize(133, 100)),
    Row(.inside, PixelSize(40, 30), (200, 200), PixelSize(40, 30)),
    Row(.inside, PixelSize(40, 30), (200, 200), enlarge: true, PixelSize(200, 150)),
    Row(.inside, PixelSize(10_000, 10), (100, 100), PixelSize(100, 1)),
    Row(.inside, PixelSize(3, 3000), (100, 100), PixelSize(1, 100)),
    Row(.inside, PixelSize(1, 1), (1, 1), PixelSize(1, 1)),
    Row(.inside, PixelSize(3, 2), (nil, nil), PixelSize(3, 2)),
    Row(.inside, PixelSize(4, 3), (2, nil), PixelSize(2, 2)),
    Row(.outside, PixelSize(400, 300), (200, 200), PixelSize(267, 200)),
    Row(.outside, PixelSize(100, 300), (200, 200), PixelSize(100, 300)),
    Row(.outside, PixelSize(100, 300), (200, 200), enlarge: true, PixelSize(200, 600)),
    Row(.cover, PixelSize(400, 300), (200, 200), PixelSize(267, 200), PixelSize(200, 200)),
    Row(.cover, PixelSize(300, 1000), (400, 400), PixelSize(300, 1000), PixelSize(300, 300)),
    Row(.cover, PixelSize(300, 200), (400, 100), PixelSize(300, 200), PixelSize(300, 75)),
    Row(
      .cover, PixelSize(40, 30), (200, 200), enlarge: true, PixelSize(267, 200),
      PixelSize(200, 200)),
    Row(.cover, PixelSize(400, 300), (200, nil), PixelSize(200, 150)),
    Row(.contain, PixelSize(400, 300), (200, 200), PixelSize(200, 150), PixelSize(200, 200)),
    Row(.contain, PixelSize(40, 30), (200, 200), PixelSize(40, 30), PixelSize(200, 200)),
    Row(.fill, PixelSize(400, 300), (200, 200), PixelSize(200, 200)),
    Row(.fill, PixelSize(100, 300), (200, 200), PixelSize(100, 200)),
    Row(.fill, PixelSize(100, 300), (200, 200), enlarge: true, PixelSize(200, 200)),
  ]

  @Test(arguments: rows)
  func `follows the table`(_ row: Row) {
    let layout = Layout(
      source: row.source, width: row.box.0, height: row.box.1, fit: row.fit, enlarge: row.enlarge)
    #expect(layout.scaled == row.scaled)
    #expect(layout.frame == row.frame)
  }

  /// Sizes as a fixed sequence of any shape and magnitude gives them.
  private func forEachSize(
    _ count: Int, _ body: (_ source: PixelSize, _ box: PixelSize) -> Void
  ) {
    var state: UInt64 = 88_172_645_463_325_252
    func next(_ limit: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return 1 + Int(state % UInt64(limit))
    }
    for index in 0..<count {
      let reach = [9, 300, 8000][index % 3]
      body(PixelSize(next(reach), next(reach)), PixelSize(next(reach), next(2000)))
    }
  }

  @Test func `inside holds its side exactly and rounds the other half up`() {
    forEachSize(4000) { source, box in
      let size = Layout(
        source: source, width: box.width, height: box.height, fit: .inside, enlarge: true
      ).frame
      #expect(box.covers(size))
      #expect(size.width == box.width || size.height == box.height)
      let width = max(1, Int((Double(source.width * box.height) / Double(source.height)) + 0.5))
      let height = max(1, Int((Double(source.height * box.width) / Double(source.width)) + 0.5))
      let byWidth = PixelSize(box.width, height)
      let byHeight = PixelSize(width, box.height)
      #expect(size == byWidth || size == byHeight)
    }
  }

  @Test func `never enlarges unless asked`() {
    forEachSize(4000) { source, box in
      for fit in VariantSpec.Fit.allCases {
        let layout = Layout(
          source: source, width: box.width, height: box.height, fit: fit, enlarge: false)
        #expect(source.covers(layout.scaled), "\(source) \(fit) \(box)")
      }
    }
  }

  @Test func `cuts from what is there, or pads it, never both`() {
    forEachSize(4000) { source, box in
      for fit in VariantSpec.Fit.allCases {
        for enlarge in [false, true] {
          let layout = Layout(
            source: source, width: box.width, height: box.height, fit: fit, enlarge: enlarge)
          let isCut = layout.scaled.covers(layout.frame)
          let isPadded = layout.frame.covers(layout.scaled)
          #expect(isCut || isPadded, "\(source) \(fit) \(box)")
          #expect(min(layout.frame.width, layout.frame.height) >= 1)
          if fit == .contain || (fit == .cover && layout.scaled.covers(box)) {
            #expect(layout.frame == box)
          }
        }
      }
    }
  }

  @Test(arguments: [
    (PixelSize(10_000, 1), PixelSize(200, 200), PixelSize(3, 1), PixelSize(600, 200)),
    (PixelSize(1, 10_000), PixelSize(200, 100), PixelSize(1, 3), PixelSize(200, 600)),
    (PixelSize(9000, 30), PixelSize(200, 60), PixelSize(102, 30), PixelSize(204, 60)),
    (PixelSize(400, 300), PixelSize(800, 800), PixelSize(400, 300), PixelSize(1067, 800)),
    (PixelSize(10_000, 400), PixelSize(200, 200), PixelSize(10_000, 400), PixelSize(5000, 200)),
  ])
  func `scales no more than the box will show of a long and thin picture`(
    _ source: PixelSize, _ box: PixelSize, _ window: PixelSize, _ scaled: PixelSize
  ) {
    let layout = Layout(
      source: source, width: box.width, height: box.height, fit: .cover, enlarge: true)
    #expect(layout.window == window && layout.scaled == scaled && layout.frame == box)
    #expect(layout.level == (window == source ? scaled : source))
  }

  @Test func `takes from a window all that the box shows`() {
    forEachSize(4000) { source, box in
      let layout = Layout(
        source: source, width: box.width, height: box.height, fit: .cover, enlarge: true)
      #expect(source.covers(layout.window) && layout.scaled.covers(box), "\(source) \(box)")
      #expect(!layout.isCapped)
    }
  }

  @Test func `is capped where cover finds too few pixels`() {
    forEachSize(2000) { source, box in
      let layout = Layout(
        source: source, width: box.width, height: box.height, fit: .cover, enlarge: false)
      #expect(layout.isCapped == !source.covers(box), "\(source) \(box)")
      #expect(layout.isCapped == (layout.frame != box))
    }
  }

  @Test func `puts a window where the position says`() {
    let part = PixelSize(10, 20)
    let whole = PixelSize(110, 70)
    let places: [(VariantSpec.Position, Int, Int)] = [
      (.centre, 50, 25), (.north, 50, 0), (.northeast, 100, 0), (.east, 100, 25),
      (.southeast, 100, 50), (.south, 50, 50), (.southwest, 0, 50), (.west, 0, 25),
      (.northwest, 0, 0), (.attention, 50, 25), (.entropy, 50, 25),
    ]
    for (position, x, y) in places {
      #expect(position.offset(of: part, in: whole) == (x, y), "\(position)")
    }
  }
}

@Suite struct `The plan of levels` {
  private func plan(
    _ sizes: [PixelSize], of source: PixelSize = PixelSize(4000, 3000)
  ) -> LevelPlan {
    LevelPlan(sizes: sizes, placeholderOf: source)
  }

  @Test(arguments: [
    ([(1280, 960), (96, 72)], (4000, 3000), (96, 72)),
    ([(1280, 960), (9, 7)], (4000, 3000), (1280, 960)),
    ([], (4000, 3000), (64, 48)), ([(9, 7)], (4000, 3000), (64, 48)),
    ([(500, 5)], (1000, 10), (64, 1)), ([(1000, 10)], (1000, 10), (1000, 10)),
  ])
  func `has a level for the placeholder, one of the variants' where that will do`(
    _ sizes: [(Int, Int)], _ source: (Int, Int), _ expected: (Int, Int)
  ) {
    let plan = plan(sizes.map { PixelSize($0.0, $0.1) }, of: PixelSize(source.0, source.1))
    #expect(plan.placeholder == PixelSize(expected.0, expected.1))
    #expect(plan.levels.map(\.size).contains(plan.placeholder))
  }

  @Test func `takes each size from the smallest one twice as large`() {
    let plan = plan([96, 320, 1280, 640].map { PixelSize($0, $0 * 3 / 4) })
    #expect(plan.levels.map(\.size.width) == [1280, 640, 320, 96])
    #expect(plan.levels.map(\.source) == [nil, 0, 1, 2])
    #expect(plan.levels.count { $0.source == nil } == 1)
  }

  @Test func `takes sizes too near to each other from the decoded picture`() {
    let plan = plan([PixelSize(200, 200), PixelSize(150, 150), PixelSize(90, 90)])
    #expect(plan.levels.map(\.source) == [nil, nil, 0])
    #expect(plan.levels.count { $0.source == nil } == 2)
  }

  @Test func `makes equal sizes once`() {
    #expect(plan([PixelSize(40, 40), PixelSize(40, 40)]).levels.count == 1)
  }

  @Test(arguments: [
    (4032, 3024, 1280, 1), (5760, 3840, 1280, 2), (4032, 3024, 320, 4), (4032, 3024, 96, 8),
    (1280, 960, 320, 2), (1280, 960, 321, 1), (100, 100, 100, 1),
  ])
  func `shrinks on load to at least twice the largest`(
    _ width: Int, _ height: Int, _ target: Int, _ factor: Int
  ) {
    let size = PixelSize(target, height * target / width)
    #expect(plan([size]).shrinkOnLoad(of: PixelSize(width, height)) == factor)
  }
}
