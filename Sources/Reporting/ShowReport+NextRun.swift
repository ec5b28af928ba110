import HTTPCaching
import LedgerCore
import Pipeline
import Vocabulary

/// What the next run will do with a URL and why, in a sentence.
struct NextRunWords {
  private let view: EntryStory.View
  private let now: Timestamp

  init(_ view: EntryStory.View, now: Timestamp) {
    self.view = view
    self.now = now
  }

  /// For scripts.
  var action: String {
    switch view.nextStep {
    case .nothing: "nothing"
    case .wait: "wait"
    case .ask(_, _, let conditions): conditions.lines.isEmpty ? "download" : "validate"
    case .download, .downloadTarget: "download"
    }
  }

  /// For scripts: the verdict's own names.
  var reason: String {
    switch view.nextStep {
    case .nothing: "fresh"
    case .wait(_, let failure, _): failure.failure.code
    case .ask(_, let reason, _):
      switch reason {
      case .nothingStored: "nothing-stored"
      case .copyMissing: "copy-missing"
      case .forced: "forced"
      case .stale(let reason): reason.rawValue
      }
    case .download, .downloadTarget: "nothing-stored"
    }
  }

  /// The first moment at which a run would make a request.
  var at: Timestamp {
    switch view.nextStep {
    case .nothing(let until), .wait(_, _, let until): until
    case .ask, .download, .downloadTarget: now
    }
  }

  var text: String {
    switch view.nextStep {
    case .nothing(let until): "no request before \(until): it is fresh"
    case .wait(let hop, let failure, let until): wait(hop, failure, until: until)
    case .ask(let hop, let reason, let conditions): ask(hop, reason, conditions)
    case .download: "downloads it: nothing is stored"
    case .downloadTarget(let target): "downloads \(target): nothing of it is stored"
    }
  }

  private func wait(_ hop: EntryStory.Hop, _ failure: EntryFailure, until: Timestamp) -> String {
    "no request before \(until): it failed with \(failure.failure.code)"
      + (failure.isServersWord
        ? ", and the server itself named that time"
        : "; with --retry-failed it is asked at once")
  }

  private func ask(
    _ hop: EntryStory.Hop, _ reason: EntryVerdict.Reason, _ conditions: HTTPFields
  ) -> String {
    let names = conditions.lines.map(\.name).joined(separator: " and ")
    let what = view.hops.count > 1 ? "\(hop.entry.url)" : "it"
    let how =
      names.isEmpty ? "downloads \(what)" : "asks for \(what) with \(names)"
    let lacks =
      names.isEmpty && !isNothing(reason) ? "; the server gave no validator to ask with" : ""
    return "\(how): \(why(hop, reason))\(lacks)"
  }

  private func isNothing(_ reason: EntryVerdict.Reason) -> Bool {
    switch reason {
    case .nothingStored, .copyMissing: true
    case .forced, .stale: false
    }
  }

  private func why(_ hop: EntryStory.Hop, _ reason: EntryVerdict.Reason) -> String {
    switch reason {
    case .nothingStored:
      hop.entry.lastAnswer == .notStored
        ? "nothing may be stored, by its last answer" : "nothing is stored"
    case .copyMissing: "its file is missing"
    case .forced: "--force"
    case .stale(.expired):
      hop.freshness.map { $0.lifetime == .zero ? "it is to be asked at each run" : "it is stale" }
        ?? "it is stale"
    case .stale(.expiresSoon): "it is about to be stale"
    case .stale(.vary):
      "it varies by \(hop.mismatchedField ?? "a field"), which would now be sent with another value"
    case .stale(.clockWentBack):
      "the clock went back: it came at \(hop.entry.response?.responseTime ?? now), which is yet to come"
    }
  }
}
