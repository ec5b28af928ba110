import Testing
import Vocabulary

@testable import HTTPTransfer

@Suite struct `The table of names` {
  private func exchange(_ number: Int) throws -> Exchange {
    let url = try ItemURL("http://h\(number).example/")
    return Exchange(
      ExchangeRequest(url: url, makeSink: { _ throws(FailureRecord) in throw .unexpected }))
  }

  private let somewhere = NameAnswer.addresses([NetworkAddress("192.0.2.1")!])

  /// Looks one name up from its first exchange to libcurl.
  private func tell(_ table: inout NameTable, _ number: Int, at now: Int64) throws -> [String] {
    let exchange = try exchange(number)
    guard
      table.need(exchange, exchange.request.url.host, arrivedAt: now, at: now, spelling: { $0 })
        == .wait
    else { return [] }
    let name = table.nextLookup(at: now) ?? ""
    let waited = table.take(somewhere, for: name, at: now).map(\.exchange)
    #expect(waited === [exchange])
    return table.directives(for: exchange.request.url.host, port: 80, turn: number)
  }

  @Test func `tells libcurl each name and port once, and again within one turn`() throws {
    var table = NameTable(fixed: [])
    let first = try tell(&table, 1, at: 0)
    let later = [(80, 1), (80, 2), (81, 3)].map {
      table.directives(for: "h1.example", port: $0, turn: $1)
    }
    #expect(first == ["h1.example:80:192.0.2.1"])
    #expect(later == [["h1.example:80:192.0.2.1"], [], ["h1.example:81:192.0.2.1"]])
  }

  @Test func `spells IPv6 addresses in brackets`() throws {
    var table = NameTable(fixed: [])
    let exchange = try exchange(1)
    _ = table.need(exchange, exchange.request.url.host, arrivedAt: 0, at: 0, spelling: { $0 })
    let name = table.nextLookup(at: 0) ?? ""
    let both = ["2001:db8::1", "192.0.2.1"].compactMap { NetworkAddress($0) }
    _ = table.take(.addresses(both), for: name, at: 0)
    let lines = table.directives(for: "h1.example", port: 80, turn: 1)
    #expect(lines == ["h1.example:80:[2001:db8::1],192.0.2.1"])
  }

  @Test func `forgets expired names, here and in libcurl`() throws {
    var table = NameTable(fixed: [])
    var lines: [String] = []
    for number in 0..<12_000 {
      lines += try tell(&table, number, at: Int64(number) * 1000)
      #expect(table.count < 4200)
    }
    #expect(lines.count { $0.hasPrefix("-") } > 8000)
    #expect(lines.count { !$0.hasPrefix("-") } == 12_000)
  }

  @Test func `answers one name for all its spellings`() throws {
    var table = NameTable(fixed: [])
    let exchanges = try [1, 2].map(exchange)
    let decisions = exchanges.map { exchange in
      table.need(
        exchange, exchange.request.url.host, arrivedAt: 0, at: 0, spelling: { _ in "same.example" })
    }
    let lookups = [table.nextLookup(at: 0), table.nextLookup(at: 0)]
    let waited = table.take(somewhere, for: "same.example", at: 0).map(\.exchange)
    #expect(decisions == [.wait, .wait])
    #expect(lookups == ["same.example", nil])
    #expect(waited === exchanges)
  }
}

extension FailureRecord {
  fileprivate static let unexpected = FailureRecord(
    code: "unexpected", message: "", hint: "", disposition: .giveUp)
}

private func === (a: [Exchange], b: [Exchange]) -> Bool {
  a.elementsEqual(b) { $0 === $1 }
}
