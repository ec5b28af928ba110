import Testing

@testable import Manifests

/// A manifest's members behind its version, and what is said of them.
private func row(_ members: String, _ lines: String...) -> BadRow {
  BadRow(members: members, lines: lines)
}

struct BadRow: CustomTestStringConvertible, Sendable {
  let members: String
  let lines: [String]
  var testDescription: String { String(members.prefix(100)) }
}

@Suite struct `What is wrong with a manifest's settings` {
  @Test(arguments: [
    Row("{}", "version: is missing: write \"version\": 1"),
    Row(
      "{\"version\": 2}", "version: must be 1, the version that this program reads, not 2"),
    Row("{\"version\": \"1\"}", "version: must be the number 1, not a string"),
    Row("{\"version\": 1.0}"),
    Row("{\"version\": 1, \"version\": 1}", "version: given twice"),
    Row(
      "{\"verison\": 1}", "verison: unknown key, did you mean \"version\"?",
      "version: is missing: write \"version\": 1"),
    Row("{\"version\": 1, \"zzz\\n\\u001b[2J\": 1}", "[\"zzz\\u{a}\\u{1b}[2J\"]: unknown key"),
    Row("{\"version\": 1, \"$schema\": 1}", "$schema: must be a string, not a number"),
    Row("{\"version\": 1, \"sources\": \"-\"}", "sources: must be an array, not a string"),
    Row(
      "{\"version\": 1, \"sources\": [1, \"\", \"s3://a/b\", \"http:///x\", \"-\", \"-\"]}",
      "sources[0]: must be a string, not a number",
      "sources[1]: must be a path, a URL or \"-\"",
      "sources[2]: \"s3:\" is no kind of source: write a path, an http or https URL, or \"-\"",
      "sources[3]: http:///x: the URL names no host", "sources[5]: is the same as sources[4]"),
    Row(
      "{\"version\": 1, \"sources\": [\"/tmp/none.csv\", \"/tmp\"]}",
      "sources[0]: /tmp/none.csv: No such file or directory", "sources[1]: /tmp: is a folder"),
    Row("{\"version\": 1, \"fallback\": \"a.png\"}", "fallback: not supported yet"),
    Row("{\"version\": 1, \"items\": {\"id\": \"a\"}}", "items: must be an array, not an object"),
    Row("{\"version\": 1, \"items\": null}", "items: must be an array, not null"),
    Row(
      "{\"version\": 1, \"name\": \"../x\"}",
      "name: \"../x\" is no job name: up to 64 of a-z 0-9 . _ -, the first a letter or digit"),
    Row("{\"version\": 1, \"name\": 7}", "name: must be a string, not a number"),
  ])
  func `is said of the document`(row: Row) { #expect(problems(row.text) == row.lines) }

  @Test(arguments: [
    row("\"network\": []", "network: must be an object, not an array"),
    row(
      "\"network\": {\"concurrancy\": 1, \"PerHost\": 2, \"colour\": 3}",
      "network.concurrancy: unknown key, did you mean \"concurrency\"?",
      "network.PerHost: unknown key, did you mean \"perHost\"?", "network.colour: unknown key"),
    row(
      "\"network\": {\"concurrency\": 0}", "network.concurrency: must be from 1 to 1024, not 0"),
    row(
      "\"network\": {\"concurrency\": -1}", "network.concurrency: must be from 1 to 1024, not -1"),
    row(
      "\"network\": {\"concurrency\": 9223372036854775807}",
      "network.concurrency: must be from 1 to 1024, not 9223372036854775807"),
    row(
      "\"network\": {\"concurrency\": 92233720368547758070}",
      "network.concurrency: must be from 1 to 1024, not 92233720368547758070"),
    row(
      "\"network\": {\"concurrency\": 1e400, \"attempts\": -1e400}",
      "network.concurrency: must be from 1 to 1024, not 1e400",
      "network.attempts: must be from 1 to 100, not -1e400"),
    row(
      "\"network\": {\"concurrency\": 1.5}",
      "network.concurrency: must be a whole number, not 1.5"),
    row(
      "\"network\": {\"concurrency\": \"32\"}",
      "network.concurrency: must be a whole number, not a string"),
    row("\"network\": {\"concurrency\": 3e1, \"perHost\": 2.0}"),
    row("\"network\": {\"perHost\": 0}", "network.perHost: must be from 1 to 1024, not 0"),
    row("\"network\": {\"attempts\": 101}", "network.attempts: must be from 1 to 100, not 101"),
    row(
      "\"network\": {\"maxRedirects\": 51}", "network.maxRedirects: must be from 0 to 50, not 51"),
    row(
      "\"network\": {\"ratePerHost\": \"0/s\"}",
      "network.ratePerHost: \"0/s\" is no rate: write \"10/s\", \"100/m\" or \"1/h\""),
    row(
      "\"network\": {\"ratePerHost\": \"10/d\"}",
      "network.ratePerHost: \"10/d\" is no rate: write \"10/s\", \"100/m\" or \"1/h\""),
    row(
      "\"network\": {\"ratePerHost\": -1}",
      "network.ratePerHost: must be from one request a day to 1000000 a second, not -1"),
    row(
      "\"network\": {\"ratePerHost\": 1e400}",
      "network.ratePerHost: must be from one request a day to 1000000 a second, not 1e400"),
    row(
      "\"network\": {\"ratePerHost\": true}",
      "network.ratePerHost: must be a rate such as \"10/s\", not true or false"),
    row(
      "\"network\": {\"timeout\": \"60\"}",
      "network.timeout: \"60\" is no duration: write a number with ms, s, m, h or d, such as \"30s\""
    ),
    row(
      "\"network\": {\"timeout\": \"-5s\"}",
      "network.timeout: \"-5s\" is no duration: write a number with ms, s, m, h or d, such as "
        + "\"30s\""),
    row("\"network\": {\"timeout\": 0}", "network.timeout: must be from 1ms to 1d, not 0"),
    row("\"network\": {\"timeout\": -1}", "network.timeout: must be from 1ms to 1d, not -1"),
    row("\"network\": {\"timeout\": 1e400}", "network.timeout: must be from 1ms to 1d, not 1e400"),
    row(
      "\"network\": {\"timeout\": \"never\"}",
      "network.timeout: must be from 1ms to 1d, not \"never\""),
    row(
      "\"network\": {\"timeout\": null}",
      "network.timeout: must be a duration such as \"30s\", not null"),
    row(
      "\"network\": {\"maxBytes\": \"64 MiB\"}",
      "network.maxBytes: \"64 MiB\" is no size: write a number with KiB, MiB or GiB, such as "
        + "\"64MiB\""),
    row("\"network\": {\"maxBytes\": 0}", "network.maxBytes: must be from 1 B to 1 TiB, not 0"),
    row(
      "\"network\": {\"maxBytes\": 1.5}",
      "network.maxBytes: must be a whole number of bytes, not 1.5"),
    row(
      "\"network\": {\"maxBytes\": \"9000TiB\"}",
      "network.maxBytes: must be from 1 B to 1 TiB, not \"9000TiB\""),
    row(
      "\"network\": {\"maxBytes\": 9223372036854775808}",
      "network.maxBytes: must be from 1 B to 1 TiB, not 9223372036854775808"),
    row(
      "\"network\": {\"backoff\": {\"initial\": \"40s\", \"min\": 1}}",
      "network.backoff.min: unknown key",
      "network.backoff: initial (40s) is longer than max (30s)"),
    row(
      "\"network\": {\"allow\": [\"10.0.0.300\", 5, \"10.0.0.0/33\"]}",
      "network.allow[1]: must be a string, not a number",
      "network.allow[0]: \"10.0.0.300\" is no address and no block of addresses such as "
        + "\"127.0.0.0/8\"",
      "network.allow[2]: \"10.0.0.0/33\" is no address and no block of addresses such as "
        + "\"127.0.0.0/8\""),
    row(
      "\"network\": {\"proxy\": \"http://p\"}",
      "network.proxy: names no port: write it as \"http://HOST:PORT\""),
    row(
      "\"network\": {\"proxy\": \"p:3128\"}",
      "network.proxy: is no proxy: write it as \"http://HOST:PORT\", or with https or socks5"),
    row(
      "\"network\": {\"proxy\": \"ftp://p:21\"}",
      "network.proxy: is no proxy: write it as \"http://HOST:PORT\", or with https or socks5"),
    row(
      "\"network\": {\"proxy\": \"http://p:3128/path\"}",
      "network.proxy: names no port: write it as \"http://HOST:PORT\""),
    row(
      "\"network\": {\"proxy\": \"http://p:99999\"}",
      "network.proxy: is no proxy: write it as \"http://HOST:PORT\", or with https or socks5"),
    row(
      "\"network\": {\"proxy\": \"socks4://p:1080\"}",
      "network.proxy: socks4:// proxies are not supported: use http, https or socks5"),
    row("\"network\": {\"proxy\": 8080}", "network.proxy: must be a string, not a number"),
    row("\"network\": {\"caFile\": 1}", "network.caFile: must be a file's path, not a number"),
    row(
      "\"network\": {\"caFile\": \"none.pem\"}",
      "network.caFile: \"none.pem\" cannot be read: No such file or directory"),
    row(
      "\"network\": {\"caFile\": \"/tmp\"}",
      "network.caFile: \"/tmp\" is not a regular file"),
    row(
      "\"network\": {\"caFile\": \"job.json\"}",
      "network.caFile: \"job.json\" holds no certificate in PEM form "
        + "(-----BEGIN CERTIFICATE-----)"),
    row(
      "\"hosts\": [{\"match\": \"a.b\", \"network\": {\"caFile\": \"x\"}}]",
      "hosts[0].network.caFile: \"x\" cannot be read: No such file or directory"),
    row(
      "\"network\": {\"userAgent\": \"a\\r\\nb\"}",
      "network.userAgent: must not be empty or hold control characters"),
  ])
  func `is said of the network`(row: BadRow) {
    #expect(problems("{\"version\": 1, \(row.members)}") == row.lines)
  }

  @Test(arguments: [
    row(
      "\"network\": {\"headers\": {\"Authorization\": \"Bearer abc\"}}",
      "network.headers.Authorization: a credential does not belong in a manifest: write "
        + "${AUTHORIZATION} in its place and set AUTHORIZATION in the environment"),
    row(
      "\"network\": {\"headers\": {\"x-api-key\": \"abc\"}}",
      "network.headers.x-api-key: a credential does not belong in a manifest: write ${X_API_KEY} in "
        + "its place and set X_API_KEY in the environment"),
    row(
      "\"network\": {\"headers\": {\"Cookie\": \"${NOT_THERE}\", \"X-A\": \"${SET}${EMPTY}\"}}",
      "network.headers.Cookie: the environment variable NOT_THERE is not set or is empty",
      "network.headers.X-A: the environment variable EMPTY is not set or is empty"),
    row(
      "\"network\": {\"headers\": {\"Cookie\": \"${A B}\", \"X\": \"${\"}}",
      "network.headers.Cookie: holds a \"${\" that is no ${NAME}",
      "network.headers.X: holds a \"${\" that is no ${NAME}"),
    row(
      "\"network\": {\"headers\": {\"X-A\": \"${BROKEN}\", \"X-B\": \"a\\nb\"}}",
      "network.headers.X-A: must not hold control characters",
      "network.headers.X-B: must not hold control characters"),
    row(
      "\"network\": {\"headers\": {\"A\": \"1\", \"a\": \"2\", \"Range\": \"x\", \"b c\": \"3\"}}",
      "network.headers.a: given twice: header names have no case",
      "network.headers.Range: is set by thumbworker itself",
      "network.headers[\"b c\"]: is no header's name"),
    row(
      "\"network\": {\"headers\": {\"User-Agent\": \"x\", \"X\": 1}}",
      "network.headers.User-Agent: set network.userAgent instead",
      "network.headers.X: must be a string, not a number"),
    row("\"network\": {\"headers\": []}", "network.headers: must be an object, not an array"),
  ])
  func `is said of headers, never with their values`(row: BadRow) {
    let environment = ["SET": "s", "EMPTY": "", "BROKEN": "a\r\nHost: x"]
    #expect(
      problems("{\"version\": 1, \(row.members)}", environment: environment) == row.lines)
  }

  @Test(arguments: [
    row(
      "\"cache\": {\"policy\": \"rfc911\"}",
      "cache.policy: \"rfc911\" is not rfc9111, kingfisher or ignore, did you mean \"rfc9111\"?"),
    row("\"cache\": {\"shared\": 1}", "cache.shared: must be true or false, not a number"),
    row(
      "\"cache\": {\"defaultTTL\": \"2w\", \"maxTTL\": \"20000000d\"}",
      "cache.defaultTTL: \"2w\" is no duration: write a number with ms, s, m, h or d, such as "
        + "\"30s\"", "cache.maxTTL: must be from 0s to never, not \"20000000d\""),
    row(
      "\"cache\": {\"minTTL\": \"2h\", \"maxTTL\": \"1h\"}",
      "cache: minTTL (2h) is longer than maxTTL (1h)"),
    row(
      "\"cache\": {\"targets\": [\"a b\", \"X\", \"x\"]}",
      "cache.targets[0]: \"a b\" is no header's name", "cache.targets[2]: \"x\" is given twice"),
    row(
      "\"cache\": {\"minTTL\": null}", "cache.minTTL: must be a duration such as \"30s\", not null"),
    row("\"cache\": {\"maxTTL\": null, \"staleIfError\": \"never\", \"defaultTTL\": 0}"),
    row("\"cache\": {\"ttl\": 1, \"ttl\": 1}", "cache.ttl: unknown key", "cache.ttl: unknown key"),
    row("\"cache\": {\"shared\": true, \"shared\": false}", "cache.shared: given twice"),
    row("\"hosts\": {}", "hosts: must be an array, not an object"),
    row(
      "\"hosts\": [{}, {\"match\": \"https://a\"}, 5]", "hosts[0].match: is missing: name a host",
      "hosts[1].match: \"https://a\" is no host: write \"cdn.example.com\" or \"*.example.com\"",
      "hosts[2]: must be an object, not a number"),
    row(
      "\"hosts\": [{\"match\": \"*.a.b\"}, {\"match\": \"*.A.b\", \"cahce\": {}}]",
      "hosts[1].cahce: unknown key, did you mean \"cache\"?",
      "hosts[1].match: \"*.A.b\" is already matched by hosts[0]: this one never applies"),
    row(
      "\"hosts\": [{\"match\": \"a.b\", \"network\": {\"concurrency\": 1}, "
        + "\"cache\": {\"minTTL\": -1}}]",
      "hosts[0].network.concurrency: counts over all hosts: set it in the job's network",
      "hosts[0].cache.minTTL: must be from 0s to never, not -1"),
    row(
      "\"limits\": {\"maxPixels\": 0, \"maxFrames\": 0, \"decodeTimeout\": \"2h\", \"memory\": "
        + "\"1MiB\"}", "limits.maxPixels: must be from 1 to 10000000000, not 0",
      "limits.maxFrames: must be from 1 to 100000, not 0",
      "limits.decodeTimeout: must be from 100ms to 1h, not \"2h\"",
      "limits.memory: must be from 128 MiB to 1 TiB, not \"1MiB\""),
    row(
      "\"limits\": {\"formats\": [\"jpg\", \"svg\", \"png\", \"png\", \"bpm\"]}",
      "limits.formats[0]: \"jpg\" is not jpeg, png, webp, gif, avif, heic, tiff, svg, jp2, bmp or "
        + "pdf, did you mean \"jpeg\"?",
      "limits.formats[3]: \"png\" is given twice",
      "limits.formats[4]: \"bpm\" is not jpeg, png, webp, gif, avif, heic, tiff, svg, jp2, bmp or "
        + "pdf, did you mean \"bmp\"?"),
    row("\"limits\": {\"formats\": []}", "limits.formats: is empty: no picture could be read"),
  ])
  func `is said of cache, hosts and limits`(row: BadRow) {
    #expect(problems("{\"version\": 1, \(row.members)}") == row.lines)
  }
}
