#include "picture/image.h"

#include <png.h>
#include <string.h>

Status image_build(int width, int height, uint32_t color, Arena *arena, Image *out, Error *err)
{
    uint8_t *pixel = arena_alloc_dirty(arena, (size_t)width * (size_t)height, 3, 1);

    if (!pixel)
        return error_set(err, STATUS_NO_MEMORY, "no room for a picture of %d x %d pixels", width,
                         height);
    *out = (Image){width, height, pixel};
    image_fill(out, 0, 0, width, height, color);
    return STATUS_OK;
}

void image_fill(Image *image, int x, int y, int width, int height, uint32_t color)
{
    for (int row = y; row < y + height; row++)
        for (int column = x; column < x + width; column++)
            image_set(image, column, row, color);
}

Status image_write_png(const Image *image, ByteWriter *out, Error *err)
{
    png_image png = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)image->width,
                     .height = (png_uint_32)image->height,
                     .format = PNG_FORMAT_RGB};
    size_t begin = out->size;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
    uint8_t *data = byte_writer_extend(out, size);

    if (data && !png_image_write_to_memory(&png, data, &size, 0, image->pixel, 0, NULL))
        error_set(out->err, STATUS_NO_MEMORY, "could not write a PNG: %.60s", png.message);
    png_image_free(&png);
    out->size = out->err->status ? begin : begin + size;
    if (out->err->status && out->err != err)
        *err = *out->err;
    return err->status;
}
