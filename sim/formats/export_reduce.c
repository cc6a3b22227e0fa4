#include "formats/export_reduce.h"

#include "math/scalar.h"

#include <math.h>

/* Keys are chosen within blocks of so many, which bounds the time of the worst case. */
enum { BLOCK = 512 };

static const float *key_value(const ReduceTrack *track, int key)
{
    return track->value + (size_t)key * track->stride;
}

/* Half the angle between two rotations, whichever sign they have: from the chord between the
 * quaternions, which is exact where a cosine near 1 is not. */
static double half_angle(const double a[4], const double b[4])
{
    double minus = 0.0, plus = 0.0;

    for (int i = 0; i < 4; i++) {
        minus += (a[i] - b[i]) * (a[i] - b[i]);
        plus += (a[i] + b[i]) * (a[i] + b[i]);
    }
    return minus < plus ? 2.0 * scalar_atan2(sqrt(minus), sqrt(plus))
                        : 2.0 * scalar_atan2(sqrt(plus), sqrt(minus));
}

static void read_rotation(const float *value, double out[4])
{
    double square = 0.0;

    for (int i = 0; i < 4; i++)
        square += (double)value[i] * (double)value[i];
    double scale = square > 0.0 ? 1.0 / sqrt(square) : 0.0;
    for (int i = 0; i < 4; i++)
        out[i] = (double)value[i] * scale;
}

/* Radians between slerp(a, b, t) and `value`. */
static double rotation_error(const float *a_, const float *b_, double t, const float *value)
{
    double a[4], b[4], now[4], middle[4], dot = 0.0;

    read_rotation(a_, a);
    read_rotation(b_, b);
    read_rotation(value, now);
    for (int i = 0; i < 4; i++)
        dot += a[i] * b[i];
    double omega = half_angle(a, b);
    double sine = scalar_sin(omega);
    double from = sine > 1e-9 ? scalar_sin((1.0 - t) * omega) / sine : 1.0 - t;
    double to = sine > 1e-9 ? scalar_sin(t * omega) / sine : t;
    for (int i = 0; i < 4; i++)
        middle[i] = from * a[i] + (dot < 0.0 ? -to : to) * b[i];
    return 2.0 * half_angle(middle, now);
}

/* How far key `k` is off the line from key `a` to key `b`. */
static double key_error(const ReduceTrack *track, int a, int b, int k)
{
    double t = (double)(k - a) / (double)(b - a), sum = 0.0, most = 0.0;
    const float *from = key_value(track, a), *to = key_value(track, b);
    const float *value = key_value(track, k);

    if (track->path == CLIP_ROTATION)
        return rotation_error(from, to, t, value);
    for (int i = 0; i < track->width; i++) {
        double line = (double)from[i] + ((double)to[i] - (double)from[i]) * t;
        double off = fabs((double)value[i] - line);
        sum += off * off;
        most = off > most ? off : most;
    }
    return track->path == CLIP_TRANSLATION ? sqrt(sum) : most;
}

/* The key between that is off most, -1 where none is off by more than the limit. */
static int find_worst(const ReduceTrack *track, int a, int b, double limit)
{
    double most = limit;
    int worst = -1;

    for (int k = a + 1; k < b; k++) {
        double off = key_error(track, a, b, k);
        if (off > most) {
            most = off;
            worst = k;
        }
    }
    return worst;
}

/* Douglas and Peucker's method, from left to right: the ends still to be reached are a stack. */
static int reduce_block(const ReduceTrack *track, int first, int last, double limit, int *out)
{
    int end[BLOCK + 1];
    int depth = 0, count = 0, at = first;

    end[depth++] = last;
    while (depth > 0) {
        int worst = find_worst(track, at, end[depth - 1], limit);
        if (worst >= 0) {
            end[depth++] = worst;
            continue;
        }
        at = end[--depth];
        out[count++] = at;
    }
    return count;
}

int reduce_keys(const ReduceTrack *track, double limit, int *out)
{
    int count = 0;

    out[count++] = 0;
    for (int first = 0; first < track->count - 1; first += BLOCK) {
        int last = track->count - 1 - first > BLOCK ? first + BLOCK : track->count - 1;
        count += reduce_block(track, first, last, limit, out + count);
    }
    return count;
}
