// libseccomp and the system calls that confine a process.
#pragma once
#include <seccomp.h>
