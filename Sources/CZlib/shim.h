// Parts of zlib that Swift's importer cannot see: the init functions are macros that add the version and structure
// size.
#pragma once
#include <zlib.h>

/// deflateInit2 is a macro; 16 added to the window bits asks for the gzip form.
static inline int zlib_gzip_begin(z_stream *stream, int level, int window_bits, int memory_level) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits + 16, memory_level, Z_DEFAULT_STRATEGY);
}

/// inflateInit2 is a macro; 16 added to the window bits asks for the gzip form.
static inline int zlib_gunzip_begin(z_stream *stream) {
    return inflateInit2(stream, MAX_WBITS + 16);
}
