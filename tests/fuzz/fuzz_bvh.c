/* Any bytes behind the first word of a BVH, standing or lying. */
#include "support/fuzz_model.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char head[] = "HIERARCHY ";
    uint8_t *file = malloc(size + sizeof head);
    AssetOptions options = fuzz_model_options();

    if (!file)
        return 0;
    memcpy(file, head, sizeof head - 1);
    if (size)
        memcpy(file + sizeof head - 1, data, size);
    options.is_z_up = size % 2 == 1;
    fuzz_read_model((Bytes){file, size + sizeof head - 1}, &options);
    free(file);
    return 0;
}
