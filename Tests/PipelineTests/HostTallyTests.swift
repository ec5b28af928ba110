import Testing

@testable import Pipeline

@Suite struct `A tally of hosts` {
  @Test func `is exact while the hosts are few`() {
    var tally = HostTally()
    for number in 1...HostTally.places { tally.add("h\(number)", times: number) }
    let worst = tally.worst(3)
    #expect(worst.map(\.host) == ["h32", "h31", "h30"] && worst.map(\.count) == [32, 31, 30])
  }

  @Test func `never misses what is frequent among very many, nor counts too much`() {
    var tally = HostTally()
    for number in 1...100_000 {
      tally.add("rare\(number)")
      if number % 10 == 0 { tally.add("often") }
      if number % 20 == 0 { tally.add("sometimes") }
    }
    let worst = tally.worst(2)
    #expect(worst.map(\.host) == ["often", "sometimes"])
    #expect((5000...10_000).contains(worst[0].count) && worst[1].count <= 5000)
  }
}
