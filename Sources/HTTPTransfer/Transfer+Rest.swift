import HTTPCaching
import Hashing
import Vocabulary

/// Bodies that break off, and their rests.
extension Transfer {
  /// A 206 has come to an exchange that asked for a rest.
  ///
  /// - Throws: `unusableRest`, `tooLarge`.
  func goOn(with partial: PartialBody, _ frame: BodyFrame) throws(TransferFault) {
    let total = try partial.total(completedBy: HTTPFields(head.lines), frame)
    if let limit = exchange?.request.maxBytes, total > limit {
      throw .tooLarge(limit: limit, declared: total)
    }
    continued = partial
    declaredLength = total
    sink = partial.sink
    hash = partial.hash
    hasHashed = true
    report.bodyBytes = partial.bytes
    report.firstBytes = partial.firstBytes
    notesAt = firstNote
  }

  /// What is there of a body that broke off: nil where its rest cannot be asked for.
  func partial(after fault: TransferFault?) -> PartialBody? {
    switch fault {
    case .truncated, .timeout(.idle), .timeout(.whole), .cancelled: break
    default: return nil
    }
    guard phase == .receiving, decoder == nil, let sink, report.bodyBytes >= PartialBody.minBytes,
      report.bodyBytes < declaredLength ?? .max
    else { return nil }
    let fields = continued?.fields ?? report.fields
    guard let validator = restValidator(of: fields) else { return nil }
    // It has fed the hash, which goes along; the transfer needs another.
    let fed = hash
    hash = SHA256()
    hasHashed = false
    return PartialBody(
      sink: sink, hash: fed, bytes: report.bodyBytes, firstBytes: report.firstBytes,
      total: declaredLength, validator: validator, fields: fields)
  }
}
