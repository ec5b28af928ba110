// The kernel's name of a thread.
#pragma once
#include <sys/prctl.h>
// Swift cannot import variadic functions, and pthread_setname_np is hidden from it.
static inline int tw_name_this_thread(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }
