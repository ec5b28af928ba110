import CCurl
import Glibc

/// The sockets that libcurl wants watched, in epoll.
///
/// A connection that passes from one exchange to the next is removed and added again within the same
/// turn of the loop. So changes are kept until the loop waits, and a socket of ours that nobody wants
/// stays in epoll until it speaks or is closed: two system calls fewer for each request.
struct SocketSet {
  private struct Watch {
    var wanted: UInt32 = 0
    var registered: UInt32 = 0
    /// Opened and closed through our callbacks, so that its number cannot change its meaning unseen.
    var isOurs = false
  }

  let epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
  /// By descriptor.
  private var watches: [Watch] = []
  private var changed: [CInt] = []

  mutating func opened(_ socket: CInt) {
    grow(to: socket)
    watches[Int(socket)] = Watch(isOurs: true)
  }

  /// The kernel takes a closed descriptor out of epoll by itself.
  mutating func close(_ socket: CInt) {
    if watches.indices.contains(Int(socket)) { watches[Int(socket)] = Watch() }
    Glibc.close(socket)
  }

  /// - Parameter what: one of `CURL_POLL_IN`, `_OUT`, `_INOUT`, `_REMOVE`.
  mutating func want(_ what: CInt, of socket: CInt) {
    grow(to: socket)
    let events: UInt32 =
      switch what {
      case CURL_POLL_IN: EPOLLIN.rawValue
      case CURL_POLL_OUT: EPOLLOUT.rawValue
      case CURL_POLL_INOUT: EPOLLIN.rawValue | EPOLLOUT.rawValue
      default: 0
      }
    watches[Int(socket)].wanted = events
    if events != 0 {
      if events != watches[Int(socket)].registered { changed.append(socket) }
    } else if !watches[Int(socket)].isOurs {
      forget(socket)  // libcurl closes it without telling
      watches[Int(socket)] = Watch()
    }
  }

  /// Tells epoll what has changed. Before each wait.
  mutating func settle() {
    for socket in changed {
      let watch = watches[Int(socket)]
      guard watch.wanted != 0, watch.wanted != watch.registered else { continue }
      var event = epoll_event()
      event.events = watch.wanted
      event.data.fd = socket
      let change = watch.registered == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
      if epoll_ctl(epoll, change, socket, &event) != 0 {
        epoll_ctl(epoll, change == EPOLL_CTL_ADD ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event)
      }
      watches[Int(socket)].registered = watch.wanted
    }
    changed.removeAll(keepingCapacity: true)
  }

  /// What to tell libcurl of an event; nil where nobody wants to know.
  ///
  /// Errors and hang-ups are passed as what was waited for: libcurl then reads what is still there
  /// and finds the error itself, instead of throwing the rest away.
  mutating func action(for event: epoll_event) -> CInt? {
    let socket = event.data.fd
    let wanted = watches[Int(socket)].wanted
    guard wanted != 0 else {
      forget(socket)
      return nil
    }
    var events = event.events & wanted
    if event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { events = wanted }
    return (events & EPOLLIN.rawValue != 0 ? CURL_CSELECT_IN : 0)
      | (events & EPOLLOUT.rawValue != 0 ? CURL_CSELECT_OUT : 0)
  }

  private mutating func forget(_ socket: CInt) {
    guard watches[Int(socket)].registered != 0 else { return }
    epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nil)
    watches[Int(socket)].registered = 0
  }

  private mutating func grow(to socket: CInt) {
    while watches.count <= Int(socket) { watches.append(Watch()) }
  }
}
