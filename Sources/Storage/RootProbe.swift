import CFiles
import Glibc

/// What the file system of a root can do, found out by trying.
package struct RootProbe: Sendable {
  /// The root, or the nearest folder above it that exists.
  package let folder: String
  package let isRootThere: Bool
  /// As the kernel names it: `ext4`; a number in hexadecimal where we have no name for it.
  package let fileSystem: String
  /// Bytes that this user can still write.
  package let freeBytes: Int
  /// Names that this user can still make; nil where the file system has no such limit.
  package let freeNames: Int?
  /// Why a file cannot be written, linked to a second name and synced there, in the system's words;
  /// nil where it can.
  package let obstacle: String?

  /// Leaves nothing behind.
  package init(_ layout: RootLayout) {
    var folder = layout.root
    while access(folder, F_OK) != 0, let slash = folder.lastIndex(of: "/") {
      folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
    }
    self.folder = folder
    isRootThere = folder == layout.root
    var status = statvfs()
    let isKnown = statvfs(folder, &status) == 0
    freeBytes = isKnown ? Int(status.f_bavail) * Int(status.f_frsize) : 0
    freeNames = isKnown && status.f_files > 0 ? Int(status.f_favail) : nil
    fileSystem = Self.name(ofFileSystemAt: folder)
    obstacle = Self.obstacle(in: isRootThere ? layout.temporary : folder) ?? Self.parting(layout)
  }

  /// Names below `public/` are links to objects, and objects are renamed from `tmp/`.
  private static func parting(_ layout: RootLayout) -> String? {
    let devices = [layout.objects, layout.temporary, layout.published].compactMap { path in
      var status = stat()
      return stat(path, &status) == 0 ? status.st_dev : nil
    }
    guard Set(devices).count > 1 else { return nil }
    return "objects, tmp and public stand on different file systems"
  }

  private static let names: [Int: String] = [
    0xEF53: "ext4", 0x5846_5342: "xfs", 0x9123_683E: "btrfs", 0x2FC1_2FC1: "zfs",
    0x0102_1994: "tmpfs", 0x6969: "nfs", 0xFF53_4D42: "cifs", 0xFE53_4D42: "smb2",
    0x794C_7630: "overlayfs", 0x6573_5546: "fuse", 0xF2F5_2010: "f2fs", 0x4D44: "vfat",
    0x2011_BAB0: "exfat", 0x5346_544E: "ntfs",
  ]

  private static func name(ofFileSystemAt folder: String) -> String {
    let kind = Int(tw_file_system(folder))
    return names[kind] ?? "0x" + String(kind, radix: 16)
  }

  private static func obstacle(in folder: String) -> String? {
    let folder = access(folder, F_OK) == 0 ? folder : folder + "/.."
    var path = Array("\(folder)/.tw-probe-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    guard file >= 0 else { return "no file can be made: \(String(cString: strerror(errno)))" }
    defer {
      close(file)
      unlink(path)
    }
    guard write(file, "probe", 5) == 5, fdatasync(file) == 0 else {
      return "a file cannot be written: \(String(cString: strerror(errno)))"
    }
    let second = path.dropLast() + Array("-2".utf8CString)
    guard link(path, Array(second)) == 0 else {
      return "a file cannot have a second name (hard link): \(String(cString: strerror(errno)))"
    }
    unlink(Array(second))
    return nil
  }
}
