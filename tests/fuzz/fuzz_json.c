/* Any bytes: what is accepted has a canonical form that is accepted too and is its own canonical
 * form. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Text canonical(Bytes text, Error *err)
{
    Text out = text_open(1 << 24, err);
    JsonDocument document;

    if (json_open(text, 32, &document, err))
        return out;
    json_write_canonical(&document, &out);
    json_close(&document);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Error err = {0};
    Text once = canonical((Bytes){data, size}, &err);

    if (!err.status) {
        Text twice = canonical(byte_writer_bytes(&once.buffer), &err);
        if (err.status || strcmp(text_string(&once), text_string(&twice)) != 0)
            abort();
        text_close(&twice);
    }
    text_close(&once);
    return 0;
}
