// Unix calls that Swift cannot make itself: macros over control messages.
#pragma once
#include <sys/socket.h>
