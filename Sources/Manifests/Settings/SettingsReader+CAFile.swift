import Vocabulary

extension SettingsReader {
  /// Null: the system's store, where the job has a file. The file is looked at now, so that a slip shows
  /// before the first request.
  func readCAFile(_ network: ObjectReader, into caFile: inout String?) {
    switch network.value("caFile") {
    case nil: break
    case .null?: caFile = nil
    case .string(let text)?:
      let path = FilePaths.absolute(text, from: folder)
      if standIn == nil, let fault = CertificateFile.fault(ofFileAt: path) {
        network.reject("caFile", "\(Shown.quoted(text)) \(fault)")
      }
      caFile = path
    case let other?: network.reject("caFile", "must be a file's path, not \(other.kind)")
    }
  }
}
