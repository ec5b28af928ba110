// libseccomp and the system calls that confine a process.
#pragma once
#include <fcntl.h>
#include <linux/sched.h>
#include <malloc.h>
#include <pthread.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// Swift cannot import variadic functions.
static inline int tw_prctl(int option, unsigned long value) {
  return prctl(option, value, 0, 0, 0);
}

// Variadic too; the self-test makes forbidden calls by their number.
static inline long tw_system_call(long number, long a, long b, long c) {
  return syscall(number, a, b, c);
}

// What the C library's functions of these names do: the program has taken their places.
static inline int tw_open(const char *path, int flags, unsigned mode) {
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
static inline int tw_access(const char *path, int mode) {
  return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

// A macro with an argument.
static inline uint32_t tw_answer_with_error(uint16_t number) { return SCMP_ACT_ERRNO(number); }

// A macro with a cast.
static inline uint32_t tw_kill_process(void) { return SCMP_ACT_KILL_PROCESS; }
static inline uint32_t tw_allow(void) { return SCMP_ACT_ALLOW; }

// Macros that stand behind _GNU_SOURCE in the header that Swift sees.
static inline unsigned long tw_clone_thread(void) { return CLONE_THREAD; }

// Behind _GNU_SOURCE as well: of the threads that are started from now on, in bytes.
extern int pthread_setattr_default_np(const pthread_attr_t *attributes);
static inline int tw_set_thread_stacks(size_t bytes) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  int failure = pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
  return failure;
}

// malloc.h is not in Swift's module of the C library.
static inline long tw_allocated_bytes(void) {
  struct mallinfo2 use = mallinfo2();
  return (long)(use.uordblks + use.hblkhd);
}
static inline long tw_free_bytes(void) { return (long)mallinfo2().fordblks; }
static inline void tw_trim(void) { malloc_trim(0); }
