#include "core/collide.h"

static float clamp01(float t)
{
    return t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
}

static float inverse_square(Vec3 axis)
{
    float axis2 = vec3_dot(axis, axis);

    return axis2 > 1e-24f ? 1.0f / axis2 : 0.0f;
}

Shape collide_place(const RigCollider *collider, const World *world, DVec3 origin)
{
    Shape shape = {
        .kind = collider->kind,
        .side = collider->is_inside ? -1.0f : 1.0f,
        .start = dvec3_offset(world_point(world, collider->offset), origin),
        .radius = collider->radius * world_max_scale(world),
    };

    if (collider->kind == COLLIDER_CAPSULE) {
        Vec3 end = dvec3_offset(world_point(world, collider->tail), origin);
        shape.axis = vec3_sub(end, shape.start);
        shape.inverse_axis2 = inverse_square(shape.axis);
    }
    if (collider->kind == COLLIDER_PLANE) {
        Mat3 normals = mat3_cofactor(&world->basis);
        float sign = mat3_determinant(&world->basis) < 0.0f ? -1.0f : 1.0f;
        Vec3 normal = vec3_scale(mat3_apply(&normals, collider->normal), sign);
        shape.side = 1.0f;
        shape.radius = 0.0f;
        shape.normal = vec3_normalize_or(normal, vec3(0.0f, 1.0f, 0.0f));
    }
    return shape;
}

Shape collide_shift(const Shape *shape, Vec3 offset)
{
    Shape moved = *shape;

    moved.start = vec3_add(shape->start, offset);
    return moved;
}

Shape collide_between(const Shape *before, const Shape *now, float t)
{
    Shape shape = *now;

    shape.start = vec3_lerp(before->start, now->start, t);
    shape.axis = vec3_lerp(before->axis, now->axis, t);
    shape.inverse_axis2 = inverse_square(shape.axis);
    shape.radius = before->radius + (now->radius - before->radius) * t;
    return shape;
}

float collide_travel(const Shape *before, const Shape *now)
{
    Vec3 start = vec3_sub(now->start, before->start);
    Vec3 end = vec3_add(start, vec3_sub(now->axis, before->axis));
    float a = vec3_dot(start, start);
    float b = vec3_dot(end, end);

    return sqrtf(a > b ? a : b) + fabsf(now->radius - before->radius);
}

Contact collide_point(const Shape *shape, Vec3 point, float radius)
{
    Vec3 from = vec3_sub(point, shape->start);

    if (shape->kind == COLLIDER_PLANE)
        return (Contact){vec3_dot(from, shape->normal) - radius, shape->normal, 1.0f};
    float w = clamp01(vec3_dot(from, shape->axis) * shape->inverse_axis2);
    Vec3 away = vec3_sub(from, vec3_scale(shape->axis, w));
    float distance = vec3_length(away);
    Vec3 normal = distance > 0.0f ? vec3_scale(away, shape->side / distance) : vec3(0, 0, 0);
    if (shape->side < 0.0f) {
        // what is too big for the inside is held at its middle
        float room = shape->radius > radius ? shape->radius - radius : 0.0f;
        return (Contact){room - distance, normal, 1.0f};
    }
    return (Contact){distance - shape->radius - radius, normal, 1.0f};
}

void collide_nearest(Vec3 head, Vec3 along, const Shape *shape, float *out_u, float *out_w)
{
    Vec3 between = vec3_sub(head, shape->start);
    float a = vec3_dot(along, along);
    float e = vec3_dot(shape->axis, shape->axis);
    float c = vec3_dot(along, between);
    float f = vec3_dot(shape->axis, between);
    float u = 0.0f, w = 0.0f;

    if (shape->inverse_axis2 == 0.0f) {
        u = a > 0.0f ? clamp01(-c / a) : 0.0f;
    } else if (!(a > 0.0f)) {
        w = clamp01(f * shape->inverse_axis2);
    } else {
        float b = vec3_dot(along, shape->axis);
        float denominator = a * e - b * b;
        // parallel: any point will do, take the middle of what is offered
        u = denominator > 1e-7f * a * e ? clamp01((b * f - c * e) / denominator) : 0.5f;
        w = (b * u + f) * shape->inverse_axis2;
        if (w < 0.0f || w > 1.0f) {
            w = clamp01(w);
            u = clamp01((b * w - c) / a);
        }
    }
    *out_u = u;
    *out_w = w;
}

Contact collide_segment(const Shape *shape, Vec3 head, Vec3 tail, float radius)
{
    if (shape->kind == COLLIDER_PLANE || shape->side < 0.0f)
        return collide_point(shape, tail, radius);
    Vec3 along = vec3_sub(tail, head);
    float u, w;
    collide_nearest(head, along, shape, &u, &w);
    Vec3 away =
        vec3_sub(vec3_add_scaled(head, along, u), vec3_add_scaled(shape->start, shape->axis, w));
    float distance = vec3_length(away);
    Vec3 normal = distance > 0.0f ? vec3_scale(away, 1.0f / distance) : vec3(0, 0, 0);

    return (Contact){distance - shape->radius - radius, normal, u};
}

float collide_depth(const Shape *shape, Vec3 head, Vec3 tail, float radius)
{
    float gap = collide_segment(shape, head, tail, radius).gap;

    return gap < 0.0f ? -gap : 0.0f;
}
