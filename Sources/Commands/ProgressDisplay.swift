import Pipeline
import Reporting
import Threading
import Vocabulary

/// Shows how far a run is, until it is cancelled.
struct ProgressDisplay {
  enum Style: String, CaseIterable {
    case auto, bar, lines, none
  }

  let style: Style
  let job: String
  let board: RunBoard
  let console: Console
  let sleeper: any Sleeper

  /// Rates are counted over the last so many looks.
  private static let window = 5

  func run() async {
    let isBar = style == .bar || (style == .auto && console.isTerminal)
    guard style != .none else { return }
    var looks: [(Duration, RunBoard.Snapshot)] = [(sleeper.now, board.snapshot)]
    var ticks = 0
    // Ends by cancellation.
    while (try? await sleeper.sleep(for: isBar ? .milliseconds(250) : .seconds(1))) != nil {
      let now = sleeper.now
      let snapshot = board.snapshot
      ticks += 1
      let line = ProgressLine(
        job: job, now: snapshot, before: looks[0].1, elapsed: now - looks[0].0)
      if isBar {
        console.draw(bar: Self.bar(snapshot, line.text, width: console.width))
      } else if ticks % 5 == 0 {
        console.complain([line.text])
      }
      looks.append((now, snapshot))
      if looks.count > Self.window { looks.removeFirst() }
    }
    if isBar { console.draw(bar: nil) }
  }

  /// `████░░░░░░ catalog: 120/400 items, …`, cut to the terminal's width.
  private static func bar(_ snapshot: RunBoard.Snapshot, _ text: String, width: Int) -> String {
    let cells = 20
    let full = snapshot.items == 0 ? 0 : min(cells, snapshot.settled * cells / snapshot.items)
    let bar =
      String(repeating: "█", count: full) + String(repeating: "░", count: cells - full)
    return String("\(bar) \(text)".prefix(max(20, width - 1)))
  }
}
