import LedgerCore
import Vocabulary

/// Where one run stands in the index of what is due, so that it never reads again what it settled,
/// or what others hold.
///
/// Due items of a host lie in three lanes. What a cursor has passed is settled by this run, leased by
/// it, or remembered in `passedOver`. It lives in memory only: after a restart, or after a claim that
/// could not be committed, a new one starts at the front and skips by the items' own `run`.
final class RunCursor {
  /// A place in a lane: after the row of this due time and number.
  struct Lane {
    var dueAt: Int64 = 0
    var number: Int64 = 0
    /// The next row is due at this time; nothing is to be found before. `Int64.max`: the lane has ended.
    var resumesAt: Int64 = 0

    func isOpen(_ horizon: Int64) -> Bool { resumesAt <= horizon }
  }

  struct Host {
    let number: Int64
    let name: String
    /// Items that were made due at once: read from its front again after each arrival.
    var atOnce = Lane()
    /// Items whose time has come: what is settled meanwhile goes behind the cursor's place or is
    /// skipped by its run.
    var expired = Lane(dueAt: 0, number: .max)
    /// Failed items in their cool-down, when a run takes them.
    var failed = Lane(dueAt: 0, number: .max)

    func isOpen(_ rule: DueRule) -> Bool {
      atOnce.isOpen(0) || expired.isOpen(rule.lastDue)
        || (rule.takesFailedLane && failed.isOpen(.max - 1))
    }
  }

  /// The job's counter of arrivals when the hosts were read last.
  var arrivals: Int64 = -1
  var hosts: [Host] = []
  /// Where the next claim goes on in the round of hosts.
  var nextHost = 0
  /// Entries that somebody held when the cursor passed them, or that had more items than one claim
  /// takes: looked at again until nothing of them is due. The value: items up to it were taken.
  var passedOver: [EntryKey: Int64] = [:]
  var passedOverLookedAt = Timestamp.distantPast

  func passOver(_ entry: EntryKey) {
    if passedOver[entry] == nil { passedOver[entry] = 0 }
  }

  /// Takes in hosts that appeared and opens every host's first lane again.
  func renew(hosts present: [(number: Int64, name: String)], arrivals: Int64) {
    self.arrivals = arrivals
    let known = Dictionary(uniqueKeysWithValues: hosts.map { ($0.number, $0) })
    hosts = present.map { host in
      var cursor = known[host.number] ?? Host(number: host.number, name: host.name)
      cursor.atOnce = Lane()
      return cursor
    }
    if nextHost >= hosts.count { nextHost = 0 }
  }
}

extension DueRule {
  /// The last due time that is taken.
  var lastDue: Int64 { takesAll ? .max - 1 : horizon.milliseconds }
  /// Whether failed items beyond the horizon are read for themselves.
  var takesFailedLane: Bool { takesFailed && !takesAll }

  func takes(state: ItemState, dueAt: Int64) -> Bool {
    dueAt <= lastDue || (takesFailed && state == .failed)
  }
}
