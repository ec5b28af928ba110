import Testing

@testable import Fetching

@Suite struct `A host's adaptive limit` {
  enum Event {
    case successes(Int)
    /// With so many under way.
    case trouble(Int)
  }

  struct Row: CustomTestStringConvertible {
    let testDescription: String
    let parallel: Int
    let events: [Event]
    /// After each event; nil: as many as the job allows.
    let limits: [Int?]

    init(_ name: String, parallel: Int = 6, _ events: [Event], _ limits: [Int?]) {
      testDescription = name
      self.parallel = parallel
      self.events = events
      self.limits = limits
    }
  }

  static let rows = [
    Row("no trouble", [.successes(1000)], [nil]),
    Row("halves what was under way", [.trouble(6)], [3]),
    Row(
      "halves again and again, down to one", [.trouble(6), .trouble(3), .trouble(1)], [3, 1, 1]),
    Row("halves what is less than the limit", [.trouble(2)], [1]),
    Row("never above the limit by those before", [.trouble(6), .trouble(6)], [3, 1]),
    Row("is one where one is allowed", parallel: 1, [.trouble(1), .successes(9)], [1, 1]),
    Row(
      "the documented one",
      [
        .trouble(6), .successes(3), .successes(4), .trouble(5), .successes(2), .successes(3),
        .successes(39), .successes(1),
      ], [3, 4, 5, 2, 3, 4, 4, 5]),
    Row("rises by one a round", [.trouble(2), .successes(9), .successes(1)], [1, 1, 2]),
    Row(
      "forgets the trouble at the top",
      [.trouble(6), .successes(3), .successes(4), .successes(49), .successes(1)],
      [3, 4, 5, 5, nil]),
    Row(
      "a job that allows less reaches its top sooner", parallel: 2,
      [.trouble(2), .successes(9), .successes(1)], [1, 1, nil]),
  ]

  @Test(arguments: rows)
  func `follows the table`(_ row: Row) {
    var limit = AdaptiveLimit()
    var number: UInt64 = 0
    let limits = row.events.map { event in
      number += 1
      switch event {
      case .successes(let count): for _ in 0..<count { limit.succeeded(atMost: row.parallel) }
      case .trouble(let active): limit.metTrouble(number, active: active, newest: number)
      }
      return limit.value
    }
    #expect(limits == row.limits)
  }

  @Test func `takes the troubles of one round for one`() {
    var limit = AdaptiveLimit()
    let news = (1...6).map { limit.metTrouble($0, active: 7 - Int($0), newest: 6) }
    #expect(news == [true, false, false, false, false, false])
    #expect(limit.value == 3)
    let later = limit.metTrouble(7, active: 3, newest: 9)
    #expect(later)
    #expect(limit.value == 1)
  }

  @Test func `allows the smaller of the job's number and its own`() {
    var limit = AdaptiveLimit()
    #expect((0...3).map { limit.allows($0, atMost: 2) } == [true, true, false, false])
    limit.metTrouble(1, active: 6, newest: 6)
    #expect((0...3).map { limit.allows($0, atMost: 6) } == [true, true, true, false])
  }
}
