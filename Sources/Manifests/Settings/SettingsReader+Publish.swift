import Vocabulary

extension SettingsReader {
  func readPublish(_ document: ObjectReader, into settings: inout JobSettings) {
    guard let value = document.value("publish") else {
      return checkTemplate(PublishSettings(), of: settings, at: document.place["publish"]["path"])
    }
    let place = document.place["publish"]
    switch value {
    case .boolean(false): settings.publish = nil
    case .object: settings.publish = publish(value, at: place, of: settings)
    default: problems.add(place, "must be an object or false, not \(value.kind)")
    }
  }

  private func publish(
    _ value: JSONValue, at place: Place, of settings: JobSettings
  ) -> PublishSettings {
    var publish = PublishSettings()
    guard
      let object = ObjectReader(value, at: place, keys: ManifestKeys.publish, problems: problems)
    else { return publish }
    object.boolean("original").assign(to: &publish.original)
    object.boolean("prune").assign(to: &publish.prune)
    object.choice("withdraw").assign(to: &publish.withdraw)
    object.string("path").assign(to: &publish.path)
    checkTemplate(publish, of: settings, at: place["path"])
    if publish.original, settings.variants.contains(where: { $0.name == "original" }) {
      problems.add(
        place["original"], "a variant is named \"original\" too: give it another name")
    }
    return publish
  }

  private func checkTemplate(
    _ publish: PublishSettings, of settings: JobSettings, at place: Place
  ) {
    let kinds = settings.variants.reduce(publish.original ? 1 : 0) { $0 + $1.dpr.count }
    for fault in PublishTemplate.faults(in: publish.path, severalVariants: kinds > 1) {
      problems.add(place, fault)
    }
  }
}
