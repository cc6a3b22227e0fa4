#include "math/scalar.h"
#include "samples/avatar_parts.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const double TURN = 6.283185307179586;

/* Shirt: x >= 0, mirrored. */
static const ShapeStation shirt_station[] = {
    {0.945f, 0.0f, -0.006f, 0.118f, 0.088f}, {0.99f, 0.0f, -0.006f, 0.1035f, 0.078f},
    {1.035f, 0.0f, -0.005f, 0.099f, 0.074f}, {1.09f, 0.0f, -0.002f, 0.107f, 0.080f},
    {1.15f, 0.0f, 0.004f, 0.119f, 0.091f},   {1.20f, 0.0f, 0.004f, 0.126f, 0.093f},
    {1.25f, 0.0f, -0.006f, 0.124f, 0.080f},  {1.285f, 0.0f, -0.012f, 0.105f, 0.065f},
    {1.315f, 0.0f, -0.016f, 0.068f, 0.052f}, {1.335f, 0.0f, -0.017f, 0.050f, 0.048f}};

static const ShapePiece shirt_piece[] = {
    {.kind = SHAPE_LOFT, .station_count = COUNT(shirt_station), .station = shirt_station},
    {.kind = SHAPE_ELLIPSOID,
     .blend = 0.03f,
     .a = {0.053f, 1.190f, 0.058f},
     .b = {0.048f, 0.050f, 0.040f}},
    {.kind = SHAPE_CONE,
     .blend = 0.05f,
     .a = {0.115f, 1.270f, -0.012f},
     .b = {0.30f, 1.266f, -0.012f},
     .a_radius = 0.050f,
     .b_radius = 0.052f},
    {.kind = SHAPE_HALF_SPACE,
     .join = SHAPE_KEEP,
     .blend = 0.004f,
     .a = {0.25f, 0.0f, 0.0f},
     .b = {1.0f, 0.0f, 0.0f}}};

/* Knot and loops of the bow; its tails are flat tubes. */
static const ShapePiece bow_piece[] = {
    {.kind = SHAPE_ELLIPSOID, .a = {0.0f, 1.294f, 0.063f}, .b = {0.0105f, 0.011f, 0.0095f}},
    {.kind = SHAPE_ELLIPSOID,
     .blend = 0.008f,
     .a = {0.018f, 1.295f, 0.061f},
     .b = {0.013f, 0.0105f, 0.0075f}},
    {.kind = SHAPE_ELLIPSOID,
     .blend = 0.008f,
     .a = {0.034f, 1.297f, 0.057f},
     .b = {0.0165f, 0.0175f, 0.0075f}}};

static const ShapeStation pelvis_station[] = {{0.80f, 0.0f, -0.006f, 0.120f, 0.088f},
                                              {0.86f, 0.0f, -0.008f, 0.138f, 0.100f},
                                              {0.92f, 0.0f, -0.008f, 0.128f, 0.094f},
                                              {0.97f, 0.0f, -0.006f, 0.105f, 0.078f}};

static const ShapePiece shorts_piece[] = {
    {.kind = SHAPE_LOFT, .station_count = COUNT(pelvis_station), .station = pelvis_station},
    {.kind = SHAPE_CONE,
     .blend = 0.02f,
     .a = {0.078f, 0.84f, -0.002f},
     .b = {0.0765f, 0.60f, 0.004f},
     .a_radius = 0.079f,
     .b_radius = 0.070f},
    {.kind = SHAPE_HALF_SPACE,
     .join = SHAPE_KEEP,
     .blend = 0.006f,
     .a = {0.0f, 0.70f, 0.0f},
     .b = {0.0f, -1.0f, 0.0f}}};

/* Left sock and shoe. */
static const ShapeStation sock_station[] = {
    {0.045f, 0.075f, -0.018f, 0.027f, 0.031f},  {0.09f, 0.075f, -0.018f, 0.0295f, 0.034f},
    {0.14f, 0.0755f, -0.021f, 0.0305f, 0.035f}, {0.22f, 0.0765f, -0.026f, 0.0395f, 0.0435f},
    {0.31f, 0.077f, -0.024f, 0.0475f, 0.0515f}, {0.36f, 0.0765f, -0.016f, 0.0455f, 0.0495f}};

static const ShapePiece sock_piece[] = {
    {.kind = SHAPE_LOFT, .station_count = COUNT(sock_station), .station = sock_station}};

#define SHOE_PIECES(more)                                                                          \
    {.kind = SHAPE_CONE,                                                                           \
     .a = {0.0745f, 0.042f, -0.026f},                                                              \
     .b = {0.078f, 0.030f, 0.095f},                                                                \
     .a_radius = 0.034f + (more),                                                                  \
     .b_radius = 0.036f + (more)},                                                                 \
    {                                                                                              \
        .kind = SHAPE_ELLIPSOID, .blend = 0.03f, .a = {0.080f, 0.026f, 0.106f}, .b = {             \
            0.043f + (more),                                                                       \
            0.034f + (more),                                                                       \
            0.056f + (more)                                                                        \
        }                                                                                          \
    }

static const ShapePiece shoe_piece[] = {SHOE_PIECES(0.0f),
                                        {.kind = SHAPE_CONE,
                                         .blend = 0.03f,
                                         .a = {0.075f, 0.050f, -0.020f},
                                         .b = {0.075f, 0.098f, -0.022f},
                                         .a_radius = 0.038f,
                                         .b_radius = 0.041f},
                                        {.kind = SHAPE_HALF_SPACE,
                                         .join = SHAPE_KEEP,
                                         .blend = 0.004f,
                                         .a = {0.0f, 0.112f, 0.0f},
                                         .b = {0.0f, 1.0f, 0.0f}},
                                        {.kind = SHAPE_HALF_SPACE,
                                         .join = SHAPE_KEEP,
                                         .blend = 0.004f,
                                         .a = {0.0f, 0.006f, 0.0f},
                                         .b = {0.0f, -1.0f, 0.0f}}};

static const ShapePiece sole_piece[] = {SHOE_PIECES(0.0035f),
                                        {.kind = SHAPE_HALF_SPACE,
                                         .join = SHAPE_KEEP,
                                         .blend = 0.006f,
                                         .a = {0.0f, 0.021f, 0.0f},
                                         .b = {0.0f, 1.0f, 0.0f}},
                                        {.kind = SHAPE_HALF_SPACE,
                                         .join = SHAPE_KEEP,
                                         .blend = 0.006f,
                                         .a = {0.0f, 0.0f, 0.0f},
                                         .b = {0.0f, -1.0f, 0.0f}}};

static void add_middle(const Shape *shape, const ShapeGrid *grid, MeshWeights (*weights)(Vec3),
                       SampleMesh *mesh)
{
    int first = mesh->vertex_count;

    shape_mesh(shape, grid, mesh->arena, mesh);
    for (int v = first; v < mesh->vertex_count; v++)
        mesh->weights[v] = weights(mesh->position[v]);
}

static void add_leg(const AvatarRig *rig, const Shape *shape, const ShapeGrid *grid,
                    SampleMesh *mesh)
{
    int first_vertex = mesh->vertex_count, first_index = mesh->index_count;

    shape_mesh(shape, grid, mesh->arena, mesh);
    for (int v = first_vertex; v < mesh->vertex_count; v++)
        mesh->weights[v] = avatar_leg_weights(mesh->position[v], SIDE_LEFT);
    mesh_mirror(mesh, first_vertex, first_index, rig->mirror);
}

/* The left tail of the bow, on the shirt. */
static void add_bow_tail(SampleMesh *mesh)
{
    enum { RINGS = 7 };
    static const float place[RINGS][3] = {{0.004f, 1.290f, 0.066f}, {0.008f, 1.278f, 0.072f},
                                          {0.012f, 1.264f, 0.079f}, {0.016f, 1.250f, 0.0855f},
                                          {0.020f, 1.236f, 0.091f}, {0.0235f, 1.223f, 0.0955f},
                                          {0.025f, 1.217f, 0.097f}};
    static const float width[RINGS] = {0.004f, 0.006f, 0.0075f, 0.009f, 0.0105f, 0.0115f, 0.0115f};
    Vec3 centre[RINGS], side[RINGS], up[RINGS];
    float height[RINGS];

    for (int i = 0; i < RINGS; i++) {
        int a = i > 0 ? i - 1 : 0, b = i + 1 < RINGS ? i + 1 : RINGS - 1;
        const float *p = place[a], *q = place[b];
        Vec3 along =
            vec3_normalize_or(vec3(q[0] - p[0], q[1] - p[1], q[2] - p[2]), vec3(0.0f, -1.0f, 0.0f));
        centre[i] = vec3(place[i][0], place[i][1], place[i][2]);
        side[i] =
            vec3_normalize_or(vec3_cross(vec3(0.2f, 0.3f, 1.0f), along), vec3(1.0f, 0.0f, 0.0f));
        up[i] = vec3_cross(along, side[i]);
        height[i] = 0.0022f;
    }
    mesh_add_tube(mesh, &(MeshTube){.ring_count = RINGS,
                                    .side_count = 10,
                                    .centre = centre,
                                    .side = side,
                                    .up = up,
                                    .width = width,
                                    .height = height});
}

/* Collar, belt, cuffs and bow. */
static void add_trim(const AvatarRig *rig, SampleMesh *mesh)
{
    Shape bow = {COUNT(bow_piece), bow_piece, true};
    ShapeGrid bow_grid = {
        {-0.075f, 1.21f, 0.035f}, {0.075f, 1.325f, 0.11f}, {0.004f, 0.004f, 0.004f}};
    MeshRing collar = {{0.0f, 1.331f, -0.016f},
                       {0.0f, -0.016f, 0.050f},
                       {0.051f, 0.0f, 0.0f},
                       0.012f,
                       0.0055f,
                       40,
                       10};
    MeshRing belt = {{0.0f, 0.985f, -0.006f},
                     {0.0f, 0.0f, 0.085f},
                     {0.110f, 0.0f, 0.0f},
                     0.017f,
                     0.006f,
                     64,
                     10};
    MeshRing cuff = {{0.2475f, 1.267f, -0.012f},
                     {0.0f, 0.0475f, 0.0f},
                     {0.0f, 0.0f, 0.0475f},
                     0.008f,
                     0.0085f,
                     32,
                     10};

    add_middle(&bow, &bow_grid, avatar_torso_weights, mesh);
    int first = mesh->vertex_count, first_index = mesh->index_count;
    add_bow_tail(mesh);
    mesh_mirror(mesh, first, first_index, rig->mirror);
    mesh_add_ring(mesh, &collar);
    mesh_add_ring(mesh, &belt);
    for (int v = first; v < mesh->vertex_count; v++)
        mesh->weights[v] = avatar_torso_weights(mesh->position[v]);

    first_index = mesh->index_count;
    first = mesh->vertex_count;
    mesh_add_ring(mesh, &cuff);
    for (int v = first; v < mesh->vertex_count; v++)
        mesh->weights[v] = avatar_arm_weights(mesh->position[v], SIDE_LEFT);
    mesh_mirror(mesh, first, first_index, rig->mirror);
}

enum { SKIRT_AROUND = 120, SKIRT_ROWS = 14, SKIRT_PLEATS = 20 };

static MeshWeights skirt_weights(const AvatarChain *first, float turn, float height)
{
    MeshWeights out = {0};
    int k = (int)turn % SKIRT_CHAINS;
    float part = turn - (float)(int)turn;
    float u = (first->desc.point[0].y - height) / (first->desc.point[0].y - first->desc.point[1].y);

    avatar_chain_weights(&first[k], u, 1.0f - part, &out);
    avatar_chain_weights(&first[(k + 1) % SKIRT_CHAINS], u, part, &out);
    weights_finish(&out);
    return out;
}

/* One side of the cloth: `inset` moves it inwards. */
static void add_skirt_sheet(const AvatarChain *chain, float inset, SampleMesh *mesh)
{
    for (int row = 0; row < SKIRT_ROWS; row++)
        for (int i = 0; i < SKIRT_AROUND; i++) {
            float down = (float)row / (SKIRT_ROWS - 1);
            float height = 0.985f - 0.365f * down;
            float turn = (float)i * SKIRT_CHAINS / SKIRT_AROUND;
            Vec3 p = avatar_skirt_point(turn, height);
            Vec3 out = vec3_normalize_or(vec3(p.x, 0.0f, p.z), vec3(0.0f, 0.0f, 1.0f));
            double fold = scalar_cos(TURN * SKIRT_PLEATS * i / SKIRT_AROUND);
            float pleat = 0.011f * down * (2.0f - down) * (float)fold;
            uint32_t v = mesh_add_vertex(mesh, vec3_add_scaled(p, out, pleat - inset), out);
            if (!mesh->arena->overflowed)
                mesh->weights[v] = skirt_weights(chain, turn, height);
        }
}

static void add_skirt(const AvatarRig *rig, SampleMesh *mesh)
{
    const AvatarChain *chain = avatar_find_chain(rig, "Skirt1_");
    uint32_t inner = SKIRT_ROWS * SKIRT_AROUND, last = (SKIRT_ROWS - 1) * SKIRT_AROUND;

    add_skirt_sheet(chain, 0.0f, mesh);
    add_skirt_sheet(chain, 0.003f, mesh);
    for (uint32_t i = 0; i < SKIRT_AROUND; i++) {
        uint32_t j = (i + 1) % SKIRT_AROUND;
        for (uint32_t row = 0; row + 1 < SKIRT_ROWS; row++) {
            uint32_t here = row * SKIRT_AROUND, below = here + SKIRT_AROUND;
            mesh_add_quad(mesh, here + i, below + i, below + j, here + j);
            mesh_add_quad(mesh, inner + here + j, inner + below + j, inner + below + i,
                          inner + here + i);
        }
        mesh_add_quad(mesh, last + i, inner + last + i, inner + last + j, last + j);
        mesh_add_quad(mesh, inner + i, i, j, inner + j);
    }
    mesh_smooth_normals(mesh, 0, 0);
}

void avatar_add_clothes(const AvatarRig *rig, AvatarParts *parts)
{
    Shape shirt = {COUNT(shirt_piece), shirt_piece, true};
    Shape shorts = {COUNT(shorts_piece), shorts_piece, true};
    Shape sock = {COUNT(sock_piece), sock_piece, false};
    Shape shoe = {COUNT(shoe_piece), shoe_piece, false};
    Shape sole = {COUNT(sole_piece), sole_piece, false};
    ShapeGrid shirt_grid = {
        {-0.27f, 0.92f, -0.13f}, {0.27f, 1.37f, 0.13f}, {0.012f, 0.012f, 0.012f}};
    ShapeGrid shorts_grid = {
        {-0.18f, 0.68f, -0.13f}, {0.18f, 1.0f, 0.12f}, {0.015f, 0.015f, 0.015f}};
    ShapeGrid sock_grid = {{0.01f, 0.03f, -0.10f}, {0.15f, 0.38f, 0.05f}, {0.009f, 0.012f, 0.009f}};
    ShapeGrid shoe_grid = {
        {0.01f, -0.01f, -0.09f}, {0.15f, 0.13f, 0.19f}, {0.008f, 0.008f, 0.008f}};
    ShapeGrid sole_grid = {
        {0.01f, -0.012f, -0.09f}, {0.15f, 0.04f, 0.19f}, {0.007f, 0.005f, 0.007f}};

    add_middle(&shirt, &shirt_grid, avatar_torso_weights, &parts->mesh[MATERIAL_SHIRT]);
    add_middle(&shorts, &shorts_grid, avatar_hips_weights, &parts->mesh[MATERIAL_SHORTS]);
    add_leg(rig, &sock, &sock_grid, &parts->mesh[MATERIAL_SOCKS]);
    add_leg(rig, &shoe, &shoe_grid, &parts->mesh[MATERIAL_SHOES]);
    add_leg(rig, &sole, &sole_grid, &parts->mesh[MATERIAL_SOLES]);
    add_trim(rig, &parts->mesh[MATERIAL_TRIM]);
    add_skirt(rig, &parts->mesh[MATERIAL_SKIRT]);
}
