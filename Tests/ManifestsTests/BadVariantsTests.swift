import TestSupport
import Testing
import Vocabulary

@testable import Manifests

private func row(_ variants: String, _ lines: String...) -> BadRow {
  BadRow(members: variants, lines: lines)
}

@Suite struct `What is wrong with variants and their publishing` {
  @Test(arguments: [
    row("{}", "variants: must be an array, not an object"),
    row(
      "[{\"name\": \"a\"}, {\"width\": 5}, 7]", "variants[0]: needs a width, a height or both",
      "variants[1].name: is missing", "variants[2]: must be an object, not a number"),
    row(
      "[{\"name\": \"../x\", \"width\": 5}, {\"name\": \"/abs\", \"width\": 5}, "
        + "{\"name\": \"a/b\", \"width\": 5}, {\"name\": \".\", \"width\": 5}]",
      "variants[0].name: \"../x\" is no variant's name: \(SettingsReader.nameRule)",
      "variants[1].name: \"/abs\" is no variant's name: \(SettingsReader.nameRule)",
      "variants[2].name: \"a/b\" is no variant's name: \(SettingsReader.nameRule)",
      "variants[3].name: \".\" is no variant's name: \(SettingsReader.nameRule)"),
    row(
      "[{\"name\": \"\(String(repeating: "n", count: 65))\", \"width\": 5}]",
      "variants[0].name: \"\(String(repeating: "n", count: 60))…\" is no variant's name: "
        + SettingsReader.nameRule),
    row(
      "[{\"name\": \"a\", \"width\": 5}, {\"name\": \"a\", \"width\": 6}]",
      "variants[1].name: \"a\" is also the name of variants[0]"),
    row(
      "[{\"name\": \"a\", \"width\": 0, \"height\": -5}]",
      "variants[0].width: must be from 1 to 1000000, not 0",
      "variants[0].height: must be from 1 to 1000000, not -5"),
    row(
      "[{\"name\": \"a\", \"width\": 10.5, \"height\": \"5\"}]",
      "variants[0].width: must be a whole number, not 10.5",
      "variants[0].height: must be a whole number, not a string"),
    row(
      "[{\"name\": \"a\", \"width\": 20000, \"format\": \"webp\"}]",
      "variants[0].width: 20000 is above the limit of webp, 16383 pixels"),
    row(
      "[{\"name\": \"a\", \"width\": 70000, \"format\": \"jpeg\"}]",
      "variants[0].width: 70000 is above the limit of jpeg, 65535 pixels"),
    row(
      "[{\"name\": \"a\", \"height\": 9000, \"dpr\": [1, 2]}]",
      "variants[0].height: 9000 at dpr 2, 18000, is above the limit of webp, 16383 pixels"),
    row(
      "[{\"name\": \"a\", \"width\": 9, \"dpr\": [2, 2, 5, 1.5]}]",
      "variants[0].dpr[1]: 2 is given twice", "variants[0].dpr[2]: must be from 1 to 4, not 5",
      "variants[0].dpr[3]: must be a whole number, not 1.5"),
    row("[{\"name\": \"a\", \"width\": 9, \"dpr\": []}]", "variants[0].dpr: is empty"),
    row(
      "[{\"name\": \"a\", \"width\": 9, \"quality\": 101}]",
      "variants[0].quality: must be from 1 to 100, not 101"),
    row(
      "[{\"name\": \"a\", \"width\": 9, \"fit\": \"crop\", \"position\": \"center\"}]",
      "variants[0].fit: \"crop\" is not inside, outside, cover, contain or fill",
      "variants[0].position: \"center\" is not centre, attention, entropy, north, northeast, east, "
        + "southeast, south, southwest, west or northwest, did you mean \"centre\"?"),
    row(
      "[{\"name\": \"a\", \"width\": 9, \"background\": \"white\"}]",
      "variants[0].background: \"white\" is no colour: write \"#rrggbb\""),
    row(
      "[{\"name\": \"a\", \"widht\": 9}]",
      "variants[0].widht: unknown key, did you mean \"width\"?",
      "variants[0]: needs a width, a height or both"),
  ])
  func `is said of variants`(row: BadRow) {
    #expect(problems("{\"version\": 1, \"variants\": \(row.members)}") == row.lines)
  }

  @Test(
    arguments: [
      ("{id}.{ext}", []), ("{variant}/{id}.{ext}", []), ("a/{shard}/{id}/{variant}", []),
      ("", ["is empty"]),
      ("/{variant}/{id}", ["must not start with /: it lies under the job's folder"]),
      ("{variant}/../{id}", ["must not hold the segment \"..\""]),
      ("./{variant}/{id}", ["must not hold the segment \".\""]),
      ("{variant}/{id}/", ["must not end with / or hold //"]),
      ("{variant}//{id}", ["must not end with / or hold //"]),
      (
        "{variant}/{idd}",
        [
          "unknown placeholder {idd}, did you mean \"id\"?",
          "must hold {id}, or items would share a name",
        ]
      ),
      (
        "{variant}/{id",
        [
          "holds a brace without its partner", "must hold {id}, or items would share a name",
        ]
      ),
      ("{variant}/{id}}", ["holds a brace without its partner"]),
      (
        "{variant}/.{id}",
        [
          "must not hold a segment that starts with \".{id…\"",
          "must hold {id}, or items would share a name",
        ]
      ),
      ("{variant}/.tw-{id}/{id}", ["must not hold a segment that starts with \".tw-…\""]),
      ("{variant}/\u{7}{id}", ["must not hold control characters"]),
      (
        "{variant}/{id}\(String(repeating: "-", count: 41))",
        [
          "has over 40 bytes of fixed text in one segment"
        ]
      ),
    ] as [(String, [String])])
  func `is said of the template`(path: String, faults: [String]) {
    #expect(PublishTemplate.faults(in: path, severalVariants: false) == faults)
  }

  @Test(arguments: [
    Row("{\"publish\": true}", "publish: must be an object or false, not true or false"),
    Row(
      "{\"publish\": {\"path\": 5, \"prun\": 1, \"withdraw\": \"never\"}}",
      "publish.prun: unknown key, did you mean \"prune\"?",
      "publish.withdraw: \"never\" is not gone or stale",
      "publish.path: must be a string, not a number"),
    Row(
      "{\"publish\": {\"path\": \"{id}.{ext}\"}, \"variants\": [{\"name\": \"a\", \"width\": 9}]}"),
    Row(
      "{\"publish\": {\"path\": \"{id}.{ext}\"}, "
        + "\"variants\": [{\"name\": \"a\", \"width\": 9, \"dpr\": [1, 2]}]}",
      "publish.path: must hold {variant}, or variants would share a name"),
    Row(
      "{\"publish\": {\"path\": \"{id}.{ext}\", \"original\": true}, "
        + "\"variants\": [{\"name\": \"a\", \"width\": 9}]}",
      "publish.path: must hold {variant}, or variants would share a name"),
    Row(
      "{\"publish\": {\"original\": true}, \"variants\": [{\"name\": \"original\", \"width\": 9}]}",
      "publish.original: a variant is named \"original\" too: give it another name"),
  ])
  func `is said of publish`(row: Row) {
    #expect(problems("{\"version\": 1, " + row.text.dropFirst()) == row.lines)
  }
}
