import LedgerCore
import Vocabulary

/// What the claims of one run share.
final class RunContext: Sendable {
  let worker: Worker
  let book: SettingsBook
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
  let files: FileTrust

  var settings: JobSettings { book.job }

  init(
    worker: Worker, settings: JobSettings, options: RunOptions, job: JobNumber, run: RunNumber,
    started: Timestamp, board: RunBoard, hosts: HostWatch, leases: LeaseKeeper, recipes: RecipeBook
  ) {
    self.worker = worker
    book = SettingsBook(settings)
    self.options = options
    self.job = job
    self.run = run
    self.started = started
    self.board = board
    self.hosts = hosts
    self.leases = leases
    self.recipes = recipes
    files = FileTrust(isGiven: !options.force)
  }
}
