// Unix calls that Swift cannot make itself: control messages are built with macros, and what stands
// behind _GNU_SOURCE is hidden from it.
#pragma once
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

// One packet with at most one descriptor. CMSG_SPACE, CMSG_FIRSTHDR and CMSG_DATA are macros.
static inline ssize_t tw_send_packet(int socket, const void *bytes, size_t count, int descriptor) {
  union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
  struct iovec part = {(void *)bytes, count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (descriptor >= 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL);
}

// The packet's length; -1 with errno where there is none or it does not fit. `descriptor` becomes
// the one that came along, else -1. The kernel closes what does not fit the control buffer.
static inline ssize_t tw_receive_packet(int socket, void *bytes, size_t capacity, int *descriptor) {
  union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
  struct iovec part = {bytes, capacity};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  *descriptor = -1;
  ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head))
    if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
      memcpy(descriptor, CMSG_DATA(head), sizeof(int));
  if (message.msg_flags & MSG_TRUNC) { errno = EMSGSIZE; return -1; }
  return count;
}

// glibc 2.34's, hidden from Swift: its own declaration is not seen there.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
static inline int tw_close_from(posix_spawn_file_actions_t *actions, int from) {
  return posix_spawn_file_actions_addclosefrom_np(actions, from);
}

// glibc 2.27's, hidden from Swift likewise: a file in memory, not to be inherited.
int memfd_create(const char *name, unsigned int flags);
static inline int tw_memory_file(const char *name) { return memfd_create(name, 1u /* MFD_CLOEXEC */); }

// glibc's, hidden from Swift likewise. Another process' soft limit, as far as its hard one allows.
int prlimit(pid_t process, int resource, const struct rlimit *new_limit, struct rlimit *old_limit);
static inline int tw_limit(pid_t process, int resource, unsigned long bytes) {
  struct rlimit limit;
  if (prlimit(process, resource, NULL, &limit) < 0) return -1;
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  return prlimit(process, resource, &limit, NULL);
}
static inline int tw_limit_memory(pid_t process, unsigned long bytes) {
  return tw_limit(process, RLIMIT_AS, bytes);
}
static inline int tw_limit_files(pid_t process, unsigned long bytes) {
  return tw_limit(process, RLIMIT_FSIZE, bytes);
}
