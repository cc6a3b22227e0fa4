/* Any bytes as a GLB: its chunks lie inside of it; then as a model. */
#include "formats/glb.h"
#include "support/fuzz_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(Bytes part, Bytes whole)
{
    if (part.size && (part.data < whole.data || part.data + part.size > whole.data + whole.size))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes file = {data, size};
    Error err = {0};
    Glb glb;
    AssetOptions options = fuzz_model_options();

    if (glb_parse(file, &glb, &err) == STATUS_OK) {
        check_inside(glb.json, file);
        check_inside(glb.binary, file);
    }
    fuzz_read_model(file, &options);
    return 0;
}
