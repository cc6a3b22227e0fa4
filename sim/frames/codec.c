#include "frames/codec.h"

#include <math.h>
#include <string.h>

bool channel_is_quantised(FrameChannelKind kind, int precision)
{
    return precision == 16 &&
           (kind == CHANNEL_POSITIONS || kind == CHANNEL_TETS || kind == CHANNEL_NORMALS);
}

int channel_words(FrameChannelKind kind)
{
    return kind == CHANNEL_NORMALS ? 2 : 4;
}

FrameRecordType channel_record_type(FrameChannelKind kind)
{
    static const FrameRecordType type[CHANNEL_KIND_COUNT] = {
        [CHANNEL_JOINTS] = RECORD_JOINTS,   [CHANNEL_SEGMENTS] = RECORD_SEGMENTS,
        [CHANNEL_POSITIONS] = RECORD_KEY,   [CHANNEL_NORMALS] = RECORD_KEY,
        [CHANNEL_TETS] = RECORD_KEY,        [CHANNEL_CURVES] = RECORD_CURVES,
        [CHANNEL_WEIGHTS] = RECORD_WEIGHTS,
    };

    return type[kind];
}

/* Least and greatest coordinates; false where one is not finite. */
static bool find_box(const float *point, int count, float low[3], float high[3])
{
    for (int k = 0; k < 3; k++)
        low[k] = high[k] = count > 0 ? point[k] : 0.0f;
    for (int i = 0; i < 3 * count; i++) {
        float value = point[i];
        int k = i % 3;

        if (!isfinite(value))
            return false;
        low[k] = value < low[k] ? value : low[k];
        high[k] = value > high[k] ? value : high[k];
    }
    return true;
}

bool grid_around(const float *point, int count, FrameGrid *out)
{
    float low[3], high[3];
    float longest = 0.0f;

    if (!find_box(point, count, low, high))
        return false;
    for (int k = 0; k < 3; k++)
        longest = high[k] - low[k] > longest ? high[k] - low[k] : longest;

    // the last terms keep a single point's grid wider than the rounding of its coordinates
    for (int k = 0; k < 3; k++) {
        float margin = 0.05f * longest + 1e-4f + 1e-6f * fabsf(low[k]);
        out->low[k] = low[k] - margin;
        out->step[k] = (high[k] + margin - out->low[k]) / 65535.0f;
        if (!isfinite(out->low[k]) || !isfinite(out->step[k]))
            return false;
    }
    return true;
}

bool grid_quantise(const FrameGrid *grid, const float *point, int count, uint16_t *out)
{
    float scale[3] = {1.0f / grid->step[0], 1.0f / grid->step[1], 1.0f / grid->step[2]};
    int is_outside = 0;

    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 3; k++) {
            float t = (point[3 * i + k] - grid->low[k]) * scale[k];
            int is_inside = t >= 0.0f && t <= 65535.0f;
            is_outside |= !is_inside;
            out[4 * i + k] = (uint16_t)((is_inside ? t : 0.0f) + 0.5f);
        }
        out[4 * i + 3] = 0;
    }
    return !is_outside;
}

void grid_dequantise(const FrameGrid *grid, const uint16_t *word, int count, float *out)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            out[3 * i + k] = grid->low[k] + (float)word[4 * i + k] * grid->step[k];
}

/* -1 to 1 as 1 to 65535, so that 0 is a word of its own. */
static uint16_t unit_word(float value)
{
    return (uint16_t)(32768.5f + 32767.0f * value);
}

static float fold(float value, float other)
{
    return copysignf(1.0f - fabsf(other), value);
}

/* Project on |x| + |y| + |z| = 1, unfold the lower half over the corners. */
bool normals_quantise(const float *normal, int count, uint16_t *out)
{
    int is_bad = 0;

    for (int i = 0; i < count; i++) {
        const float *n = normal + 3 * (size_t)i;
        float size = fabsf(n[0]) + fabsf(n[1]) + fabsf(n[2]);
        int is_finite = size <= 1e30f; // false for not a number, too
        float scale = is_finite && size > 0.0f ? 1.0f / size : 0.0f;

        is_bad |= !is_finite;
        scale = scale <= 1e30f ? scale : 0.0f;
        float x = is_finite ? n[0] * scale : 0.0f;
        float y = is_finite ? n[1] * scale : 0.0f;
        bool is_lower = n[2] < 0.0f && scale > 0.0f;
        out[2 * i] = unit_word(is_lower ? fold(x, y) : x);
        out[2 * i + 1] = unit_word(is_lower ? fold(y, x) : y);
    }
    return !is_bad;
}

void normals_dequantise(const uint16_t *word, int count, float *out)
{
    for (int i = 0; i < count; i++) {
        float x = ((float)word[2 * i] - 32768.0f) / 32767.0f;
        float y = ((float)word[2 * i + 1] - 32768.0f) / 32767.0f;
        float z = 1.0f - fabsf(x) - fabsf(y);
        float u = z < 0.0f ? fold(x, y) : x;
        float v = z < 0.0f ? fold(y, x) : y;
        float length = sqrtf(u * u + v * v + z * z);

        out[3 * i] = length > 0.0f ? u / length : 0.0f;
        out[3 * i + 1] = length > 0.0f ? v / length : 0.0f;
        out[3 * i + 2] = length > 0.0f ? z / length : 1.0f;
    }
}

void words_difference(const uint16_t *now, const uint16_t *before, size_t count, uint16_t *out)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t difference = (uint16_t)(now[i] - before[i]);
        uint16_t sign = (uint16_t)(0 - (difference >> 15));
        out[i] = (uint16_t)((difference << 1) ^ sign);
    }
}

void words_add(const uint16_t *difference, size_t count, uint16_t *value)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t sign = (uint16_t)(0 - (difference[i] & 1));
        value[i] = (uint16_t)(value[i] + ((difference[i] >> 1) ^ sign));
    }
}
