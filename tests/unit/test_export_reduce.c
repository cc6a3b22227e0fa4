#include "base/random.h"
#include "formats/export_reduce.h"
#include "math/quat.h"
#include "math/scalar.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

enum { KEYS = 1300 };

/* Reads back what was kept as glTF has it, without the code under test: nlerp of tiny steps would
 * not do, so slerp by the angle of the relative rotation. */
static Quat slerp(Quat a, Quat b, double t)
{
    double dot = (double)quat_dot(a, b);
    if (dot < 0.0) {
        b = (Quat){-b.x, -b.y, -b.z, -b.w};
        dot = -dot;
    }
    double omega = acos(fmin(dot, 1.0));
    if (omega < 1e-4)
        return quat_nlerp(a, b, (float)t);
    double from = sin((1.0 - t) * omega) / sin(omega), to = sin(t * omega) / sin(omega);
    return (Quat){(float)(from * (double)a.x + to * (double)b.x),
                  (float)(from * (double)a.y + to * (double)b.y),
                  (float)(from * (double)a.z + to * (double)b.z),
                  (float)(from * (double)a.w + to * (double)b.w)};
}

static double angle_between(Quat a, Quat b)
{
    Quat turn = quat_mul(quat_conjugate(a), b);
    double sine = sqrt((double)(turn.x * turn.x + turn.y * turn.y + turn.z * turn.z));

    return 2.0 * atan2(sine, fabs((double)turn.w));
}

/* The greatest distance between key k of the track and the line between its kept neighbours. */
static double worst_error(const ReduceTrack *track, const int *kept, int count)
{
    double worst = 0.0;

    for (int i = 0; i + 1 < count; i++)
        for (int k = kept[i]; k <= kept[i + 1]; k++) {
            const float *a = track->value + (size_t)kept[i] * track->stride;
            const float *b = track->value + (size_t)kept[i + 1] * track->stride;
            const float *value = track->value + (size_t)k * track->stride;
            double t = (double)(k - kept[i]) / (kept[i + 1] - kept[i]), sum = 0.0;
            if (track->path == CLIP_ROTATION) {
                Quat q = slerp((Quat){a[0], a[1], a[2], a[3]}, (Quat){b[0], b[1], b[2], b[3]}, t);
                worst =
                    fmax(worst, angle_between(q, (Quat){value[0], value[1], value[2], value[3]}));
                continue;
            }
            for (int j = 0; j < track->width; j++) {
                double line = (double)a[j] + ((double)b[j] - (double)a[j]) * t;
                sum += ((double)value[j] - line) * ((double)value[j] - line);
            }
            worst = fmax(worst, sqrt(sum));
        }
    return worst;
}

static void wave(float *value, int stride)
{
    Random random = {7};
    double phase = 0.0;

    for (int k = 0; k < KEYS; k++) {
        float *at = value + (size_t)k * (size_t)stride;
        phase += (double)random_float(&random, 0.0f, 0.02f);
        Quat q = quat_normalize((Quat){(float)sin(phase), 0.3f, (float)cos(2.0 * phase), 1.0f});
        float sign = k % 3 == 0 ? -1.0f : 1.0f; // the same rotation by either name
        at[0] = (float)sin(phase);
        at[1] = (float)(0.2 * cos(3.0 * phase));
        at[2] = (float)(0.01 * phase);
        at[3] = sign * q.x;
        at[4] = sign * q.y;
        at[5] = sign * q.z;
        at[6] = sign * q.w;
    }
}

/* Law: at any limit what was left out is off by no more, the ends stay, keys rise. */
TEST(export_reduce, keeps_what_is_left_out_within_the_limit)
{
    static const double limits[] = {1e-5, 1e-4, 1e-3, 1e-2, 0.1};
    static float value[KEYS * 7];
    static int kept[KEYS];
    int before[2] = {KEYS + 1, KEYS + 1};

    wave(value, 7);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        for (int r = 0; r < 2; r++) {
            ReduceTrack track = {.path = r ? CLIP_ROTATION : CLIP_TRANSLATION,
                                 .width = r ? 4 : 3,
                                 .count = KEYS,
                                 .stride = 7,
                                 .value = value + 3 * (size_t)r};
            int count = reduce_keys(&track, limits[i], kept);

            CHECK_INT(kept[0], ==, 0);
            CHECK_INT(kept[count - 1], ==, KEYS - 1);
            for (int k = 1; k < count; k++)
                CHECK_INT(kept[k], >, kept[k - 1]);
            CHECK_NEAR(worst_error(&track, kept, count), 0.0, limits[i] + (r ? 1e-6 : 1e-9));
            CHECK_INT(count, <, before[r]);
            before[r] = count;
        }
    // and it is worth it: a tenth is left at a centimetre
    CHECK_INT(before[0], <, KEYS / 10);
}

TEST(export_reduce, keeps_two_keys_of_a_line_and_all_of_a_zigzag)
{
    static float line[40], zigzag[40];
    int kept[40];
    ReduceTrack track = {.path = CLIP_WEIGHTS, .width = 1, .count = 40, .stride = 1, .value = line};

    for (int k = 0; k < 40; k++) {
        line[k] = 0.5f * (float)k;
        zigzag[k] = (float)(k % 2);
    }
    CHECK_INT(reduce_keys(&track, 1e-6, kept), ==, 2);
    track.value = zigzag;
    CHECK_INT(reduce_keys(&track, 0.1, kept), ==, 40);
    track.count = 1;
    CHECK_INT(reduce_keys(&track, 0.1, kept), ==, 1);
    track.count = 2;
    CHECK_INT(reduce_keys(&track, 0.1, kept), ==, 2);
}
