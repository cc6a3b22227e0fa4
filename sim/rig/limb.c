#include "rig/limb.h"

#include "math/scalar.h"
#include "rig/builtin.h"

/* The angle at the corner between sides of lengths a and b of a triangle whose third is c. */
static double corner(double a, double b, double c)
{
    return scalar_acos((a * a + b * b - c * c) / (2.0 * a * b));
}

static Vec3 unit(Vec3 v, Vec3 otherwise)
{
    float length = vec3_length(v);

    return length > 1e-6f ? vec3_scale(v, 1.0f / length) : otherwise;
}

/* The axis about which the joint bends: square to the limb's plane; the pole's where it is
 * straight. */
static Vec3 find_axis(const MotionLimb *limb, Vec3 upper, Vec3 lower)
{
    Vec3 axis = vec3_cross(upper, lower);
    float sine = vec3_length(axis) / (vec3_length(upper) * vec3_length(lower));
    Vec3 pole = limb->pole;

    if (sine > 1e-3f)
        return vec3_scale(axis, 1.0f / vec3_length(axis));
    // square to the limb
    Vec3 way = unit(upper, vec3(0.0f, -1.0f, 0.0f));
    pole = vec3_sub(pole, vec3_scale(way, vec3_dot(pole, way)));
    return unit(pole, vec3_perpendicular(way));
}

void limb_reach(const Rig *rig, const MotionLimb *limb, Vec3 way, Pose *pose)
{
    const World *world = pose->world;
    Vec3 upper = dvec3_offset(world[limb->middle].origin, world[limb->root].origin);
    Vec3 lower = dvec3_offset(world[limb->end].origin, world[limb->middle].origin);
    double a = (double)vec3_length(upper), b = (double)vec3_length(lower);
    double distance = (double)vec3_length(way);
    double most = 0.99995 * (a + b), least = 1.0001 * fabs(a - b) + 1e-6;

    if (!(a > 1e-6 && b > 1e-6 && distance > 1e-6))
        return;
    distance = distance > most ? most : distance < least ? least : distance;
    Vec3 axis = find_axis(limb, upper, lower);
    double now = corner(a, b, (double)vec3_length(vec3_add(upper, lower)));
    // a smaller inner angle is a stronger bend
    Quat bend = quat_about(axis, now - corner(a, b, distance));
    Vec3 reached = vec3_add(upper, quat_rotate(bend, lower));
    Quat swing = quat_from_to(unit(reached, way), unit(way, reached));
    Quat turned = quat_normalize(quat_mul(swing, bend));

    int root_parent = rig->node[limb->root].parent;
    Quat above = root_parent < 0 ? quat_identity() : world[root_parent].rotation;
    Quat middle_parent = world[rig->node[limb->middle].parent].rotation;
    Quat end_parent = world[rig->node[limb->end].parent].rotation;
    pose->local[limb->root].rotation = quat_normalize(
        quat_mul(quat_conjugate(above), quat_mul(swing, world[limb->root].rotation)));
    pose->local[limb->middle].rotation = quat_normalize(
        quat_mul(quat_conjugate(middle_parent), quat_mul(bend, world[limb->middle].rotation)));
    pose->local[limb->end].rotation = quat_normalize(
        quat_mul(quat_conjugate(quat_mul(turned, end_parent)), world[limb->end].rotation));
}
