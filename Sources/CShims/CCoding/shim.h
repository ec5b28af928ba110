// zlib, brotli, zstd: the decoders of HTTP's content codings.
#pragma once
#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>
