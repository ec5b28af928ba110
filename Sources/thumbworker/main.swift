import Commands
import Glibc
import Threading

// First of all: every thread that is started later inherits the blocked signals and how it is scheduled.
BatchScheduling.begin()
let interruption = Interruption()
let arguments = Array(CommandLine.arguments.dropFirst())

Task.detached {
  let status = await Program.main(arguments, interruption: interruption)
  // Not exit: it would have libcrypto tidy up beneath threads that still use it. Everything is written.
  _exit(status)
}

// Not an asynchronous main: its main thread would wait with every signal let through.
interruption.wait()
