/* GLB: the binary container of glTF 2.0 (specification 4.4): a header and chunks, of which the
 * first JSON and the first BIN count. Views into the file; nothing is copied. */
#pragma once

#include "base/bytes.h"

enum { GLB_MAGIC = 0x46546C67, GLB_CHUNK_JSON = 0x4E4F534A, GLB_CHUNK_BIN = 0x004E4942 };

typedef struct Glb {
    Bytes json;
    Bytes binary; /* empty where the file has no BIN chunk */
} Glb;

/* Does the file start like a GLB of any version? */
bool glb_matches(Bytes file);

/* The chunks of a GLB 2 file. INVALID names the byte at fault; `*out` is untouched then. */
NODISCARD Status glb_parse(Bytes file, Glb *out, Error *err);
