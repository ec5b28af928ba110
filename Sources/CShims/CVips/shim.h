// libvips, and the error numbers that an output descriptor gives.
#pragma once
#include <vips/vips.h>
