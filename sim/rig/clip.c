#include "rig/clip.h"

#include "math/scalar.h"

#include <string.h>

/* The last key at or before `time`, which lies between the first and the last. Keys are mostly
 * evenly spaced, so the search starts where an even spacing would have it. */
static int find_key(const double *key, int count, double time)
{
    int low = 0, high = count - 1;
    int guess = (int)((time - key[0]) / (key[high] - key[0]) * high);

    if (guess >= 0 && guess < high) {
        if (key[guess] <= time)
            low = guess;
        else
            high = guess;
        if (low == guess && key[guess + 1] > time)
            return guess;
    }
    while (high - low > 1) {
        int middle = low + (high - low) / 2;

        if (key[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

Quat quat_slerp(Quat a, Quat b, double t)
{
    double dot = (double)a.x * (double)b.x + (double)a.y * (double)b.y + (double)a.z * (double)b.z +
                 (double)a.w * (double)b.w;
    double angle = scalar_acos(fabs(dot));
    double u = 1.0 - t, v = t;

    // below a microradian the chord is the arc
    if (angle > 1e-6) {
        double s = scalar_sin(angle);
        u = scalar_sin(angle * u) / s;
        v = scalar_sin(angle * v) / s;
    }
    if (dot < 0.0)
        v = -v;
    double q[4] = {u * (double)a.x + v * (double)b.x, u * (double)a.y + v * (double)b.y,
                   u * (double)a.z + v * (double)b.z, u * (double)a.w + v * (double)b.w};
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(length > 0.0))
        return a;
    return (Quat){(float)(q[0] / length), (float)(q[1] / length), (float)(q[2] / length),
                  (float)(q[3] / length)};
}

static void normalize(float *q)
{
    Quat unit = quat_normalize((Quat){q[0], q[1], q[2], q[3]});

    memcpy(q, (const float[]){unit.x, unit.y, unit.z, unit.w}, 4 * sizeof *q);
}

/* The first floats of a key's value: CUBICSPLINE has it between its tangents. */
static const float *value_of(const ClipChannel *channel, int key)
{
    size_t width = (size_t)channel->width;

    if (channel->interpolation == CLIP_CUBICSPLINE)
        return channel->value + ((size_t)key * 3 + 1) * width;
    return channel->value + (size_t)key * width;
}

/* Hermite's spline: the out-tangent of one key, the in-tangent of the next, both per second. */
static void sample_spline(const ClipChannel *channel, int key, double dt, double u, float *out)
{
    int width = channel->width;
    const float *value0 = value_of(channel, key);
    const float *value1 = value_of(channel, key + 1);
    const float *out_tangent = value0 + width;
    const float *in_tangent = value1 - width;
    double u2 = u * u, u3 = u2 * u;
    double a = 2.0 * u3 - 3.0 * u2 + 1.0, b = dt * (u3 - 2.0 * u2 + u);
    double c = 3.0 * u2 - 2.0 * u3, d = dt * (u3 - u2);

    for (int i = 0; i < width; i++)
        out[i] = (float)(a * (double)value0[i] + b * (double)out_tangent[i] +
                         c * (double)value1[i] + d * (double)in_tangent[i]);
}

static void sample_line(const ClipChannel *channel, int key, double u, float *out)
{
    const float *a = value_of(channel, key);
    const float *b = value_of(channel, key + 1);

    if (channel->path == CLIP_ROTATION) {
        Quat q = quat_slerp((Quat){a[0], a[1], a[2], a[3]}, (Quat){b[0], b[1], b[2], b[3]}, u);
        memcpy(out, (const float[]){q.x, q.y, q.z, q.w}, 4 * sizeof *out);
        return;
    }
    float t = (float)u;
    for (int i = 0; i < channel->width; i++)
        out[i] = a[i] + (b[i] - a[i]) * t;
}

void clip_sample(const ClipChannel *channel, double time, float *out)
{
    int last = channel->key_count - 1;
    int key = time < channel->time[last] ? 0 : last;

    if (key < last && time > channel->time[0])
        key = find_key(channel->time, channel->key_count, time);

    double u = 0.0, dt = 0.0;
    if (key < last && time > channel->time[key]) {
        dt = channel->time[key + 1] - channel->time[key];
        u = (time - channel->time[key]) / dt;
    }
    if (u > 0.0 && channel->interpolation == CLIP_CUBICSPLINE)
        sample_spline(channel, key, dt, u, out);
    else if (u > 0.0 && channel->interpolation == CLIP_LINEAR)
        sample_line(channel, key, u, out);
    else
        memcpy(out, value_of(channel, key), (size_t)channel->width * sizeof *out);
    if (channel->path == CLIP_ROTATION)
        normalize(out);
}
