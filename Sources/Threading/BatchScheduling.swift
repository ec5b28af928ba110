import Glibc

/// How the kernel shares the processors between our threads and others.
package enum BatchScheduling {
  /// SCHED_BATCH of sched.h, which Swift does not see: it is for GNU's own programs there.
  package static let policy: CInt = 3

  /// The calling thread counts as work that is not waited for, and so does every thread and process that
  /// it starts from now on: it gets its share as before, but does not take the place of whoever wakes it.
  ///
  /// Tasks pass from thread to thread in pieces of microseconds: to transfers, the ledger and back. Left to
  /// itself, the kernel runs each thread as soon as there is a piece for it, and switches twice for each
  /// one; like this, whoever hands them out comes to his end first, and the other finds many.
  ///
  /// A thread that is scheduled in another way than most is left alone: somebody has decided that. Where
  /// it is forbidden, only the number of switches is another.
  package static func begin() {
    guard sched_getscheduler(0) == SCHED_OTHER else { return }
    var parameter = sched_param()
    _ = sched_setscheduler(0, policy, &parameter)
  }
}
