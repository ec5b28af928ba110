import Glibc

/// An open file, closed when nobody holds it any more.
package final class OwnedDescriptor: Sendable {
  package let descriptor: Int32

  /// - Parameter descriptor: an open one; it belongs to this object from now on.
  package init(owning descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }
}
