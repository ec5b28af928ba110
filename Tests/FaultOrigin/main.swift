// A web server that does what no web server should, on loopback only: to see what thumbworker makes of
// it. `deploy/fault-origin` builds and runs it.

import Glibc
import TestSupport

let usage = """
  usage: fault-origin [--port N]               serve on http://127.0.0.1:N/ (8918), N + 1 as well
         fault-origin --manifest [--port N]    print a manifest that asks for everything

  """

func complain(_ text: String) { _ = text.withCString { write(2, $0, strlen($0)) } }

var port: UInt16 = 8918
var printsManifest = false
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
  switch argument {
  case "--manifest": printsManifest = true
  case "--port":
    guard let number = arguments.popFirst().flatMap({ UInt16($0) }), (1..<65_535) ~= number else {
      complain(usage)
      exit(2)
    }
    port = number
  case "--help", "-h":
    print(usage, terminator: "")
    exit(0)
  default:
    complain(usage)
    exit(2)
  }
}

let faults = FaultCatalogue.faults(lateOrigin: "http://late.localhost:\(port + 1)/late")
let manifest = FaultManifest(faults: faults, port: port)
if printsManifest {
  print(manifest.text)
  exit(0)
}

do {
  let late = try OriginServer.start(port: port + 1, acceptDelay: .seconds(1)) { _ in
    .ok(picture("late"))
  }
  let origin = try OriginServer.start(port: port) { request in
    switch request.path {
    case "/": .ok(manifest.page, [("Content-Type", "text/plain")])
    case "/manifest.json": .ok(manifest.text, [("Content-Type", "application/json")])
    default:
      faults.first { request.path == "/\($0.name)" }?.respond(request) ?? .status(404)
    }
  }
  print("every fault on \(origin.url("/")) until interrupted")
  fflush(nil)
  withExtendedLifetime((origin, late)) { while true { pause() } }
} catch {
  complain("fault-origin: \(error); is port \(port) or \(port + 1) taken? give --port N\n")
  exit(3)
}
