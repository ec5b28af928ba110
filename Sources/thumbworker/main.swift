import Commands
import Glibc

// First of all: every thread that is started later inherits the blocked signals.
let interruption = Interruption()
let arguments = Array(CommandLine.arguments.dropFirst())

Task.detached {
  exit(await Program.main(arguments, interruption: interruption))
}

// Not an asynchronous main: its main thread would wait with every signal let through.
interruption.wait()
