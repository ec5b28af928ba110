import CUnix
import Glibc

/// One end of a socket pair of packets. It does not own its descriptor.
package struct PacketSocket: Sendable {
  /// Why nothing can be sent or received any more, as an error number; 0: the other side is gone.
  package struct Broken: Error, Sendable, Equatable {
    package var errorNumber: Int32
  }

  package let descriptor: Int32

  package init(descriptor: Int32) { self.descriptor = descriptor }

  /// Blocks while the other side's queue is full.
  package func send(_ packet: [UInt8], descriptor passed: Int32? = nil) throws(Broken) {
    while tw_send_packet(descriptor, packet, packet.count, passed ?? -1) < 0 {
      guard errno == EINTR else { throw Broken(errorNumber: errno) }
    }
  }

  /// Blocks until there is a packet.
  ///
  /// - Returns: the packet and the descriptor that came with it, which the caller closes.
  package func receive() throws(Broken) -> (packet: ArraySlice<UInt8>, descriptor: Int32?) {
    var bytes = [UInt8](repeating: 0, count: Wire.maxPacket)
    var passed: Int32 = -1
    while true {
      let count = tw_receive_packet(descriptor, &bytes, bytes.count, &passed)
      if count > 0 { return (bytes[..<count], passed >= 0 ? passed : nil) }
      if passed >= 0 { close(passed) }
      if count == 0 { throw Broken(errorNumber: 0) }
      guard errno == EINTR else { throw Broken(errorNumber: errno) }
    }
  }
}
