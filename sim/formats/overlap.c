#include "formats/overlap.h"

static double dot(DVec3 a, DVec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static DVec3 sub(DVec3 a, DVec3 b)
{
    return (DVec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static double distance(DVec3 a, DVec3 b)
{
    DVec3 d = sub(a, b);

    return sqrt(dot(d, d));
}

/* The point of the line from a to b that is nearest to p. */
static DVec3 nearest_on_axis(DVec3 a, DVec3 b, DVec3 p)
{
    DVec3 axis = sub(b, a);
    double square = dot(axis, axis);
    double t = square > 0.0 ? dot(sub(p, a), axis) / square : 0.0;

    return dvec3_lerp(a, b, t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t);
}

double segment_length(const World *world, const RigSegment *segment)
{
    const World *head = &world[segment->head];

    return distance(head->origin, world_point(head, segment->tail_offset));
}

double segment_overlap(const World *world, const RigSegment *segment, const RigCollider *collider)
{
    const World *head = &world[segment->head];
    const World *node = &world[collider->node];
    DVec3 tail = world_point(head, segment->tail_offset);
    DVec3 centre = world_point(node, collider->offset);
    double hit = (double)(segment->hit_radius * world_max_scale(head));
    double radius = (double)(collider->radius * world_max_scale(node));

    if (collider->kind == COLLIDER_PLANE) {
        Mat3 map = mat3_cofactor(&node->basis);
        // cofactors are the inverse transpose times the determinant, whose sign turns the normal
        float sign = mat3_determinant(&node->basis) < 0.0f ? -1.0f : 1.0f;
        Vec3 normal = vec3_normalize_or(vec3_scale(mat3_apply(&map, collider->normal), sign),
                                        collider->normal);
        return hit - dot(sub(tail, centre), dvec3_from(normal));
    }
    if (collider->kind == COLLIDER_CAPSULE)
        centre = nearest_on_axis(centre, world_point(node, collider->tail), tail);
    double away = distance(tail, centre);
    return collider->is_inside ? away + hit - radius : radius + hit - away;
}
