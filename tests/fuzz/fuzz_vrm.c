/* Any text as the extensions of a glTF with a few nodes: humanoids, springs, colliders. */
#include "support/fuzz_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const head =
    "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"children\":[1,5]},{\"translation\":[0,1,0],"
    "\"children\":[2,3]},{\"rotation\":[0.5,0.5,0.5,0.5],\"translation\":[1,0,0],\"children\":[4]},"
    "{\"translation\":[0,0,1]},{\"scale\":[2,-1,1],\"translation\":[0,1,0]},{},{}],\"extensions\":";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Error err = {0};
    Text text = text_open((size_t)1 << 20, &err);
    AssetOptions options = fuzz_model_options();

    text_add(&text, head);
    if (size)
        text_add_bytes(&text, (const char *)data, size);
    text_add(&text, "}");
    if (!err.status)
        fuzz_read_model(byte_writer_bytes(&text.buffer), &options);
    text_close(&text);
    return 0;
}
