#include "samples/avatar_parts.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Head and neck; x >= 0, mirrored. */
static const ShapeStation neck_station[] = {{1.22f, 0.0f, -0.018f, 0.055f, 0.05f},
                                            {1.30f, 0.0f, -0.018f, 0.047f, 0.045f},
                                            {1.345f, 0.0f, -0.016f, 0.0375f, 0.040f},
                                            {1.39f, 0.0f, -0.012f, 0.038f, 0.042f},
                                            {1.44f, 0.0f, -0.010f, 0.042f, 0.048f}};

static const ShapePiece head_piece[] = {
    // skull, jaw, chin, cheeks
    {.kind = SHAPE_ELLIPSOID, .a = {0.0f, 1.502f, -0.010f}, .b = {0.086f, 0.096f, 0.100f}},
    {.kind = SHAPE_ELLIPSOID,
     .blend = 0.05f,
     .a = {0.0f, 1.430f, 0.028f},
     .b = {0.060f, 0.058f, 0.060f}},
    {.kind = SHAPE_CONE,
     .blend = 0.035f,
     .a = {0.0f, 1.388f, 0.068f},
     .b = {0.006f, 1.392f, 0.066f},
     .a_radius = 0.014f,
     .b_radius = 0.014f},
    {.kind = SHAPE_ELLIPSOID,
     .blend = 0.03f,
     .a = {0.036f, 1.438f, 0.058f},
     .b = {0.030f, 0.026f, 0.028f}},
    {.kind = SHAPE_LOFT,
     .blend = 0.02f,
     .station_count = COUNT(neck_station),
     .station = neck_station},
    // nose
    {.kind = SHAPE_CONE,
     .blend = 0.016f,
     .a = {0.0f, 1.458f, 0.088f},
     .b = {0.0f, 1.4375f, 0.0985f},
     .a_radius = 0.003f,
     .b_radius = 0.0052f},
    // ear, with a shallow bowl
    {.kind = SHAPE_ELLIPSOID,
     .blend = 0.008f,
     .a = {0.088f, 1.462f, -0.012f},
     .b = {0.0125f, 0.029f, 0.020f}},
    {.kind = SHAPE_ELLIPSOID,
     .join = SHAPE_CUT,
     .blend = 0.004f,
     .a = {0.1025f, 1.465f, -0.006f},
     .b = {0.008f, 0.016f, 0.009f}}};

const Shape avatar_head = {COUNT(head_piece), head_piece, true};

/* The left arm, with the hand palm down. */
static const ShapeStation arm_station[] = {
    {0.10f, 1.268f, -0.012f, 0.044f, 0.044f},   {0.16f, 1.268f, -0.012f, 0.042f, 0.042f},
    {0.24f, 1.268f, -0.012f, 0.0365f, 0.038f},  {0.33f, 1.268f, -0.013f, 0.032f, 0.033f},
    {0.375f, 1.268f, -0.014f, 0.030f, 0.0315f}, {0.43f, 1.268f, -0.013f, 0.0315f, 0.033f},
    {0.50f, 1.268f, -0.011f, 0.027f, 0.0295f},  {0.57f, 1.268f, -0.010f, 0.0205f, 0.0245f},
    {0.60f, 1.268f, -0.010f, 0.018f, 0.0255f},  {0.63f, 1.268f, -0.0105f, 0.0165f, 0.034f},
    {0.66f, 1.269f, -0.011f, 0.0145f, 0.0395f}, {0.684f, 1.269f, -0.0115f, 0.0105f, 0.039f}};

static const ShapePiece arm_piece[] = {{.kind = SHAPE_LOFT,
                                        .axis = SHAPE_ALONG_X,
                                        .station_count = COUNT(arm_station),
                                        .station = arm_station},
                                       {.kind = SHAPE_CONE,
                                        .blend = 0.006f,
                                        .a = {0.668f, 1.2695f, 0.0195f},
                                        .b = {0.7325f, 1.2655f, 0.0262f},
                                        .a_radius = 0.0092f,
                                        .b_radius = 0.0074f},
                                       {.kind = SHAPE_CONE,
                                        .blend = 0.006f,
                                        .a = {0.668f, 1.2705f, -0.002f},
                                        .b = {0.743f, 1.2665f, -0.001f},
                                        .a_radius = 0.0094f,
                                        .b_radius = 0.0076f},
                                       {.kind = SHAPE_CONE,
                                        .blend = 0.006f,
                                        .a = {0.666f, 1.2695f, -0.0225f},
                                        .b = {0.7335f, 1.2655f, -0.0262f},
                                        .a_radius = 0.0091f,
                                        .b_radius = 0.0073f},
                                       {.kind = SHAPE_CONE,
                                        .blend = 0.006f,
                                        .a = {0.660f, 1.267f, -0.0415f},
                                        .b = {0.711f, 1.263f, -0.050f},
                                        .a_radius = 0.0082f,
                                        .b_radius = 0.0066f},
                                       {.kind = SHAPE_CONE,
                                        .blend = 0.016f,
                                        .a = {0.612f, 1.262f, 0.010f},
                                        .b = {0.638f, 1.258f, 0.036f},
                                        .a_radius = 0.0125f,
                                        .b_radius = 0.0098f},
                                       {.kind = SHAPE_CONE,
                                        .blend = 0.005f,
                                        .a = {0.638f, 1.258f, 0.036f},
                                        .b = {0.664f, 1.2555f, 0.052f},
                                        .a_radius = 0.0098f,
                                        .b_radius = 0.0076f}};

/* The left leg, from inside the shorts into the shoe. */
static const ShapeStation leg_station[] = {
    {0.04f, 0.075f, -0.018f, 0.024f, 0.028f},   {0.09f, 0.075f, -0.018f, 0.0265f, 0.031f},
    {0.14f, 0.0755f, -0.021f, 0.0275f, 0.032f}, {0.22f, 0.0765f, -0.026f, 0.0365f, 0.0405f},
    {0.31f, 0.077f, -0.024f, 0.0445f, 0.0485f}, {0.38f, 0.076f, -0.012f, 0.0415f, 0.045f},
    {0.455f, 0.075f, 0.003f, 0.0415f, 0.0455f}, {0.52f, 0.075f, 0.006f, 0.046f, 0.050f},
    {0.62f, 0.0755f, 0.006f, 0.056f, 0.0605f},  {0.72f, 0.076f, 0.003f, 0.0645f, 0.0705f},
    {0.80f, 0.077f, -0.002f, 0.0695f, 0.077f}};

static const ShapePiece leg_piece[] = {
    {.kind = SHAPE_LOFT, .station_count = COUNT(leg_station), .station = leg_station}};

/* Weights of all vertices from `first` on, by where they are. */
static void weigh(SampleMesh *mesh, int first, MeshWeights (*weights)(Vec3, int))
{
    for (int v = first; v < mesh->vertex_count; v++)
        mesh->weights[v] = weights(mesh->position[v], SIDE_LEFT);
}

static void add_limb(const AvatarRig *rig, const Shape *shape, const ShapeGrid *grid,
                     MeshWeights (*weights)(Vec3, int), SampleMesh *mesh)
{
    int first_vertex = mesh->vertex_count, first_index = mesh->index_count;

    shape_mesh(shape, grid, mesh->arena, mesh);
    weigh(mesh, first_vertex, weights);
    mesh_mirror(mesh, first_vertex, first_index, rig->mirror);
}

void avatar_add_body(const AvatarRig *rig, Arena *arena, AvatarParts *parts)
{
    SampleMesh *skin = &parts->mesh[MATERIAL_SKIN];
    Shape arm = {COUNT(arm_piece), arm_piece, false};
    Shape leg = {COUNT(leg_piece), leg_piece, false};
    ShapeGrid head_grid = {
        {-0.11f, 1.20f, -0.125f}, {0.11f, 1.62f, 0.125f}, {0.0085f, 0.0085f, 0.0085f}};
    ShapeGrid arm_grid = {
        {0.08f, 1.21f, -0.0765f}, {0.77f, 1.33f, 0.08f}, {0.008f, 0.0056f, 0.0048f}};
    ShapeGrid leg_grid = {
        {-0.01f, 0.02f, -0.11f}, {0.17f, 0.83f, 0.11f}, {0.0115f, 0.018f, 0.0115f}};

    shape_mesh(&avatar_head, &head_grid, arena, skin);
    for (int v = 0; v < skin->vertex_count; v++)
        skin->weights[v] = avatar_torso_weights(skin->position[v]);
    add_limb(rig, &arm, &arm_grid, avatar_arm_weights, skin);
    add_limb(rig, &leg, &leg_grid, avatar_leg_weights, skin);
}
