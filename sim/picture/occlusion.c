#include "picture/camera.h"

#include <math.h>

enum { OCCLUSION_SIZE = 2048 };

static const float hidden_depth = 1e-3f; // metres

/* The front camera without perspective: samples a metre, and where the corner is. */
typedef struct Front {
    Vec3 right, up, back;
    float scale, x0, y0;
} Front;

static RasterVertex project(const Front *front, Vec3 point)
{
    return (RasterVertex){.x = (vec3_dot(point, front->right) - front->x0) * front->scale,
                          .y = (front->y0 - vec3_dot(point, front->up)) * front->scale,
                          .w = vec3_dot(point, front->back)};
}

static Front look(const PictureScreen *screen)
{
    Vec3 up = vec3(0.0f, 1.0f, 0.0f);
    Front front = {.back = vec3_normalize_or(screen->forward, vec3(0.0f, 0.0f, 1.0f))};
    Box box = box_empty();

    front.right = vec3_normalize_or(vec3_cross(up, front.back), vec3(1.0f, 0.0f, 0.0f));
    front.up = vec3_cross(front.back, front.right);
    for (int s = 0; s < screen->mesh_count; s++)
        for (int i = 0; i < screen->mesh[s].vertex_count; i++) {
            Vec3 p = screen->mesh[s].position[i];
            box_add(&box, vec3(vec3_dot(p, front.right), vec3_dot(p, front.up), 0.0f));
        }
    float width = box.max.x - box.min.x, height = box.max.y - box.min.y;
    float size = width > height ? width : height;
    if (box_is_empty(&box) || !(size > 1e-6f))
        return front;
    front.scale = (float)(OCCLUSION_SIZE - 2) / size;
    front.x0 = box.min.x - 1.0f / front.scale;
    front.y0 = box.max.y + 1.0f / front.scale;
    return front;
}

static void draw(Raster *raster, const Front *front, const PictureMesh *mesh)
{
    for (int i = 0; i + 2 < mesh->index_count; i += 3) {
        RasterVertex v[3];
        for (int k = 0; k < 3; k++)
            v[k] = project(front, mesh->position[mesh->index[i + k]]);
        raster_triangle(raster, &v[0], &v[1], &v[2]);
    }
}

Status picture_occlusion(const PictureScreen *screen, const Vec3 *point, Arena *scratch,
                         PictureOcclusion *out, Error *err)
{
    size_t mark = arena_mark(scratch);
    Front front = look(screen);
    Raster raster;

    if (!(front.scale > 0.0f))
        return STATUS_OK;
    if (raster_build(OCCLUSION_SIZE, OCCLUSION_SIZE, false, scratch, &raster, err))
        return err->status;
    for (int s = 0; s < screen->mesh_count; s++)
        draw(&raster, &front, &screen->mesh[s]);
    for (int i = 0; i < out->point_count; i++) {
        RasterVertex p = project(&front, point[i]);
        if (!(p.x >= 0.0f && p.y >= 0.0f && p.x < OCCLUSION_SIZE && p.y < OCCLUSION_SIZE))
            continue;
        float depth = raster.depth[(size_t)(int)p.y * OCCLUSION_SIZE + (size_t)(int)p.x] - p.w;
        if (!(depth > hidden_depth))
            continue;
        out->count += !out->is_hidden[i];
        out->is_hidden[i] = true;
        out->depth = depth > out->depth ? depth : out->depth;
    }
    arena_rewind(scratch, mark);
    return STATUS_OK;
}
