/* A glTF text up to the first zero byte; what follows is its side file "b.bin". */
#include "support/fuzz_model.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t text_size = zero ? (size_t)(zero - data) : size;
    SideFile side = {"b.bin", {data + text_size, size - text_size}};
    AssetOptions options = fuzz_model_options();

    options.side_file = &side;
    options.side_file_count = 1;
    options.unit = size % 2 ? 0.01 : 0.0;
    options.is_z_up = size % 3 == 0;
    fuzz_read_model((Bytes){data, text_size}, &options);
    return 0;
}
