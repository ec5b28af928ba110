import LedgerCore
import Synchronization
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
  /// Whose claims were given back since a file had gone.
  private let doubted = Mutex<Set<EntryKey>>([])

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
  }

  var fileLook: FileLook { options.force ? .all : worker.fileTrust.look(at: worker.now) }

  /// Whether its files are looked for even where the ledger says that they are there.
  func looksForFiles(of entry: EntryKey) -> Bool {
    fileLook.takes(entry, in: run) || doubted.withLock { $0.contains(entry) }
  }

  func doubtFiles(of entry: EntryKey) { doubted.withLock { _ = $0.insert(entry) } }
}
