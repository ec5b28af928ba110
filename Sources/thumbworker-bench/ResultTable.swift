/// A stage's figures for people: median (least–most) of the rounds.
struct ResultTable {
  private let result: StageResult

  init(_ result: StageResult) { self.result = result }

  var text: String {
    let comparison = result.comparison
    let heading = """
      \(comparison.stage.rawValue): \(comparison.conditions); \(result.rounds) rounds, \
      load \(Self.figure(result.loadBefore)) to \(Self.figure(result.loadAfter))
      """
    return ([heading] + Self.aligned([columns] + result.rows.map(cells))).joined(separator: "\n")
  }

  private var columns: [String] {
    [
      "", "\(result.comparison.unit)s/s", "of floor", "CPU µs/\(result.comparison.unit)",
      "of floor", "peak MB",
    ]
  }

  private func cells(_ row: Comparison.Row) -> [String] {
    let floor = result.rows.floor(of: row)
    func ratio(_ value: (Sample) -> Double) -> String {
      guard let floor else { return "" }
      return Self.cell(Spread(zip(row.samples, floor.samples).map { value($0) / value($1) }))
    }
    func spread(_ value: (Sample) -> Double) -> String { Self.cell(Spread(row.samples.map(value))) }
    return [
      row.part.isEmpty ? row.contender : "\(row.part): \(row.contender)",
      spread(\.itemsPerSecond), ratio(\.itemsPerSecond), spread(\.microsecondsPerItem),
      ratio(\.microsecondsPerItem), spread(\.peakMegabytes),
    ]
  }

  private static func cell(_ spread: Spread) -> String {
    "\(figure(spread.median)) (\(figure(spread.min))–\(figure(spread.max)))"
  }

  /// With three digits, or all before the point.
  static func figure(_ value: Double) -> String {
    if value >= 100 { return "\(Int(value.rounded()))" }
    let places = value >= 10 ? 1 : 2
    let scale = places == 1 ? 10 : 100
    let scaled = Int((value * Double(scale)).rounded())
    let digits = "\(scaled % scale)"
    return "\(scaled / scale)." + String(repeating: "0", count: places - digits.count) + digits
  }

  private static func aligned(_ rows: [[String]]) -> [String] {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max()! }
    return rows.map { row in
      let cells = zip(row, widths).enumerated().map { column, cell in
        let blanks = String(repeating: " ", count: cell.1 - cell.0.count)
        return column == 0 ? cell.0 + blanks : blanks + cell.0
      }
      return "  " + cells.joined(separator: "  ")
    }
  }
}
