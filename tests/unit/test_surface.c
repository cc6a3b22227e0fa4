/* The body as a distance field: known distances, and the nearest of all triangles looked at one by
 * one. */
#include "core/surface.h"
#include "support/check.h"
#include "support/stage.h"

enum { LAYERS = 3, STACKS = 24, SLICES = 32, BALL = (STACKS + 1) * SLICES };

/* Balls on nodes of their own; some may be open at the top. */
typedef struct Field {
    Arena arena;
    Rig rig;
    RigNode node[LAYERS + 1];
    RigMesh mesh[LAYERS];
    RigPrimitive primitive[LAYERS];
    int count;
    Surface surface;
    SurfaceState state;
    Pose pose;
    Error err;
} Field;

/* A ball of latitudes and longitudes; `stacks` fewer than STACKS leave it open above. The seam has
 * two vertices at each place. */
static void add_ball(Field *f, Vec3 centre, float radius, int stacks)
{
    int i = f->count++, indices = 0, row = SLICES + 1;
    Vec3 *position = arena_array(&f->arena, Vec3, (STACKS + 1) * row);
    uint32_t *index = arena_array(&f->arena, uint32_t, 6 * STACKS * SLICES);
    const double pi = 3.14159265358979323846;

    CHECK(position && index);
    for (int s = 0; s <= STACKS; s++)
        for (int l = 0; l <= SLICES; l++) {
            double a = pi * s / STACKS, b = 2.0 * pi * (l % SLICES) / SLICES;
            bool is_pole = s == 0 || s == STACKS;

            position[s * row + l] =
                vec3(is_pole ? 0.0f : radius * (float)(sin(a) * cos(b)), -radius * (float)cos(a),
                     is_pole ? 0.0f : radius * (float)(sin(a) * sin(b)));
        }
    for (int s = 0; s < stacks; s++)
        for (int l = 0; l < SLICES; l++) {
            int a = s * row + l;
            const int corner[6] = {a, a + row, a + 1, a + 1, a + row, a + row + 1};

            for (int k = 0; k < 6; k++)
                index[indices++] = (uint32_t)corner[k];
        }
    f->primitive[i] = (RigPrimitive){.vertex_count = (STACKS + 1) * row,
                                     .index_count = indices,
                                     .material = -1,
                                     .position = position,
                                     .index = index,
                                     .position_accessor = -1,
                                     .normal_accessor = -1};
    f->mesh[i] = (RigMesh){.name = "ball", .primitive_count = 1, .primitive = &f->primitive[i]};
    f->node[i] = (RigNode){
        .name = "ball", .parent = -1, .mesh = i, .skin = -1, .rest = transform_identity()};
    f->node[i].rest.translation = centre;
}

static Field *open_field(void)
{
    Arena arena = test_arena(64 << 20);
    Field *f = arena_array(&arena, Field, 1);

    CHECK(f != NULL);
    f->arena = arena;
    return f;
}

static void close_field(Field *f)
{
    Arena arena = f->arena;

    arena_destroy(&arena);
}

static void build(Field *f)
{
    f->rig = (Rig){.format = "sample",
                   .name = "field",
                   .unit = 1.0,
                   .node_count = f->count,
                   .node = f->node,
                   .mesh_count = f->count,
                   .mesh = f->mesh};
    CHECK_INT(rig_finish(&f->rig, &f->arena, &f->err), ==, STATUS_OK);
    const BodyDesc desc = {.rig = &f->rig};
    CHECK_INT(surface_build(&desc, &f->arena, &f->surface, &f->err), ==, STATUS_OK);
    CHECK_INT(surface_start(&f->surface, &f->arena, &f->state, &f->err), ==, STATUS_OK);
    CHECK_INT(pose_build(&f->rig, &f->arena, &f->pose, &f->err), ==, STATUS_OK);
}

static void pose(Field *f, SimdLevel simd)
{
    surface_pose(&f->surface, &f->pose, (DVec3){0.0, 0.0, 0.0}, simd, &f->state);
}

static SurfacePoint nearest(const Field *f, Vec3 point)
{
    return surface_nearest(&f->surface, &f->state, point, 1.0f);
}

TEST(surface, is_as_far_as_a_ball_is)
{
    Field *f = open_field();
    Random random = test_case_random(0);
    const Vec3 centre = {0.3f, 1.0f, -0.2f};

    add_ball(f, centre, 0.1f, STACKS);
    build(f);
    pose(f, SIMD_SCALAR);
    for (int i = 0; i < 2000; i++) {
        Vec3 from = vec3(random_float(&random, -0.3f, 0.3f), random_float(&random, -0.3f, 0.3f),
                         random_float(&random, -0.3f, 0.3f));
        SurfacePoint point = nearest(f, vec3_add(centre, from));
        double wanted = (double)vec3_length(from) - 0.1;

        // the facets lie up to 1.1 mm inside of the ball
        CHECK(point.is_found);
        CHECK_NEAR(point.distance, wanted + 0.0006, 0.0008);
        if (fabs(wanted) > 0.005 && vec3_length(from) > 0.03f)
            CHECK(vec3_dot(point.normal, from) > 0.95f * vec3_length(from));
    }
    close_field(f);
}

/* Law: the tree finds what a look at every triangle finds, through vertices, edges and faces. */
TEST(surface, finds_the_nearest_of_all_triangles)
{
    Field *f = open_field();

    add_ball(f, vec3(0.0f, 0.0f, 0.0f), 0.1f, STACKS);
    add_ball(f, vec3(0.15f, 0.05f, 0.0f), 0.12f, STACKS);
    add_ball(f, vec3(0.0f, 0.2f, 0.1f), 0.05f, 14);
    build(f);
    for (int i = 0; i < test_law_cases(); i++) {
        Random random = test_case_random(i);
        float best = INFINITY;

        f->pose.local[1].translation.x = random_float(&random, -0.2f, 0.2f);
        f->pose.local[2].scale = vec3(1.0f, random_float(&random, 0.5f, 2.0f), 1.0f);
        pose_update_world(&f->rig, &f->pose);
        pose(f, SIMD_SCALAR);
        Vec3 p = vec3(random_float(&random, -0.3f, 0.4f), random_float(&random, -0.2f, 0.4f),
                      random_float(&random, -0.2f, 0.2f));
        // densely on every triangle
        for (int t = 0; t < f->surface.triangle_count; t++)
            for (int a = 0; a <= 8; a++)
                for (int b = 0; a + b <= 8; b++) {
                    const int *corner = &f->surface.corner[3 * t];
                    Vec3 o = f->state.position[corner[0]];
                    Vec3 x = vec3_sub(f->state.position[corner[1]], o);
                    Vec3 y = vec3_sub(f->state.position[corner[2]], o);
                    Vec3 at = vec3_add_scaled(vec3_add_scaled(o, x, (float)a / 8), y, (float)b / 8);
                    float distance = vec3_length(vec3_sub(p, at));
                    best = distance < best ? distance : best;
                }
        SurfacePoint point = nearest(f, p);
        // inside of one, another may be nearer from its outside
        if (point.distance >= 0.0f)
            CHECK_NEAR(point.distance, best, 0.0012);
        else
            CHECK(-point.distance > best - 0.0012f);
        CHECK_NEAR(vec3_length(point.normal), 1.0, 1e-4);
    }
    close_field(f);
}

/* A point under the shirt but over the skin is inside, by how deep it is under the shirt. */
TEST(surface, is_the_union_of_its_layers)
{
    Field *f = open_field();

    add_ball(f, vec3(0.0f, 0.0f, 0.0f), 0.10f, STACKS);
    add_ball(f, vec3(0.0f, 0.0f, 0.0f), 0.12f, STACKS);
    build(f);
    pose(f, SIMD_SCALAR);
    CHECK_INT(f->surface.layer_count, ==, 2);
    CHECK_NEAR(nearest(f, vec3(0.103f, 0.0f, 0.0f)).distance, -0.017, 0.001);
    CHECK_NEAR(nearest(f, vec3(0.122f, 0.0f, 0.0f)).distance, 0.002, 0.001);
    close_field(f);
}

/* A bowl: beyond its rim everything is outside, in it is inside. */
TEST(surface, is_open_where_a_mesh_is)
{
    Field *f = open_field();

    add_ball(f, vec3(0.0f, 0.0f, 0.0f), 0.1f, STACKS / 2);
    build(f);
    pose(f, SIMD_SCALAR);
    CHECK(nearest(f, vec3(0.09f, -0.02f, 0.0f)).distance < -0.005f);
    CHECK(nearest(f, vec3(0.11f, -0.02f, 0.0f)).distance > 0.005f);
    CHECK(nearest(f, vec3(0.09f, 0.02f, 0.0f)).distance > 0.01f);
    CHECK(nearest(f, vec3(0.11f, 0.02f, 0.0f)).distance > 0.01f);
    close_field(f);
}

/* Hidden meshes do not count, nor do those that a chain moves. */
TEST(surface, leaves_out_what_is_hidden_or_moved_by_chains)
{
    Field *f = open_field();
    const int hidden = 1;
    RigSegment segment = {.head = 2, .tail = -1, .tail_offset = {0.0f, -0.1f, 0.0f}};
    RigSpring spring = {
        .key = "swing", .name = "swing", .center = -1, .segment_count = 1, .segment = &segment};

    add_ball(f, vec3(0.0f, 0.0f, 0.0f), 0.1f, STACKS);
    add_ball(f, vec3(1.0f, 0.0f, 0.0f), 0.1f, STACKS);
    add_ball(f, vec3(2.0f, 0.0f, 0.0f), 0.1f, STACKS);
    build(f);
    CHECK_INT(f->surface.layer_count, ==, 3);
    f->rig.spring = &spring;
    f->rig.spring_count = 1;
    const BodyDesc desc = {.rig = &f->rig, .hidden_count = 1, .hidden = &hidden};
    CHECK_INT(surface_build(&desc, &f->arena, &f->surface, &f->err), ==, STATUS_OK);
    CHECK_INT(surface_start(&f->surface, &f->arena, &f->state, &f->err), ==, STATUS_OK);
    pose(f, SIMD_SCALAR);
    CHECK_INT(f->surface.layer_count, ==, 1);
    for (int i = 0; i < 3; i++) {
        Vec3 at = vec3((float)i, 0.05f, 0.0f);
        SurfacePoint point = surface_nearest(&f->surface, &f->state, at, 0.2f);
        CHECK(point.is_found == (i == 0));
    }
    close_field(f);
}

TEST(surface, does_not_find_what_is_out_of_reach)
{
    Field *f = open_field();

    add_ball(f, vec3(0.0f, 0.0f, 0.0f), 0.1f, STACKS);
    build(f);
    pose(f, SIMD_SCALAR);
    SurfacePoint far = surface_nearest(&f->surface, &f->state, vec3(0.2f, 0.0f, 0.0f), 0.05f);
    CHECK(!far.is_found);
    CHECK_NEAR(far.distance, 0.05f, 0.0);
    CHECK(surface_nearest(&f->surface, &f->state, vec3(0.14f, 0.0f, 0.0f), 0.05f).is_found);
    close_field(f);
}

TEST(surface, follows_scale_and_does_not_turn_inside_out_in_a_mirror)
{
    static const Vec3 scale[3] = {{1.0f, 1.0f, 1.0f}, {10.0f, 10.0f, 10.0f}, {-1.0f, 1.0f, 1.0f}};

    for (int i = 0; i < 3; i++) {
        Field *f = open_field();
        float size = fabsf(scale[i].x);

        add_ball(f, vec3(0.0f, 0.0f, 0.0f), 0.1f, STACKS);
        f->node[0].rest.scale = scale[i];
        build(f);
        pose(f, SIMD_SCALAR);
        Vec3 in = vec3(0.0f, 0.08f * size, 0.02f * size);
        SurfacePoint point = surface_nearest(&f->surface, &f->state, in, size);
        CHECK_NEAR(point.distance, -0.0175 * (double)size, 0.001 * (double)size);
        CHECK(vec3_dot(point.normal, in) > 0.0f);
        close_field(f);
    }
}

TEST(surface, has_the_same_bits_at_every_instruction_set)
{
    Field *f = open_field();
    Random random = test_case_random(1);

    add_ball(f, vec3(0.0f, 0.0f, 0.0f), 0.1f, STACKS);
    add_ball(f, vec3(0.15f, 0.05f, 0.0f), 0.12f, STACKS);
    build(f);
    for (int i = 0; i < 50; i++) {
        Vec3 p =
            vec3(random_float(&random, -0.2f, 0.3f), random_float(&random, -0.2f, 0.2f), 0.01f);
        pose(f, SIMD_SCALAR);
        SurfacePoint first = nearest(f, p);
        for (int level = 1; level <= (int)simd_level_best(); level++) {
            pose(f, (SimdLevel)level);
            SurfacePoint other = nearest(f, p);
            CHECK(other.distance == first.distance && other.normal.x == first.normal.x &&
                  other.normal.y == first.normal.y && other.normal.z == first.normal.z);
        }
    }
    close_field(f);
}

/* A model without meshes has no surface, and nothing is near it. */
TEST(surface, may_be_empty)
{
    Field *f = open_field();

    f->count = 1;
    f->node[0] =
        (RigNode){.name = "n", .parent = -1, .mesh = -1, .skin = -1, .rest = transform_identity()};
    f->rig.node_count = 1;
    build(f);
    f->rig.mesh_count = 0;
    pose(f, SIMD_SCALAR);
    CHECK(!nearest(f, vec3(0.0f, 0.0f, 0.0f)).is_found);
    close_field(f);
}

TEST(surface, builds_or_refuses_at_every_arena_size)
{
    Field *f = open_field();
    Status status = STATUS_NO_MEMORY;

    add_ball(f, vec3(0.0f, 0.0f, 0.0f), 0.1f, STACKS);
    build(f);
    for (size_t capacity = 256; status == STATUS_NO_MEMORY; capacity += 4096) {
        Arena arena = test_arena(capacity);
        Error err = {0};
        Surface surface = {0};
        SurfaceState state = {0};
        const BodyDesc desc = {.rig = &f->rig};

        status = surface_build(&desc, &arena, &surface, &err);
        CHECK((status == STATUS_OK) == (surface.triangle_count > 0));
        if (!status)
            status = surface_start(&surface, &arena, &state, &err);
        CHECK((status == STATUS_OK) == (state.box != NULL));
        arena_destroy(&arena);
    }
    CHECK_INT(status, ==, STATUS_OK);
    close_field(f);
}
