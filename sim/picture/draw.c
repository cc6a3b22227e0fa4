#include "picture/draw.h"

#include "core/collide.h"
#include "math/scalar.h"

enum { CIRCLE_SIDES = 48 };

const Vec3 draw_chain_color = {0.95f, 0.30f, 0.03f};
const Vec3 draw_collider_color = {0.02f, 0.38f, 0.60f};
const Vec3 draw_inside_color = {0.55f, 0.05f, 0.50f};

Vec3 draw_stretch_color(float stretch)
{
    static const Vec3 stop[] = {{0.62f, 0.66f, 0.72f},
                                {0.06f, 0.32f, 0.72f},
                                {0.08f, 0.52f, 0.14f},
                                {0.92f, 0.68f, 0.03f},
                                {0.72f, 0.03f, 0.02f}};
    float t = 4.0f * stretch / DRAW_STRETCH_MAX;

    if (!(t > 0.0f))
        return stop[0];
    if (t >= 4.0f)
        return stop[4];
    int i = (int)t;
    return vec3_lerp(stop[i], stop[i + 1], t - (float)i);
}

static Vec3 vertex_color(const SceneMesh *mesh, int v, DrawColors colors)
{
    if (colors == DRAW_MATERIALS)
        return mesh->color;
    if (mesh->touched[v])
        return draw_stretch_color(mesh->stretch[v]);
    // what stands still steps back
    float grey = 0.6f * (mesh->color.x + mesh->color.y + mesh->color.z) / 3.0f + 0.10f;
    return vec3_lerp(mesh->color, vec3(grey, grey, grey), 0.65f);
}

Status draw_meshes(const Scene *scene, DrawColors colors, const Camera *camera, Arena *scratch,
                   Raster *raster, Error *err)
{
    for (int m = 0; m < scene->mesh_count; m++) {
        const SceneMesh *mesh = &scene->mesh[m];
        size_t mark = arena_mark(scratch);
        RasterVertex *vertex = arena_scratch(scratch, RasterVertex, mesh->batch.vertex_count);

        if (!vertex)
            return error_set(err, STATUS_NO_MEMORY, "no room to draw %d vertices",
                             mesh->batch.vertex_count);
        for (int v = 0; v < mesh->batch.vertex_count; v++) {
            vertex[v] = camera_project(camera, mesh->position[v]);
            vertex[v].normal = camera_turn(camera, mesh->normal[v]);
            vertex[v].color = vertex_color(mesh, v, colors);
        }
        const uint32_t *index = mesh->primitive->index;
        for (int i = 0; i + 2 < mesh->primitive->index_count; i += 3)
            raster_triangle(raster, &vertex[index[i]], &vertex[index[i + 1]],
                            &vertex[index[i + 2]]);
        arena_rewind(scratch, mark);
    }
    return STATUS_OK;
}

/* Samples for a picture of this size: lines keep their weight in small and large cells. */
static float pen(const Raster *raster)
{
    float size = (float)raster->height / 800.0f;

    return size > 0.5f ? size : 0.5f;
}

/* Chains lie inside the hair they move: what hides them there is thinner than this much of the
 * distance. */
static const float chain_slack = 0.03f;

/* A centimetre, but never so small or large that it is lost or in the way. */
static float ball_radius(const Raster *raster, const Camera *camera, const RasterVertex *centre,
                         bool is_far)
{
    float radius = 0.010f * camera->scale * centre->w;
    float largest = (is_far ? 2.0f : 5.0f) * pen(raster), smallest = 1.6f * pen(raster);

    radius = radius > smallest ? radius : smallest;
    return radius < largest ? radius : largest;
}

void draw_segments(const Scene *scene, const Camera *camera, Raster *raster)
{
    for (int s = 0; s < scene->segment_count; s++) {
        RasterVertex head = camera_project(camera, scene->segment[s].head);
        RasterVertex tail = camera_project(camera, scene->segment[s].tail);
        bool is_far = raster_hides(raster, &head, chain_slack);
        head.color = draw_chain_color;
        raster_line(raster, head, tail, (is_far ? 1.8f : 3.6f) * pen(raster), chain_slack);
    }
    for (int s = 0; s < scene->segment_count; s++)
        for (int end = 0; end < 2; end++) {
            Vec3 at = end ? scene->segment[s].tail : scene->segment[s].head;
            RasterVertex centre = camera_project(camera, at);
            bool is_far = raster_hides(raster, &centre, chain_slack);
            centre.color = end ? vec3(0.95f, 0.62f, 0.10f) : draw_chain_color;
            raster_ball(raster, centre, ball_radius(raster, camera, &centre, is_far));
        }
}

/* --- colliders --- */

/* What a collider is drawn with. */
typedef struct Wire {
    const Camera *camera;
    Raster *raster;
    Vec3 color;
} Wire;

static void draw_line(const Wire *wire, Vec3 a, Vec3 b)
{
    RasterVertex from = camera_project(wire->camera, a), to = camera_project(wire->camera, b);

    from.color = wire->color;
    raster_line(wire->raster, from, to, 1.8f * pen(wire->raster), 0.0f);
}

/* The part of a circle from angle 0 on that `turn` of a full one is. */
static void draw_arc(const Wire *wire, Vec3 centre, Vec3 x, Vec3 y, float turn)
{
    int count = (int)((float)CIRCLE_SIDES * turn);
    Vec3 before = vec3_add(centre, x);

    for (int i = 1; i <= count; i++) {
        double s, c;
        scalar_sin_cos(6.283185307179586 * i / CIRCLE_SIDES, &s, &c);
        Vec3 point = vec3_add_scaled(vec3_add_scaled(centre, x, (float)c), y, (float)s);
        draw_line(wire, before, point);
        before = point;
    }
}

/* A sphere's three great circles about an axis. */
static void draw_sphere(const Wire *wire, Vec3 centre, float radius)
{
    Vec3 x = vec3(radius, 0.0f, 0.0f), y = vec3(0.0f, radius, 0.0f), z = vec3(0.0f, 0.0f, radius);

    draw_arc(wire, centre, x, y, 1.0f);
    draw_arc(wire, centre, y, z, 1.0f);
    draw_arc(wire, centre, z, x, 1.0f);
}

static void draw_capsule(const Wire *wire, Vec3 a, Vec3 b, float radius)
{
    Vec3 axis = vec3_normalize_or(vec3_sub(b, a), vec3(0.0f, 1.0f, 0.0f));
    Vec3 x = vec3_scale(vec3_perpendicular(axis), radius);
    Vec3 y = vec3_cross(axis, x);
    Vec3 cap = vec3_scale(axis, radius);

    draw_arc(wire, a, x, y, 1.0f);
    draw_arc(wire, b, x, y, 1.0f);
    for (int i = 0; i < 2; i++) {
        Vec3 side = i ? y : x;
        draw_arc(wire, b, side, cap, 0.5f);
        draw_arc(wire, a, side, vec3_scale(cap, -1.0f), 0.5f);
        draw_line(wire, vec3_add(a, side), vec3_add(b, side));
        draw_line(wire, vec3_sub(a, side), vec3_sub(b, side));
    }
}

/* A net half a metre to each side. */
static void draw_plane(const Wire *wire, Vec3 point, Vec3 normal)
{
    Vec3 x = vec3_perpendicular(normal);
    Vec3 y = vec3_cross(normal, x);

    for (int i = -5; i <= 5; i++) {
        float at = 0.1f * (float)i;
        Vec3 a = vec3_add_scaled(point, x, at), b = vec3_add_scaled(point, y, at);
        draw_line(wire, vec3_add_scaled(a, y, -0.5f), vec3_add_scaled(a, y, 0.5f));
        draw_line(wire, vec3_add_scaled(b, x, -0.5f), vec3_add_scaled(b, x, 0.5f));
    }
}

void draw_colliders(const Scene *scene, const Camera *camera, Raster *raster)
{
    for (int i = 0; i < scene->rig->collider_count; i++) {
        const RigCollider *collider = &scene->rig->collider[i];
        const World *world = &scene->pose.world[collider->node];
        Shape shape = collide_place(collider, world, (DVec3){0.0, 0.0, 0.0});
        Wire wire = {camera, raster, collider->is_inside ? draw_inside_color : draw_collider_color};

        if (shape.kind == COLLIDER_SPHERE)
            draw_sphere(&wire, shape.start, shape.radius);
        else if (shape.kind == COLLIDER_CAPSULE)
            draw_capsule(&wire, shape.start, vec3_add(shape.start, shape.axis), shape.radius);
        else
            draw_plane(&wire, shape.start, shape.normal);
    }
}
