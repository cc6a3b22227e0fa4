#include "samples/avatar_motion.h"

#include "math/scalar.h"

#define CURVE(time, ...)                                                                           \
    avatar_curve((const CurveKey[]){__VA_ARGS__},                                                  \
                 (int)(sizeof((const CurveKey[]){__VA_ARGS__}) / sizeof(CurveKey)), (time))

static const double TURN = 6.283185307179586;
static const float GRAVITY = 9.81f;

/* One sine a period, `phase` in periods. */
static float wave(double time, double period, double phase)
{
    return (float)scalar_sin(TURN * (time / period + phase));
}

/* Cubic from a to b within `duration`, with given speeds at both ends. */
static float glide(float a, float b, float speed_a, float speed_b, const float span[2], double time)
{
    float duration = span[1] - span[0], t = ((float)time - span[0]) / duration;
    float p = speed_a * duration, q = speed_b * duration;

    t = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
    return a + t * (p + t * (3.0f * (b - a) - 2.0f * p - q + t * (2.0f * (a - b) + p + q)));
}

/* Breathing, and weight that goes from foot to foot. */
static void stance_idle(double time, Stance *out)
{
    float breath = wave(time, 4.0, 0.0), shift = wave(time, 4.0, 0.1), look = wave(time, 4.0, 0.35);

    *out = avatar_standing();
    out->hips.x = 0.014f * shift;
    out->hips.y = -0.008f - 0.002f * shift * shift;
    out->turn = vec3(0.0f, 2.0f * look, 1.6f * shift);
    out->spine = vec3(1.2f * breath, -1.0f * look, -2.4f * shift);
    out->head = vec3(1.5f - 1.0f * breath, 5.0f * look, 1.0f * shift);
    out->shrug = 1.2f * breath;
    for (int side = 0; side < 2; side++) {
        float sign = side == SIDE_LEFT ? 1.0f : -1.0f;
        out->arm[side].down -= 1.5f * breath + sign * shift;
        out->arm[side].swing += 2.0f * wave(time, 4.0, 0.15 + 0.2 * side);
        out->arm[side].elbow += 2.0f * breath;
    }
}

enum { WALK_KEYS = 30 };

static const float WALK_STANCE = 0.62f; /* share of the step in which a foot is on the ground */
static const float WALK_FRONT = 0.20f;  /* of the ankle at heel strike, metres before its rest */
static const float WALK_BACK = -0.26f;  /* when the toes leave */

/* One foot on a floor that moves backwards evenly; u from 0 (heel strike) to 1. */
static void walk_foot(double u, Foot *out)
{
    float speed = (WALK_BACK - WALK_FRONT) / WALK_STANCE;
    const float swing[2] = {WALK_STANCE, 1.0f};
    float at = (float)u < WALK_STANCE ? WALK_FRONT + speed * (float)u
                                      : glide(WALK_BACK, WALK_FRONT, speed, speed, swing, u);

    out->pitch =
        CURVE(u, {0.0f, -15.0f}, {0.1f, 0.0f}, {0.36f, 0.0f}, {0.5f, 20.0f}, {0.62f, 46.0f},
              {0.7f, 52.0f}, {0.84f, 8.0f}, {0.94f, -17.0f}, {1.0f, -15.0f});
    out->toes = CURVE(u, {0.0f, 0.0f}, {0.1f, 0.0f}, {0.36f, 0.0f}, {0.5f, 20.0f}, {0.62f, 46.0f},
                      {0.75f, 8.0f}, {0.85f, 0.0f}, {1.0f, 0.0f});
    out->ankle = avatar_ankle(out->pitch);
    out->ankle.z += at;
    out->ankle.y += CURVE(u, {0.0f, 0.0f}, {0.62f, 0.0f}, {0.72f, 0.035f}, {0.84f, 0.05f},
                          {0.95f, 0.012f}, {1.0f, 0.0f});
    out->yaw = 4.0f;
}

static void stance_walk(double time, Stance *out)
{
    double u = time * AVATAR_KEYS_PER_SECOND / WALK_KEYS;
    float step = wave(u, 1.0, 0.25), side_to_side = wave(u, 1.0, -0.06);

    *out = avatar_standing();
    out->hips = vec3(0.016f * side_to_side, -0.014f - 0.010f * wave(u, 0.5, 0.18), 0.01f);
    out->turn = vec3(2.0f, -7.0f * step, -2.5f * side_to_side);
    out->spine = vec3(1.0f + 1.0f * wave(u, 0.5, 0.0), 12.0f * step, 3.5f * side_to_side);
    out->head = vec3(-1.0f - 1.5f * wave(u, 0.5, 0.1), -5.0f * step, -1.0f * side_to_side);
    for (int side = 0; side < 2; side++) {
        float sign = side == SIDE_LEFT ? 1.0f : -1.0f;
        float back = sign * step, late = sign * wave(u, 1.0, 0.2);
        out->arm[side].swing = 3.0f - 23.0f * back;
        out->arm[side].elbow = 20.0f - 12.0f * late;
        out->arm[side].down = 73.0f;
        double phase = u + 0.5 * side;
        walk_foot(phase >= 1.0 ? phase - 1.0 : phase, &out->foot[side]);
    }
}

static void set_feet(Stance *out, float pitch, float lift)
{
    for (int side = 0; side < 2; side++) {
        out->foot[side].pitch = pitch;
        out->foot[side].toes = pitch;
        out->foot[side].ankle = avatar_ankle(pitch);
        out->foot[side].ankle.y += lift;
    }
}

static void set_arms(Stance *out, float down, float swing, float elbow)
{
    for (int side = 0; side < 2; side++) {
        out->arm[side].down = down;
        out->arm[side].swing = swing;
        out->arm[side].elbow = elbow;
    }
}

/* Height of the hips over a leap: a crouch, a push that reaches the speed to leave the ground with,
 * free fall, and a landing that takes the same speed up. */
typedef struct Leap {
    float crouch, push, leave, land, low, stand; /* times, seconds */
    float depth, soft;                           /* of the crouch and of the landing, metres */
    float tip_toe;                               /* hips above rest when the toes leave */
} Leap;

static float leap_height(const Leap *leap, double time)
{
    float t = (float)time, flight = leap->land - leap->leave;
    float speed = 0.5f * GRAVITY * flight, since = t - leap->leave;
    float stand = -0.006f;

    if (t < leap->push)
        return stand + (leap->depth - stand) * avatar_ramp(leap->crouch, leap->push - 0.08f, t);
    if (t < leap->leave)
        return glide(leap->depth, leap->tip_toe, 0.0f, speed,
                     (const float[]){leap->push, leap->leave}, time);
    if (t < leap->land)
        return leap->tip_toe + speed * since - 0.5f * GRAVITY * since * since;
    if (t < leap->low)
        return glide(leap->tip_toe, leap->soft, -speed, 0.0f,
                     (const float[]){leap->land, leap->low}, time);
    return leap->soft + (stand - leap->soft) * avatar_ramp(leap->low + 0.05f, leap->stand, t);
}

/* How far the heels are up on the way to and from tip-toe, degrees. */
static float leap_heels(const Leap *leap, double time)
{
    return 38.0f * avatar_ramp(leap->leave - 0.13f, leap->leave, (float)time) *
           avatar_ramp(leap->land + 0.12f, leap->land, (float)time);
}

static void stance_jump(double time, Stance *out)
{
    static const Leap leap = {0.2f, 0.78f, 1.02f, 1.62f, 1.92f, 2.7f, -0.27f, -0.25f, 0.035f};
    bool is_flying = time > (double)leap.leave && time < (double)leap.land;

    *out = avatar_standing();
    out->hips.y = leap_height(&leap, time);
    float bend = -out->hips.y / 0.27f;
    bend = bend < 0.0f ? 0.0f : bend;
    out->hips.z = -0.07f * bend;
    out->turn.x = 22.0f * bend;
    out->spine.x = 14.0f * bend;
    out->head.x = -20.0f * bend;
    float fly = is_flying ? out->hips.y - leap.tip_toe : 0.0f;
    set_feet(out, leap_heels(&leap, time), fly * 1.12f);
    set_arms(out,
             CURVE(time, {0.0f, 74.0f}, {0.2f, 74.0f}, {0.75f, 66.0f}, {1.02f, 60.0f},
                   {1.6f, 48.0f}, {1.95f, 62.0f}, {2.8f, 74.0f}, {3.0f, 74.0f}),
             CURVE(time, {0.0f, 2.0f}, {0.2f, 2.0f}, {0.75f, -48.0f}, {1.06f, 118.0f},
                   {1.35f, 100.0f}, {1.8f, 30.0f}, {2.1f, 12.0f}, {2.8f, 2.0f}, {3.0f, 2.0f}),
             CURVE(time, {0.0f, 14.0f}, {0.75f, 22.0f}, {1.1f, 28.0f}, {1.9f, 34.0f}, {2.8f, 14.0f},
                   {3.0f, 14.0f}));
}

static void stance_crouch(double time, Stance *out)
{
    float down = CURVE(time, {0.0f, 0.0f}, {0.3f, 0.0f}, {1.3f, 1.0f}, {2.5f, 1.0f}, {3.6f, 0.0f},
                       {4.0f, 0.0f});
    float look = down * wave(time - 1.4, 1.2, 0.0) * avatar_ramp(1.35f, 1.5f, (float)time) *
                 avatar_ramp(2.6f, 2.45f, (float)time);

    *out = avatar_standing();
    out->hips.y += -0.40f * down;
    out->hips.z = -0.05f * down;
    out->turn.x = 16.0f * down;
    out->spine.x = 26.0f * down;
    out->head = vec3(-24.0f * down, 28.0f * look, 0.0f);
    set_feet(out, 24.0f * down, 0.0f);
    for (int side = 0; side < 2; side++) {
        float sign = side == SIDE_LEFT ? 1.0f : -1.0f;
        out->foot[side].yaw = 6.0f + 8.0f * down;
        out->foot[side].ankle.z += (side == SIDE_LEFT ? 0.05f : -0.05f) * 0.0f;
        out->arm[side].down = 74.0f - 6.0f * down;
        out->arm[side].swing = 2.0f + 42.0f * down;
        out->arm[side].elbow = 14.0f + 46.0f * down + sign * 4.0f * look;
    }
}

/* A standing back flip: wind-up, ballistic flight with one full backward turn in a tuck, landing,
 * arms up, and back to standing. */
static const Leap flip = {1.0f, 1.72f, 2.0f, 2.84f, 3.14f, 4.1f, -0.30f, -0.33f, 0.04f};

static float flip_angle(double time)
{
    return CURVE(time, {0.0f, 0.0f}, {1.0f, 0.0f}, {1.65f, 26.0f}, {2.0f, -14.0f}, {2.18f, -70.0f},
                 {2.42f, -186.0f}, {2.66f, -300.0f}, {2.84f, -344.0f}, {3.14f, -334.0f},
                 {4.1f, -360.0f}, {6.0f, -360.0f});
}

/* The stance on the ground, or with the feet where they would be on the ground. */
static void flip_ground(double time, Stance *out)
{
    *out = avatar_standing();
    out->hips.y = leap_height(&flip, time);
    float bend = out->hips.y < 0.0f ? -out->hips.y / 0.30f : 0.0f;
    out->hips.z = -0.06f * bend;
    out->turn.x = flip_angle(time);
    set_feet(out, leap_heels(&flip, time), 0.0f);
}

/* Ankles in the hips' own axes at that time, for the flight to start from and end at. */
static Foot flip_foot(double time, int side)
{
    Stance stance;
    const Vec3 hips = {0.0f, 0.89f, 0.0f};
    const Vec3 ankle = {side == SIDE_LEFT ? 0.075f : -0.075f, 0.085f, -0.018f};
    double sine, cosine;

    flip_ground(time, &stance);
    Foot foot = stance.foot[side];
    Vec3 d = vec3_sub(vec3_add(ankle, foot.ankle), vec3_add(hips, stance.hips));
    scalar_sin_cos(-(double)stance.turn.x / 360.0 * TURN, &sine, &cosine);
    float s = (float)sine, c = (float)cosine;
    foot.ankle = vec3(d.x, c * d.y - s * d.z, s * d.y + c * d.z);
    foot.pitch -= stance.turn.x < -180.0f ? stance.turn.x + 360.0f : stance.turn.x;
    return foot;
}

static void flip_flight(double time, Stance *out)
{
    float t = (float)time;
    float tuck = avatar_ramp(flip.leave + 0.02f, flip.leave + 0.3f, t) *
                 avatar_ramp(flip.land - 0.03f, flip.land - 0.28f, t);
    float late = avatar_ramp(flip.leave + 0.25f, flip.land - 0.25f, t);

    out->is_free = true;
    for (int side = 0; side < 2; side++) {
        Foot a = flip_foot((double)flip.leave, side), b = flip_foot((double)flip.land, side);
        Foot *foot = &out->foot[side];
        Vec3 straight = vec3_lerp(a.ankle, b.ankle, late);
        Vec3 tucked = {straight.x, -0.30f, 0.20f};
        foot->ankle = vec3_lerp(straight, tucked, tuck);
        foot->pitch = (a.pitch + (b.pitch - a.pitch) * late) * (1.0f - tuck) + 30.0f * tuck;
        foot->toes = (1.0f - tuck) * a.toes;
    }
    out->spine.x += 34.0f * tuck;
    out->head.x += 16.0f * tuck;
}

static void stance_flip(double time, Stance *out)
{
    bool is_flying = time > (double)flip.leave && time < (double)flip.land;

    flip_ground(time, out);
    out->spine.x =
        CURVE(time, {0.0f, 0.0f}, {1.0f, 0.0f}, {1.65f, 16.0f}, {2.0f, -12.0f}, {2.84f, 10.0f},
              {3.14f, 14.0f}, {4.1f, -3.0f}, {5.0f, -3.0f}, {5.8f, 0.0f}, {6.0f, 0.0f});
    out->head.x =
        CURVE(time, {0.0f, 0.0f}, {1.0f, 0.0f}, {1.65f, -26.0f}, {2.0f, -18.0f}, {2.5f, -14.0f},
              {2.84f, 16.0f}, {3.14f, -14.0f}, {4.1f, -4.0f}, {5.8f, 0.0f}, {6.0f, 0.0f});
    if (is_flying)
        flip_flight(time, out);
    set_arms(out,
             CURVE(time, {0.0f, 74.0f}, {0.9f, 70.0f}, {1.65f, 66.0f}, {2.0f, 74.0f}, {2.3f, 66.0f},
                   {2.7f, 60.0f}, {3.14f, 50.0f}, {4.2f, -42.0f}, {4.8f, -42.0f}, {5.7f, 74.0f},
                   {6.0f, 74.0f}),
             CURVE(time, {0.0f, 2.0f}, {0.3f, 2.0f}, {0.95f, 70.0f}, {1.65f, -52.0f},
                   {2.0f, 158.0f}, {2.3f, 74.0f}, {2.65f, 62.0f}, {3.0f, 50.0f}, {4.0f, 8.0f},
                   {5.7f, 2.0f}, {6.0f, 2.0f}),
             CURVE(time, {0.0f, 14.0f}, {0.95f, 20.0f}, {1.65f, 24.0f}, {2.0f, 12.0f},
                   {2.3f, 64.0f}, {2.6f, 60.0f}, {3.0f, 30.0f}, {4.2f, 12.0f}, {4.8f, 12.0f},
                   {5.7f, 14.0f}, {6.0f, 14.0f}));
}

/* Two beats a second for eight seconds: hips from side to side, heels up in turn, arms up one after
 * the other in the first half and waving in the second. */
static void stance_dance(double time, Stance *out)
{
    float sway = wave(time, 2.0, 0.0), beat = wave(time, 0.5, -0.25), twist = wave(time, 1.0, 0.0);
    float second = avatar_ramp(3.6f, 4.2f, (float)time) * avatar_ramp(8.0f, 7.4f, (float)time);
    float first = 1.0f - second;

    *out = avatar_standing();
    out->hips = vec3(0.05f * sway, -0.045f - 0.02f * beat, 0.0f);
    out->turn = vec3(4.0f, 10.0f * sway + 8.0f * second * twist, 5.0f * sway);
    out->spine = vec3(-2.0f + 3.0f * beat, -14.0f * sway - 12.0f * second * twist, -11.0f * sway);
    out->head =
        vec3(2.0f + 5.0f * beat, 12.0f * sway * first + 14.0f * second * twist, 7.0f * sway);
    for (int side = 0; side < 2; side++) {
        float sign = side == SIDE_LEFT ? 1.0f : -1.0f;
        float free = -sign * sway, up = sign * wave(time, 4.0, 0.0);
        Arm *arm = &out->arm[side];
        float heel = 26.0f * avatar_ramp(0.1f, 0.9f, free);
        out->foot[side].pitch = heel;
        out->foot[side].toes = heel;
        out->foot[side].ankle = avatar_ankle(heel);
        up = up > 0.0f ? up * up * (3.0f - 2.0f * up) : 0.0f;
        arm->down = first * (58.0f - 108.0f * up) + second * (30.0f + 14.0f * sign * twist);
        arm->swing = first * (14.0f + 8.0f * beat) + second * (16.0f + 10.0f * beat);
        arm->elbow = first * (48.0f - 30.0f * up + 10.0f * beat) + second * (62.0f + 14.0f * twist);
        arm->wrist = 8.0f * wave(time, 1.0, 0.25);
    }
}

const AvatarClip avatar_clip[AVATAR_CLIP_COUNT] = {
    {"idle", 120, stance_idle},     {"walk", WALK_KEYS, stance_walk}, {"jump", 90, stance_jump},
    {"crouch", 120, stance_crouch}, {"back_flip", 180, stance_flip},  {"dance", 240, stance_dance}};
