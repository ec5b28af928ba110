// Calls on files that glibc shows to GNU sources only, and Swift's view of it is not one.
#pragma once
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

// As in <fcntl.h> under _GNU_SOURCE.
extern int sync_file_range(int descriptor, __off64_t offset, __off64_t count, unsigned int flags);

// Starts to write a file's dirty pages and does not wait for them. The flag is SYNC_FILE_RANGE_WRITE.
static inline int tw_start_writing(int descriptor) { return sync_file_range(descriptor, 0, 0, 2); }

// Sets a name's time of access to now and leaves its time of modification: UTIME_NOW and UTIME_OMIT
// are hidden as well.
static inline int tw_mark_used(int folder, const char *name) {
  struct timespec times[2] = {{0, (1L << 30) - 1L}, {0, (1L << 30) - 2L}};
  return utimensat(folder, name, times, 0x100 /* AT_SYMLINK_NOFOLLOW */);
}

// Which kind of file system a path stands on, by its magic number; 0 where that is not known. The type
// of the number differs by architecture.
static inline unsigned long tw_file_system(const char *path) {
  struct statfs status;
  return statfs(path, &status) == 0 ? (unsigned long)status.f_type & 0xFFFFFFFFul : 0;
}
