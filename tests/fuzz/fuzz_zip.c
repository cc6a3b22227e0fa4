/* Any bytes as a zip of a model. */
#include "support/fuzz_model.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AssetOptions options = fuzz_model_options();

    if (size > 4 && memcmp(data, "PK", 2) == 0)
        fuzz_read_model((Bytes){data, size}, &options);
    return 0;
}
