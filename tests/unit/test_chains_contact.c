/* Contact: CHAINS.md E.3. A capsule is pushed into a hanging strand. */
#include "support/check.h"
#include "support/stage.h"

#include <math.h>
#include <stdio.h>

enum { LINKS = 6 };

static const double CAPSULE = 0.02; /* radius */
static const double HAIR = 0.01;

typedef struct Push {
    ChainsContact contact;
    bool is_two_way;
    bool is_naive;
    double speed;  /* m/s */
    double depth;  /* how far the capsule's surface ends past the strand's, metres */
    double height; /* of the capsule below the strand's root */
} Push;

typedef struct PushResult {
    double left_inside;  /* greatest depth of a segment when the capsule has stopped, metres */
    double worst_inside; /* over all steps */
    double peak_speed;   /* of a tail after the capsule has stopped */
    double gap;          /* the widest one that opens after it has stopped */
    bool is_on_right_side;
    bool is_unstretched;
} PushResult;

/* Distance of the segment a-b from the line through c along z, by the plane z = const: the strand
 * moves in x and y alone. */
static double distance_to_axis(DVec3 a, DVec3 b, double cx, double cy)
{
    double dx = b.x - a.x, dy = b.y - a.y;
    double t = ((cx - a.x) * dx + (cy - a.y) * dy) / (dx * dx + dy * dy);

    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    return sqrt(pow(a.x + t * dx - cx, 2.0) + pow(a.y + t * dy - cy, 2.0));
}

static Stage *open_strand(const Push *push, int *out_pusher)
{
    Stage *s = stage_open(256 << 20);
    Vec3 point[LINKS];

    for (int i = 0; i < LINKS; i++)
        point[i] = vec3(0.0f, -0.05f, 0.0f);
    int head = stage_node(s, "head", -1, vec3(0.0f, 1.0f, 0.0f));
    *out_pusher = stage_node(s, "pusher", -1, vec3(0.5f, 1.0f - (float)push->height, 0.0f));
    stage_chain(s, "lock", head, vec3(0.0f, 0.0f, 0.0f), point, LINKS);
    stage_collider(s, (RigCollider){.node = *out_pusher,
                                    .kind = COLLIDER_CAPSULE,
                                    .offset = {0.0f, 0.0f, -0.1f},
                                    .tail = {0.0f, 0.0f, 0.1f},
                                    .radius = (float)CAPSULE});
    s->spec.chains.contact = push->contact;
    s->spec.chains.is_two_way = push->is_two_way;
    s->spec.chains.contact_velocity =
        push->is_naive ? CHAINS_VELOCITY_NAIVE : CHAINS_VELOCITY_REBUILT;
    s->spec.chains.parameters.stiffness = 240.0f;
    s->spec.chains.parameters.damping = 12.0f;
    s->spec.chains.parameters.gravity = 0.5f;
    s->spec.chains.parameters.radius = (float)HAIR;
    stage_start(s);
    return s;
}

static double deepest(const Stage *s, double cx, double cy, double *out_nearest)
{
    double nearest = 1e9;

    for (int i = 0; i < LINKS; i++)
        nearest = fmin(nearest, distance_to_axis(stage_head(s, i), stage_tail(s, i), cx, cy));
    *out_nearest = nearest;
    return fmax(0.0, CAPSULE + HAIR - nearest);
}

static PushResult run_push(Push push)
{
    int pusher;
    Stage *s = open_strand(&push, &pusher);
    PushResult result = {.is_on_right_side = true, .is_unstretched = true};
    double start = 0.2, end = CAPSULE + HAIR - push.depth, x = start;
    double cy = 1.0 - push.height;
    DVec3 before[LINKS] = {0};
    int stopped = 0;

    for (int step = 0; step < 600; step++) {
        x = fmax(end, x - push.speed / 120.0);
        stopped += x == end;
        s->pose.local[pusher].translation.x = (float)x;
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        double nearest;
        double inside = deepest(s, x, cy, &nearest);
        result.worst_inside = fmax(result.worst_inside, inside);
        if (stopped > 0)
            result.left_inside = inside;
        if (stopped > 3)
            result.gap = fmax(result.gap, nearest - CAPSULE - HAIR);
        for (int i = 0; i < LINKS; i++) {
            DVec3 tail = stage_tail(s, i);
            double moved = (double)vec3_length(dvec3_offset(tail, before[i]));
            double length = (double)vec3_length(dvec3_offset(tail, stage_head(s, i)));
            if (stopped > 3)
                result.peak_speed = fmax(result.peak_speed, moved * 120.0);
            result.is_unstretched = result.is_unstretched && fabs(length - 0.05) < 1e-6;
            before[i] = tail;
        }
    }
    // the touched part of the strand lies on the side it was on: left of the capsule
    for (int i = 0; i < LINKS; i++) {
        DVec3 head = stage_head(s, i), tail = stage_tail(s, i);
        if (head.y >= cy && tail.y <= cy) {
            double t = (head.y - cy) / (head.y - tail.y);
            result.is_on_right_side = head.x + t * (tail.x - head.x) < x;
        }
    }
    stage_close(s);
    return result;
}

static const double speeds[] = {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0};
enum { SPEED_COUNT = sizeof speeds / sizeof *speeds };

/* below the root: at joints, at the middle of bones, and elsewhere */
static const double heights[] = {0.08, 0.1, 0.125, 0.15, 0.175, 0.21};
enum { HEIGHT_COUNT = sizeof heights / sizeof *heights };

static void check_swept(bool is_two_way)
{
    for (int h = 0; h < HEIGHT_COUNT; h++) {
        for (int v = 0; v < SPEED_COUNT; v++) {
            PushResult r = run_push(
                (Push){CHAINS_CONTACT_SWEPT, is_two_way, false, speeds[v], 0.06, heights[h]});
            if (!r.is_on_right_side || r.worst_inside > 5e-5)
                printf("    height %.3f, %.1f m/s\n", heights[h], speeds[v]);
            CHECK(r.is_on_right_side);
            CHECK(r.is_unstretched);
            CHECK_NEAR(r.worst_inside, 0.0, 5e-5);
        }
    }
}

TEST(chains_contact, swept_contact_holds_at_every_speed_to_32_metres_a_second)
{
    check_swept(false);
}

TEST(chains_contact, swept_contact_holds_two_way_at_every_speed_to_32_metres_a_second)
{
    check_swept(true);
}

TEST(chains_contact, endpoint_contact_leaves_a_centimetre_inside_and_tunnels_when_fast)
{
    // chord of the 3 cm circle between joints 5 cm apart: up to 3 - sqrt(9 - 6.25) = 1.34 cm
    PushResult slow = run_push((Push){CHAINS_CONTACT_ENDPOINT, false, false, 1.0, 0.06, 0.125});
    PushResult fast = run_push((Push){CHAINS_CONTACT_ENDPOINT, false, false, 4.0, 0.06, 0.125});

    CHECK_NEAR(slow.left_inside, 0.0105, 0.001);
    CHECK(slow.is_on_right_side);
    CHECK(!fast.is_on_right_side);
}

TEST(chains_contact, segment_contact_holds_slow_pushes_and_tunnels_when_fast)
{
    for (int v = 0; v < SPEED_COUNT; v++) {
        PushResult r =
            run_push((Push){CHAINS_CONTACT_SEGMENT, false, false, speeds[v], 0.06, 0.125});

        if (speeds[v] <= 2.0) {
            CHECK_NEAR(r.worst_inside, 0.0, 3e-5);
            CHECK(r.is_on_right_side);
        }
        if (speeds[v] >= 16.0)
            CHECK(!r.is_on_right_side);
    }
}

TEST(chains_contact, a_push_that_stops_opens_no_gap)
{
    PushResult rebuilt = run_push((Push){CHAINS_CONTACT_SWEPT, false, false, 1.0, 0.06, 0.125});
    PushResult naive = run_push((Push){CHAINS_CONTACT_SWEPT, false, true, 1.0, 0.06, 0.125});

    printf("    peak after the stop: rebuilt %.2f m/s, naive %.2f; gap %.3f and %.3f mm\n",
           rebuilt.peak_speed, naive.peak_speed, rebuilt.gap * 1e3, naive.gap * 1e3);
    CHECK_NEAR(rebuilt.gap, 0.0, 5e-5);
    CHECK(rebuilt.peak_speed < 0.6);
    CHECK(naive.peak_speed > 2.0 * rebuilt.peak_speed);
}

TEST(chains_contact, penetration_is_measured_over_every_step)
{
    Push push = {CHAINS_CONTACT_ENDPOINT, false, false, 1.0, 0.06, 0.125};
    int pusher;
    Stage *s = open_strand(&push, &pusher);
    double worst = 0.0;

    for (int step = 0; step < 120; step++) {
        double nearest, x = fmax(-0.03, 0.2 - step / 120.0);
        s->pose.local[pusher].translation.x = (float)x;
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        worst = fmax(worst, deepest(s, x, 1.0 - push.height, &nearest));
    }
    CHECK(worst > 0.005);
    CHECK_NEAR(stage_measure(s, "penetration.max", "lock"), worst, 1e-5);
    CHECK_NEAR(stage_measure(s, "penetration.max", "*"), worst, 1e-5);
    CHECK(stage_measure(s, "contact.count", "*") > 10.0);
    stage_close(s);
}

TEST(chains_contact, a_lock_dragged_along_a_capsule_keeps_sliding)
{
    // the capsule lies along z and presses 2 cm into the strand; the head goes along z
    Push push = {CHAINS_CONTACT_SWEPT, false, false, 1.0, 0.05, 0.125};
    int pusher;
    Stage *s = open_strand(&push, &pusher);
    double lag[2] = {0};

    for (int touch = 0; touch < 2; touch++) {
        for (int step = 0; step < 240; step++) {
            float z = 0.3f * (float)step / 120.0f;
            s->pose.local[0].translation.z = z;
            // the pusher is 20 cm long: it goes with the head, or stands far off
            s->pose.local[pusher].translation =
                vec3(touch ? fmaxf(0.01f, 0.2f - (float)step / 120.0f) : 5.0f, 0.875f, z);
            s->pose.local[pusher].translation.z = 0.0f;
            s->pose.local[pusher].scale.z = 20.0f;
            CHECK_INT(stage_step(s), ==, STATUS_OK);
        }
        lag[touch] = (double)s->pose.local[0].translation.z - stage_tail(s, LINKS - 1).z;
        s->pose.local[0].translation.z = 0.0f;
        s->pose.local[pusher].translation.x = 5.0f;
        for (int step = 0; step < 480; step++)
            CHECK_INT(stage_step(s), ==, STATUS_OK);
    }
    // no more than a millimetre behind where it would be without the capsule
    CHECK_NEAR(lag[1], lag[0], 1e-3);
    stage_close(s);
}

/* Energy a kilogram of the joints: motion, springs, gravity. */
static double energy(const Stage *s, const DVec3 *before, const DVec3 *rest, DVec3 gravity)
{
    double sum = 0.0;

    for (int i = 0; i < LINKS; i++) {
        DVec3 tail = stage_tail(s, i), head = stage_head(s, i);
        DVec3 r = {head.x + rest[i].x - tail.x, head.y + rest[i].y - tail.y,
                   head.z + rest[i].z - tail.z};
        double vx = (tail.x - before[i].x) * 120.0, vy = (tail.y - before[i].y) * 120.0,
               vz = (tail.z - before[i].z) * 120.0;
        sum += 0.5 * (vx * vx + vy * vy + vz * vz);
        sum += 0.5 * 240.0 * (r.x * r.x + r.y * r.y + r.z * r.z);
        sum -= gravity.x * tail.x + gravity.y * tail.y + gravity.z * tail.z;
    }
    return sum;
}

typedef struct SwingBack {
    double greatest; /* energy over all steps, J/kg */
    double at_touch; /* in the step before the first touch */
    double after;    /* greatest from the first touch on */
    double contacts;
} SwingBack;

/* The strand is blown aside, then falls back against a capsule that stands still. */
static SwingBack swing_back(ChainsContact contact, bool is_naive)
{
    Push push = {contact, false, is_naive, 1.0, 0.05, 0.16};
    const DVec3 gravity = {0.0, -0.5, 0.0};
    int pusher;
    Stage *s = open_strand(&push, &pusher);
    DVec3 before[LINKS] = {0}, rest[LINKS] = {0};
    SwingBack swing = {-1e9, 0.0, -1e9, 0.0};

    for (int i = 0; i < LINKS; i++)
        rest[i].y = -0.05;
    s->forces.wind_velocity = vec3(-8.0f, 0.0f, 0.0f);
    for (int step = 0; step < 480; step++) {
        if (step == 240) {
            s->forces.wind_velocity = vec3(0.0f, 0.0f, 0.0f);
            s->pose.local[pusher].translation.x = 0.015f;
        }
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        double now = energy(s, before, rest, gravity);
        swing.contacts = stage_measure(s, "contact.count", "*");
        if (step > 240)
            swing.greatest = fmax(swing.greatest, now);
        if (step > 240 && swing.contacts > 0.0)
            swing.after = fmax(swing.after, now);
        else
            swing.at_touch = now;
        for (int i = 0; i < LINKS; i++)
            before[i] = stage_tail(s, i);
    }
    stage_close(s);
    return swing;
}

TEST(chains_contact, contact_with_what_stands_still_adds_no_energy)
{
    SwingBack unhindered = swing_back(CHAINS_CONTACT_NONE, false);
    SwingBack stopped = swing_back(CHAINS_CONTACT_SWEPT, false);
    SwingBack naive = swing_back(CHAINS_CONTACT_SWEPT, true);

    printf("    free %.5f; stopped %.5f, at touch %.5f, after %.5f (naive %.5f) J/kg\n",
           unhindered.greatest, stopped.greatest, stopped.at_touch, stopped.after, naive.after);
    CHECK_NEAR(unhindered.contacts, 0.0, 0.0);
    CHECK(stopped.contacts > 10.0);
    // heads drag tails along without being held back, so even the free swing gains a little
    CHECK(stopped.greatest <= unhindered.greatest);
    CHECK(stopped.after <= stopped.at_touch);
}
