// thumbworker-bench: how fast each stage is, beside plain C that does the least such a stage can do.
//
//   BenchOptions ──► Stage.prepare: corpus, origin ──► Comparison: contenders, run in turn
//                                                        │  each round of each in a process of its own
//   ResultTable, ResultJSON ◄── Spread ◄── Sample ◄──────┘
//
// A contender is this program again (`measure`, the folder Work), the built thumbworker, or a yardstick:
// a C program of the folder that `--yardsticks` names.

import Glibc

let arguments = Array(CommandLine.arguments.dropFirst())
do {
  if arguments.first == "measure" {
    try Measurement.start(arguments.dropFirst())
    while true { pause() }
  } else {
    let options = try BenchOptions(arguments)
    if options.asksForHelp { print(BenchOptions.help) } else { try Bench(options).run() }
  }
} catch let failure as BenchFailure {
  say("thumbworker-bench: \(failure.message)")
  exit(failure.exitCode)
} catch {
  say("thumbworker-bench: \(error)")
  exit(3)
}
