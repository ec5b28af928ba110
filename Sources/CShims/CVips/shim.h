// libvips, and the error numbers that an output descriptor gives.
#pragma once
#include <vips/vips.h>

// A macro: the first pixel of a row of what `vips_region_prepare` has computed.
static inline const VipsPel *tw_vips_row(VipsRegion *region, int y) {
  return VIPS_REGION_ADDR(region, region->valid.left, y);
}
