// thumbdecoder: decodes strangers' images and makes their variants, with nothing but descriptors.
//
//   limits ─► libvips started ─► "hello" ─► warm ─► confined, and proven to be ─► "ready"
//          ─► one image at a time
//
// It is started by DecoderPool with one end of a socket pair and ends when that closes, when its
// parent dies, or when it is killed. It opens no file and no connection of its own.

import DecoderWire
import Glibc
import Imaging
import Vocabulary

let arguments = CommandLine.arguments
let worker = PacketSocket(descriptor: Wire.decoderDescriptor)

func argument(after name: String) -> String? {
  arguments.firstIndex(of: name).flatMap { arguments.dropFirst($0 + 1).first }
}

/// Says why it will not work, and ends.
func giveUp(_ reason: String) -> Never {
  StandardError.say("\(reason)")
  // Where nobody listens, standard error has it.
  try? worker.send(DecoderMessage.unfit(reason: reason).packet)
  exit(1)
}

/// What jobs allow, by the formats' names with commas between.
let formats = Set(
  (argument(after: "--formats") ?? "").split(separator: ",").compactMap {
    ImageFormat(rawValue: String($0))
  })
guard let memory = argument(after: "--memory").flatMap({ Int($0) }), memory > 0 else {
  StandardError.say("thumbworker starts it; by hand it does nothing")
  exit(2)
}
let addressSpace: Int
do {
  try ProcessLimits.set()
  try Imaging.start(outOfMemoryStatus: Wire.exitOutOfMemory, formats: formats)
  let greeting = DecoderGreeting(
    processing: Recipe.processingVersion, libvips: Abilities.libvips, reads: Abilities.reads,
    encoders: Abilities.encoders)
  // Where nobody listens there is a self-test, or the next message fails as well.
  try? worker.send(DecoderMessage.hello(greeting).packet)
  try KeptFonts.keep { () throws(ImagingFailure) in try Imaging.warmUp() }
  addressSpace = try ProcessLimits.setMemory(beyondPresent: memory)
  try Confinement.enter()
} catch let failure as ImagingFailure {
  giveUp("libvips does not work: \(failure.message)")
} catch let failure as ConfinementFailure {
  giveUp(failure.reason)
}
if let name = argument(after: "--selftest") {
  SelfTest.run(name)
} else {
  Service(socket: worker, addressSpace: addressSpace).run()
}
