/* Collide: spheres, capsules and planes against points and segments.
 *
 * A Shape is a collider placed in the scene, in float relative to the origin its user chose. Plain
 * values, no ownership, no threads. Closest points of two segments as in Ericson, Real-Time
 * Collision Detection (2005), 5.1.9.
 */
#pragma once

#include "math/transform.h"
#include "sim/rig.h"

typedef struct Shape {
    ColliderKind kind;
    float side;          /* +1 keeps things out, -1 keeps them in (spheres and capsules) */
    Vec3 start;          /* centre, first end, or a point of the plane */
    Vec3 axis;           /* second end minus first; zero for spheres and planes */
    float inverse_axis2; /* 1 / |axis|^2, 0 where the axis has no length */
    float radius;        /* 0 for planes */
    Vec3 normal;         /* of a plane, unit */
} Shape;

/* The collider on a node that stands at `world`, relative to `origin`: radii grow with the greatest
 * stretch of an axis, a plane's normal goes by the inverse transpose. */
Shape collide_place(const RigCollider *collider, const World *world, DVec3 origin);
/* The same shape seen from an origin that lies at -offset. */
Shape collide_shift(const Shape *shape, Vec3 offset);
/* Between two places of one collider, 0..1. */
Shape collide_between(const Shape *before, const Shape *now, float t);
/* No point of the shape moves farther than this between two places. */
float collide_travel(const Shape *before, const Shape *now);

/* Where a point or segment is nearest to a shape's surface, or deepest. */
typedef struct Contact {
    float gap;   /* metres between surfaces; negative: inside */
    Vec3 normal; /* unit, the way out; zero where the axis runs through the point */
    float u;     /* where on the segment, 0 head to 1 tail */
} Contact;

/* A ball of `radius` about `point`. */
Contact collide_point(const Shape *shape, Vec3 point, float radius);
/* A segment swept by a ball of `radius`. Half spaces and inside shapes are convex, so there the
 * tail alone is looked at: its head is another segment's tail. */
Contact collide_segment(const Shape *shape, Vec3 head, Vec3 tail, float radius);
/* How deep the segment, head included, lies in the shape; 0 where it is free. */
float collide_depth(const Shape *shape, Vec3 head, Vec3 tail, float radius);

/* Nearest points head + u (tail - head) and start + w axis of two segments, each 0..1. */
void collide_nearest(Vec3 head, Vec3 along, const Shape *shape, float *out_u, float *out_w);
