#include "samples/shape.h"

#include <math.h>

static float min_of(float a, float b)
{
    return a < b ? a : b;
}

static float max_of(float a, float b)
{
    return a > b ? a : b;
}

/* The lesser of two, rounded where they are closer than k (quadratic). */
static float smooth_min(float a, float b, float k)
{
    float h = k > 0.0f ? max_of(k - fabsf(a - b), 0.0f) / k : 0.0f;

    return min_of(a, b) - h * h * k * 0.25f;
}

/* About the distance to an ellipse or ellipsoid: q is the point over the radii, once and twice. */
static float ellipse_distance(float once, float twice, float radius)
{
    return twice > 1e-12f ? once * (once - 1.0f) / twice : -radius;
}

static float ellipsoid_value(const ShapePiece *piece, Vec3 point)
{
    Vec3 p = vec3_sub(point, piece->a), r = piece->b;
    Vec3 once = {p.x / r.x, p.y / r.y, p.z / r.z};
    Vec3 twice = {once.x / r.x, once.y / r.y, once.z / r.z};

    return ellipse_distance(vec3_length(once), vec3_length(twice), min_of(r.x, min_of(r.y, r.z)));
}

static float cone_value(const ShapePiece *piece, Vec3 point)
{
    Vec3 axis = vec3_sub(piece->b, piece->a), p = vec3_sub(point, piece->a);
    float t = vec3_dot(p, axis) / vec3_dot(axis, axis);

    t = min_of(max_of(t, 0.0f), 1.0f);
    float radius = piece->a_radius + (piece->b_radius - piece->a_radius) * t;
    return vec3_length(vec3_add_scaled(p, axis, -t)) - radius;
}

/* Cubic Hermite between two values with given slopes a unit of the whole step. */
static float hermite(float a, float b, float slope_a, float slope_b, float t)
{
    float c = 3.0f * (b - a) - 2.0f * slope_a - slope_b;
    float d = 2.0f * (a - b) + slope_a + slope_b;

    return a + t * (slope_a + t * (c + t * d));
}

static float station_field(const ShapeStation *station, int field)
{
    switch (field) {
    case 0:
        return station->first;
    case 1:
        return station->second;
    case 2:
        return station->first_radius;
    default:
        return station->second_radius;
    }
}

/* The four numbers of the section at `at`, by a cubic through the stations (slopes by central
 * differences, one-sided at the ends). */
static void loft_section(const ShapePiece *piece, float at, float out[4])
{
    const ShapeStation *s = piece->station;
    int i = 0, last = piece->station_count - 1;

    while (i + 2 <= last && at > s[i + 1].at)
        i++;
    int before = i > 0 ? i - 1 : 0, after = i + 2 <= last ? i + 2 : last;
    float step = s[i + 1].at - s[i].at;
    float t = min_of(max_of((at - s[i].at) / step, 0.0f), 1.0f);
    for (int f = 0; f < 4; f++) {
        float a = station_field(&s[i], f), b = station_field(&s[i + 1], f);
        float slope_a = (b - station_field(&s[before], f)) / (s[i + 1].at - s[before].at) * step;
        float slope_b = (station_field(&s[after], f) - a) / (s[after].at - s[i].at) * step;
        out[f] = hermite(a, b, slope_a, slope_b, t);
    }
}

static float loft_value(const ShapePiece *piece, Vec3 point)
{
    bool is_along_x = piece->axis == SHAPE_ALONG_X;
    float at = is_along_x ? point.x : point.y;
    float section[4];

    loft_section(piece, at, section);
    float p = (is_along_x ? point.y : point.x) - section[0], q = point.z - section[1];
    float p1 = p / section[2], q1 = q / section[3];
    float p2 = p1 / section[2], q2 = q1 / section[3];
    float radius = min_of(section[2], section[3]);
    float side = ellipse_distance(sqrtf(p1 * p1 + q1 * q1), sqrtf(p2 * p2 + q2 * q2), radius);
    float end = max_of(piece->station[0].at - at, at - piece->station[piece->station_count - 1].at);

    return -smooth_min(-side, -end, radius * 0.5f);
}

static float piece_value(const ShapePiece *piece, Vec3 point)
{
    switch (piece->kind) {
    case SHAPE_ELLIPSOID:
        return ellipsoid_value(piece, point);
    case SHAPE_CONE:
        return cone_value(piece, point);
    case SHAPE_LOFT:
        return loft_value(piece, point);
    case SHAPE_HALF_SPACE:
        break;
    }
    return vec3_dot(vec3_sub(point, piece->a), piece->b);
}

float shape_value(const Shape *shape, Vec3 point)
{
    float value = 1e3f;

    if (shape->is_symmetric)
        point.x = fabsf(point.x);
    for (int i = 0; i < shape->count; i++) {
        const ShapePiece *piece = &shape->piece[i];
        float next = piece_value(piece, point);
        if (piece->join == SHAPE_UNION)
            value = smooth_min(value, next, piece->blend);
        else if (piece->join == SHAPE_CUT)
            value = -smooth_min(-value, next, piece->blend);
        else
            value = -smooth_min(-value, -next, piece->blend);
    }
    return value;
}

static Vec3 gradient(const Shape *shape, Vec3 p)
{
    const float h = 5e-4f;

    return (Vec3){(shape_value(shape, vec3(p.x + h, p.y, p.z)) -
                   shape_value(shape, vec3(p.x - h, p.y, p.z))) /
                      (2.0f * h),
                  (shape_value(shape, vec3(p.x, p.y + h, p.z)) -
                   shape_value(shape, vec3(p.x, p.y - h, p.z))) /
                      (2.0f * h),
                  (shape_value(shape, vec3(p.x, p.y, p.z + h)) -
                   shape_value(shape, vec3(p.x, p.y, p.z - h))) /
                      (2.0f * h)};
}

Vec3 shape_normal(const Shape *shape, Vec3 point)
{
    return vec3_normalize_or(gradient(shape, point), vec3(0.0f, 1.0f, 0.0f));
}

Vec3 shape_project(const Shape *shape, Vec3 point)
{
    for (int i = 0; i < 2; i++) {
        Vec3 slope = gradient(shape, point);
        float square = max_of(vec3_dot(slope, slope), 0.1f);
        point = vec3_add_scaled(point, slope, -shape_value(shape, point) / square);
    }
    return point;
}

bool shape_ray(const Shape *shape, Vec3 from, Vec3 direction, float reach, Vec3 *out)
{
    float t = 0.0f;

    for (int i = 0; i < 200 && t <= reach; i++) {
        Vec3 point = vec3_add_scaled(from, direction, t);
        float value = shape_value(shape, point);
        if (value < 1e-5f) {
            *out = point;
            return true;
        }
        t += 0.7f * value;
    }
    return false;
}
