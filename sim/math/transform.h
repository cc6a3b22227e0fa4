/* Transform: translation, rotation, scale of a node in its parent, as in glTF. World: the same of a
 * node in the scene, with the translation in double so that a character may stand 10 km from the
 * origin, and with shear kept in the basis. */
#pragma once

#include "math/mat3.h"
#include "math/quat.h"
#include "math/vec3.h"

typedef struct Transform {
    Vec3 translation; /* metres */
    Quat rotation;    /* unit */
    Vec3 scale;
} Transform;

typedef struct World {
    DVec3 origin;  /* where the node's own origin lies, metres */
    Mat3 basis;    /* images of the node's axes, with scale and shear */
    Quat rotation; /* product of the rotations from the root, unit */
} World;

static inline Transform transform_identity(void)
{
    return (Transform){{0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}, {1.0f, 1.0f, 1.0f}};
}

/* Part of the way from a to b: linear, rotations by quat_nlerp. */
static inline Transform transform_blend(const Transform *a, const Transform *b, float t)
{
    return (Transform){vec3_lerp(a->translation, b->translation, t),
                       quat_nlerp(a->rotation, b->rotation, t), vec3_lerp(a->scale, b->scale, t)};
}

static inline World world_identity(void)
{
    return (World){{0.0, 0.0, 0.0}, mat3_identity(), quat_identity()};
}

/* A node's world from its parent's. */
static inline World world_child(const World *parent, const Transform *local)
{
    Mat3 basis = mat3_from_quat_scale(local->rotation, local->scale);

    return (World){
        dvec3_add(parent->origin, dvec3_from(mat3_apply(&parent->basis, local->translation))),
        mat3_mul(&parent->basis, &basis),
        quat_normalize(quat_mul(parent->rotation, local->rotation))};
}

/* A point of the node's space in the scene. */
static inline DVec3 world_point(const World *world, Vec3 point)
{
    return dvec3_add(world->origin, dvec3_from(mat3_apply(&world->basis, point)));
}

/* The greatest stretch of an axis: the scale of radii. */
static inline float world_max_scale(const World *world)
{
    float x = vec3_dot(world->basis.x, world->basis.x);
    float y = vec3_dot(world->basis.y, world->basis.y);
    float z = vec3_dot(world->basis.z, world->basis.z);
    float max = x > y ? x : y;

    return sqrtf(max > z ? max : z);
}
