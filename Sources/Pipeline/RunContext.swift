import LedgerCore
import Vocabulary

/// What the claims of one run share.
struct RunContext: Sendable {
  let worker: Worker
  let settings: JobSettings
  let options: RunOptions
  let job: JobNumber
  let run: RunNumber
  /// When it began. What an entry's server has said since, it is not asked again.
  let started: Timestamp
  let board: RunBoard
  let hosts: HostWatch
  let leases: LeaseKeeper
  let recipes: RecipeBook
  let renderings = RenderingDesk()
}
