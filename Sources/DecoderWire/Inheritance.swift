import CUnix
import Glibc

/// What a decoder inherits: its three standard descriptors, its end of the socket pair and its
/// `OutputRoom`.
package enum Inheritance {
  /// - Parameters:
  ///   - socket: becomes `Wire.decoderDescriptor`.
  ///   - outputs: becomes `Wire.outputDescriptor`; not that of the socket by chance.
  ///   - standardError: becomes 2; 0 and 1 lead nowhere. All others are closed.
  package static func set(
    in actions: inout posix_spawn_file_actions_t, socket: Int32, outputs: Int32,
    standardError: Int32
  ) {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0)
    posix_spawn_file_actions_adddup2(&actions, 0, 1)
    posix_spawn_file_actions_adddup2(&actions, standardError, 2)
    posix_spawn_file_actions_adddup2(&actions, socket, Wire.decoderDescriptor)
    posix_spawn_file_actions_adddup2(&actions, outputs, Wire.outputDescriptor)
    tw_close_from(&actions, Wire.outputDescriptor + 1)
  }
}
