#include "math/scalar.h"
#include "samples/avatar_parts.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* The hair on the head: x >= 0, mirrored. */
static const ShapePiece cap_piece[] = {
    {.kind = SHAPE_ELLIPSOID, .a = {0.0f, 1.508f, -0.016f}, .b = {0.0985f, 0.104f, 0.1085f}},
    {.kind = SHAPE_ELLIPSOID,
     .blend = 0.02f,
     .a = {0.0f, 1.555f, -0.095f},
     .b = {0.040f, 0.038f, 0.040f}},
    // the face and the neck stay free
    {.kind = SHAPE_ELLIPSOID,
     .join = SHAPE_CUT,
     .blend = 0.016f,
     .a = {0.0f, 1.452f, 0.130f},
     .b = {0.086f, 0.106f, 0.128f}},
    {.kind = SHAPE_ELLIPSOID,
     .join = SHAPE_CUT,
     .blend = 0.008f,
     .a = {0.118f, 1.445f, 0.004f},
     .b = {0.055f, 0.048f, 0.042f}},
    {.kind = SHAPE_HALF_SPACE,
     .join = SHAPE_KEEP,
     .blend = 0.01f,
     .a = {0.0f, 1.405f, -0.08f},
     .b = {0.0f, -0.93f, 0.37f}}};

/* A lock of hair: some tubes beside a chain's curve. Lengths are in metres, `u` in segments. */
typedef struct Lock {
    const AvatarChain *chain; /* that moves it, NULL: the head */
    int point_count;
    const Vec3 *point; /* of its curve (point_count) */
    float start, end;  /* u of the ends of the tubes; may be a little outside the curve */
    float width, height;
    float x, y;  /* of this tube beside the curve, in units of width and height */
    float root;  /* share of the full width at the start */
    float belly; /* share of the length where the tube is widest */
    int rings, sides;
} Lock;

enum { MAX_LOCK_RINGS = 64 };

/* Catmull-Rom through the points, straight on beyond the ends. */
static Vec3 curve_point(const Vec3 *point, int count, float u)
{
    int i = (int)u;

    if (u <= 0.0f)
        return vec3_add_scaled(point[0], vec3_sub(point[1], point[0]), u);
    if (u >= (float)(count - 1))
        return vec3_add_scaled(point[count - 1], vec3_sub(point[count - 1], point[count - 2]),
                               u - (float)(count - 1));
    float t = u - (float)i;
    Vec3 b = point[i], c = point[i + 1];
    Vec3 a = i > 0 ? point[i - 1] : vec3_sub(vec3_scale(b, 2.0f), c);
    Vec3 d = i + 2 < count ? point[i + 2] : vec3_sub(vec3_scale(c, 2.0f), b);
    Vec3 slope_b = vec3_scale(vec3_sub(c, a), 0.5f), slope_c = vec3_scale(vec3_sub(d, b), 0.5f);
    Vec3 step = vec3_sub(c, b);
    Vec3 p2 = vec3_sub(vec3_sub(vec3_scale(step, 3.0f), vec3_scale(slope_b, 2.0f)), slope_c);
    Vec3 p3 = vec3_add(vec3_add(slope_b, slope_c), vec3_scale(step, -2.0f));
    Vec3 out = vec3_add_scaled(p2, p3, t);

    return vec3_add_scaled(b, vec3_add_scaled(slope_b, out, t), t);
}

/* How thick a lock is along it: from `root` up to 1 at `belly`, then down to a point. */
static float lock_profile(const Lock *lock, float t)
{
    if (t < lock->belly)
        return lock->root + (1.0f - lock->root) * avatar_ramp(0.0f, lock->belly, t);
    float s = (t - lock->belly) / (1.0f - lock->belly);
    return 0.06f + 0.94f * (1.0f - s * s * s) * (1.0f - 0.35f * s);
}

static void add_lock(const Lock *lock, SampleMesh *mesh)
{
    Vec3 centre[MAX_LOCK_RINGS], side[MAX_LOCK_RINGS], up[MAX_LOCK_RINGS];
    float width[MAX_LOCK_RINGS], height[MAX_LOCK_RINGS], u[MAX_LOCK_RINGS] = {0};
    const Vec3 inside = {0.0f, 1.49f, -0.02f};
    int rings = lock->rings < MAX_LOCK_RINGS ? lock->rings : MAX_LOCK_RINGS;

    for (int r = 0; r < rings; r++) {
        float t = (float)r / (float)(rings - 1);
        float profile = lock_profile(lock, t);
        u[r] = lock->start + (lock->end - lock->start) * t;
        Vec3 p = curve_point(lock->point, lock->point_count, u[r]);
        Vec3 q = curve_point(lock->point, lock->point_count, u[r] + 0.01f);
        Vec3 along = vec3_normalize_or(vec3_sub(q, p), vec3(0.0f, -1.0f, 0.0f));
        // thin away from the middle of the head, wide along it
        Vec3 away = vec3_sub(p, vec3(inside.x, p.y < inside.y ? p.y : inside.y, inside.z));
        side[r] = vec3_normalize_or(vec3_cross(away, along), vec3(1.0f, 0.0f, 0.0f));
        up[r] = vec3_cross(along, side[r]);
        width[r] = lock->width * profile;
        height[r] = lock->height * profile;
        float spread = 0.25f + 0.75f * profile;
        centre[r] = vec3_add_scaled(p, side[r], lock->x * lock->width * spread);
        centre[r] = vec3_add_scaled(centre[r], up[r], lock->y * lock->height * spread);
    }
    int first = mesh_add_tube(mesh, &(MeshTube){.ring_count = rings,
                                                .side_count = lock->sides,
                                                .centre = centre,
                                                .side = side,
                                                .up = up,
                                                .width = width,
                                                .height = height});
    for (int v = first; v < mesh->vertex_count && !mesh->arena->overflowed; v++) {
        int ring = (v - first) / lock->sides;
        // the caps' middles come last: root, then tip
        float at = ring < rings ? u[ring] : v + 2 == mesh->vertex_count ? u[0] : u[rings - 1];
        mesh->weights[v] = (MeshWeights){0};
        if (lock->chain)
            avatar_chain_weights(lock->chain, at, 1.0f, &mesh->weights[v]);
        else
            weights_add(&mesh->weights[v], JOINT_HEAD, 1.0f);
        weights_finish(&mesh->weights[v]);
    }
}

/* A tube of a bundle: its place beside the curve and its length. */
typedef struct Strand {
    float x, y;
    float end; /* segments before the end of the chain */
    float scale;
} Strand;

static void add_bundle(const Lock *lock, const Strand *strand, int count, SampleMesh *mesh)
{
    for (int i = 0; i < count; i++) {
        Lock one = *lock;
        one.x = strand[i].x;
        one.y = strand[i].y;
        one.end = lock->end - strand[i].end;
        one.width = lock->width * strand[i].scale;
        one.height = lock->height * strand[i].scale;
        add_lock(&one, mesh);
    }
}

/* A bundle on a chain of this name, if the rig has it. */
static void add_chain_bundle(const AvatarRig *rig, const char *name, Lock lock,
                             const Strand *strand, int count, SampleMesh *mesh)
{
    const AvatarChain *chain = avatar_find_chain(rig, name);

    if (!chain)
        return;
    lock.chain = chain;
    lock.point = chain->desc.point;
    lock.point_count = chain->desc.point_count;
    lock.end += (float)(chain->desc.point_count - 1);
    add_bundle(&lock, strand, count, mesh);
}

/* The same on the left, and its mirror image on the right. */
static void add_bundle_pair(const AvatarRig *rig, const char *left, const Lock *lock,
                            const Strand *strand, int count, SampleMesh *mesh)
{
    int first_vertex = mesh->vertex_count, first_index = mesh->index_count;

    add_chain_bundle(rig, left, *lock, strand, count, mesh);
    mesh_mirror(mesh, first_vertex, first_index, rig->mirror);
}

static void add_ponytail(const AvatarRig *rig, SampleMesh *mesh)
{
    static const Strand strand[] = {
        {0.0f, 0.0f, 0.0f, 1.0f},   {0.75f, 0.25f, 0.35f, 0.72f}, {-0.75f, 0.25f, 0.35f, 0.72f},
        {0.6f, -0.6f, 0.9f, 0.66f}, {-0.6f, -0.6f, 0.9f, 0.66f},  {0.0f, 0.8f, 0.6f, 0.74f},
        {1.05f, -0.2f, 1.5f, 0.5f}, {-1.05f, -0.2f, 1.5f, 0.5f},  {0.0f, -0.9f, 1.3f, 0.6f}};
    Lock lock = {.start = -0.25f,
                 .end = 0.3f,
                 .width = 0.034f,
                 .height = 0.028f,
                 .root = 0.34f,
                 .belly = 0.5f,
                 .rings = 28,
                 .sides = 12};

    add_chain_bundle(rig, "Ponytail", lock, strand, COUNT(strand), mesh);
}

static void add_bangs(const AvatarRig *rig, SampleMesh *mesh)
{
    static const char *const name[BANG_COUNT] = {"Bang1_", "Bang2_", "Bang3_", "Bang4_",
                                                 "Bang5_", "Bang6_", "Bang7_"};
    static const Strand side[] = {{0.0f, 0.0f, 0.0f, 1.0f}, {0.6f, 0.35f, 0.25f, 0.75f}};
    static const Strand middle[] = {
        {0.0f, 0.0f, 0.0f, 1.0f}, {0.6f, 0.35f, 0.25f, 0.7f}, {-0.6f, 0.35f, 0.25f, 0.7f}};
    Lock lock = {.start = -0.3f,
                 .end = 0.1f + BANG_POINTS - 1,
                 .point_count = BANG_POINTS,
                 .width = 0.0175f,
                 .height = 0.0062f,
                 .root = 0.4f,
                 .belly = 0.5f,
                 .rings = 13,
                 .sides = 10};
    int first_vertex = mesh->vertex_count, first_index = mesh->index_count;

    for (int i = BANG_COUNT - 1; i >= BANG_COUNT / 2; i--) {
        Vec3 point[BANG_POINTS];
        avatar_bang_points(i, point);
        lock.point = point;
        lock.chain = avatar_find_chain(rig, name[i]);
        if (i > BANG_COUNT / 2) {
            add_bundle(&lock, side, COUNT(side), mesh);
            continue;
        }
        mesh_mirror(mesh, first_vertex, first_index, rig->mirror);
        add_bundle(&lock, middle, COUNT(middle), mesh);
    }
}

/* Strands combed over the cap from the hairline to the ponytail; they move with the head. */
static void add_combed(const AvatarRig *rig, const Shape *cap, SampleMesh *mesh)
{
    enum { POINTS = 6 };
    // where they start, on the left
    static const Vec3 start[] = {
        {0.012f, 1.572f, 0.084f},  {0.037f, 1.567f, 0.074f},  {0.061f, 1.552f, 0.058f},
        {0.083f, 1.533f, 0.034f},  {0.098f, 1.515f, 0.006f},  {0.098f, 1.490f, -0.030f},
        {0.088f, 1.455f, -0.048f}, {0.066f, 1.425f, -0.072f}, {0.026f, 1.410f, -0.090f}};
    const Vec3 end = {0.0f, 1.553f, -0.112f};
    int first_vertex = mesh->vertex_count, first_index = mesh->index_count;

    for (int i = 0; i < COUNT(start); i++) {
        Vec3 point[POINTS];
        Lock lock = {.point_count = POINTS,
                     .point = point,
                     .end = POINTS - 1,
                     .width = 0.0145f,
                     .height = 0.0036f,
                     .root = 0.35f,
                     .belly = 0.4f,
                     .rings = 12,
                     .sides = 8};
        for (int k = 0; k < POINTS; k++) {
            // along the cap, aiming at the ponytail from a little to the side of it
            float t = (float)k / (POINTS - 1);
            Vec3 aim = vec3_lerp(start[i], vec3_add(end, vec3(0.12f * start[i].x, 0.0f, 0.0f)), t);
            Vec3 away = vec3_normalize_or(vec3_sub(aim, vec3(0.0f, 1.50f, -0.016f)), end);
            Vec3 from = vec3_add_scaled(vec3(0.0f, 1.50f, -0.016f), away, 0.2f);
            point[k] = aim;
            (void)shape_ray(cap, from, vec3_scale(away, -1.0f), 0.2f, &point[k]);
        }
        add_lock(&lock, mesh);
    }
    mesh_mirror(mesh, first_vertex, first_index, rig->mirror);
}

void avatar_add_hair(const AvatarRig *rig, Arena *arena, AvatarParts *parts)
{
    static const Strand long_strand[] = {{0.0f, 0.0f, 0.0f, 1.0f},
                                         {0.5f, 0.3f, 0.5f, 0.7f},
                                         {-0.5f, 0.2f, 0.8f, 0.7f},
                                         {0.1f, 0.9f, 1.2f, 0.6f}};
    static const Strand short_strand[] = {
        {0.0f, 0.0f, 0.0f, 1.0f}, {0.5f, 0.2f, 0.3f, 0.7f}, {-0.5f, 0.2f, 0.5f, 0.7f}};
    SampleMesh *hair = &parts->mesh[MATERIAL_HAIR];
    Shape cap = {COUNT(cap_piece), cap_piece, true};
    ShapeGrid cap_grid = {
        {-0.125f, 1.37f, -0.16f}, {0.125f, 1.64f, 0.125f}, {0.0115f, 0.0115f, 0.0115f}};
    Lock side = {.start = -0.35f,
                 .end = 0.2f,
                 .width = 0.018f,
                 .height = 0.010f,
                 .root = 0.36f,
                 .belly = 0.5f,
                 .rings = 22,
                 .sides = 10};
    Lock front = side;

    front.rings = 30;
    front.width = 0.022f;
    front.height = 0.011f;
    shape_mesh(&cap, &cap_grid, arena, hair);
    for (int v = 0; v < hair->vertex_count; v++)
        weights_add(&hair->weights[v], JOINT_HEAD, 1.0f);
    add_combed(rig, &cap, hair);
    add_ponytail(rig, hair);
    add_bundle_pair(rig, "FrontLockL", &front, long_strand, COUNT(long_strand), hair);
    add_bundle_pair(rig, "SideLockL", &side, short_strand, COUNT(short_strand), hair);
    add_bangs(rig, hair);

    // the band that holds the ponytail
    SampleMesh *band = &parts->mesh[MATERIAL_HAIR_BAND];
    mesh_add_ring(band, &(MeshRing){.centre = {0.0f, 1.5566f, -0.1256f},
                                    .u = {0.0f, 0.0198f, 0.0053f},
                                    .v = {0.0205f, 0.0f, 0.0f},
                                    .width = 0.008f,
                                    .height = 0.006f,
                                    .ring_count = 24,
                                    .side_count = 10});
    for (int v = 0; v < band->vertex_count; v++)
        weights_add(&band->weights[v], JOINT_HEAD, 1.0f);
}
