// libvips, and what GLib brings along for it.
#pragma once
#include <gio/gio.h>
#include <vips/vips.h>
