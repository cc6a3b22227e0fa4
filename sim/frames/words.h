/* Words: 16-bit words of vertices in meshoptimizer's vertex codec, stream version 0.
 *
 * The encoder is our own, so that the bytes of a bake do not depend on the library's version, and
 * faster, since it knows its words: it gives what libmeshoptimizer 0.18 gives. Decoding is the
 * library's, which takes any bytes.
 */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>

/* Appends `vertex_count` vertices of `words` (2 or 4) words each. */
void words_encode(const uint16_t *word, int vertex_count, int words, ByteWriter *out);
/* False where `code` is not exactly that many vertices. */
bool words_decode(Bytes code, int vertex_count, int words, uint16_t *out);
