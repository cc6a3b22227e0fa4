/* Laws of the avatar's clips, by posing its skeleton and shoes. */
#include "samples/avatar_motion.h"
#include "samples/avatar_parts.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

typedef struct Fixture {
    Arena arena;
    const AvatarRig *rig;
    AvatarParts parts;
} Fixture;

static const Fixture *open_parts(void)
{
    static Fixture f;

    if (f.rig)
        return &f;
    f.arena = test_arena((size_t)1 << 29);
    f.rig = avatar_rig_build(AVATAR_HAIR_SIMPLE, &f.arena);
    CHECK(f.rig != NULL);
    avatar_build_parts(f.rig, &f.arena, &f.parts);
    CHECK(!f.arena.overflowed);
    return &f;
}

/* Place and rotation of every node. */
typedef struct Posed {
    Vec3 place[JOINT_HUMANOID_COUNT + AVATAR_MAX_CHAINS * CHAIN_MAX_POINTS];
    Quat turn[JOINT_HUMANOID_COUNT + AVATAR_MAX_CHAINS * CHAIN_MAX_POINTS];
} Posed;

static void pose_at(const AvatarRig *rig, const AvatarClip *clip, double time, Posed *out)
{
    Stance stance;
    AvatarPose pose;

    clip->stance(time, &stance);
    avatar_pose(rig, &stance, &pose);
    for (int i = 0; i < rig->node_count; i++) {
        const AvatarNode *node = &rig->node[i];
        Quat local = i < JOINT_HUMANOID_COUNT ? pose.rotation[i] : quat_identity();
        if (node->parent < 0) {
            out->place[i] = node->position;
            out->turn[i] = local;
            continue;
        }
        Vec3 offset = vec3_sub(node->position, rig->node[node->parent].position);
        if (i == JOINT_HIPS)
            offset = pose.hips;
        Vec3 turned = quat_rotate(out->turn[node->parent], offset);
        out->place[i] = vec3_add(out->place[node->parent], turned);
        out->turn[i] = quat_mul(out->turn[node->parent], local);
    }
}

static Vec3 skin_vertex(const AvatarRig *rig, const SampleMesh *mesh, int v, const Posed *posed)
{
    const MeshWeights *w = &mesh->weights[v];
    Vec3 out = {0.0f, 0.0f, 0.0f};

    for (int k = 0; k < MESH_INFLUENCES; k++) {
        int joint = w->joint[k];
        Vec3 local = vec3_sub(mesh->position[v], rig->node[joint].position);
        Vec3 p = vec3_add(posed->place[joint], quat_rotate(posed->turn[joint], local));
        out = vec3_add_scaled(out, p, w->weight[k]);
    }
    return out;
}

/* The lowest point of the sole of one foot. */
static float lowest_sole(const Fixture *f, const Posed *posed, int side)
{
    const SampleMesh *sole = &f->parts.mesh[MATERIAL_SOLES];
    float low = 1e3f;

    for (int v = 0; v < sole->vertex_count; v++) {
        bool is_right = sole->position[v].x < 0.0f;
        if (is_right != (side == SIDE_RIGHT))
            continue;
        float y = skin_vertex(f->rig, sole, v, posed).y;
        low = y < low ? y : low;
    }
    return low;
}

static const AvatarClip *find_clip(const char *name)
{
    int i = 0;

    while (i < AVATAR_CLIP_COUNT && strcmp(avatar_clip[i].name, name) != 0)
        i++;
    CHECK_INT(i, <, AVATAR_CLIP_COUNT);
    return &avatar_clip[i];
}

static double key_time(int key)
{
    return (double)key / AVATAR_KEYS_PER_SECOND;
}

TEST(avatar_motion, has_six_clips)
{
    const char *const name[] = {"idle", "walk", "jump", "crouch", "back_flip", "dance"};

    for (int i = 0; i < AVATAR_CLIP_COUNT; i++)
        CHECK_EQUAL_TEXT(avatar_clip[i].name, name[i]);
}

/* The pose at the clip's end is the one at its start, and it moves on without a jump. */
TEST(avatar_motion, clips_loop)
{
    const Fixture *f = open_parts();

    for (int i = 0; i < AVATAR_CLIP_COUNT; i++) {
        Posed start, end;
        pose_at(f->rig, &avatar_clip[i], 0.0, &start);
        pose_at(f->rig, &avatar_clip[i], key_time(avatar_clip[i].keys), &end);
        for (int n = 0; n < f->rig->node_count; n++) {
            CHECK(vec3_length(vec3_sub(start.place[n], end.place[n])) < 1e-4f);
            CHECK(fabsf(quat_dot(start.turn[n], end.turn[n])) > 1.0f - 1e-6f);
        }
    }
}

/* No joint moves faster than 12 m/s. From key to key velocities change by less than 7 m/s: when the
 * back flip takes off, the feet have 4.1 m/s to gain. */
TEST(avatar_motion, moves_without_jumps)
{
    const Fixture *f = open_parts();

    for (int i = 0; i < AVATAR_CLIP_COUNT; i++) {
        Posed last[3];
        for (int key = 0; key <= avatar_clip[i].keys; key++) {
            last[0] = last[1];
            last[1] = last[2];
            pose_at(f->rig, &avatar_clip[i], key_time(key), &last[2]);
            for (int n = 0; n < JOINT_HUMANOID_COUNT && key >= 2; n++) {
                Vec3 a = vec3_sub(last[1].place[n], last[0].place[n]);
                Vec3 b = vec3_sub(last[2].place[n], last[1].place[n]);
                CHECK(vec3_length(b) * AVATAR_KEYS_PER_SECOND < 12.0f);
                CHECK(vec3_length(vec3_sub(b, a)) * AVATAR_KEYS_PER_SECOND < 7.0f);
            }
        }
    }
}

/* Soles never sink more than a centimetre into the ground; save in jump and back flip, the lower
 * one is never more than a centimetre above it. */
TEST(avatar_motion, feet_stay_on_the_ground)
{
    const Fixture *f = open_parts();

    for (int i = 0; i < AVATAR_CLIP_COUNT; i++) {
        bool leaps = strcmp(avatar_clip[i].name, "jump") == 0 ||
                     strcmp(avatar_clip[i].name, "back_flip") == 0;
        for (int key = 0; key < avatar_clip[i].keys; key++) {
            Posed posed;
            pose_at(f->rig, &avatar_clip[i], key_time(key), &posed);
            float left = lowest_sole(f, &posed, SIDE_LEFT);
            float right = lowest_sole(f, &posed, SIDE_RIGHT);
            float low = left < right ? left : right;
            CHECK(low > -0.01f);
            CHECK(leaps || low < 0.01f);
        }
    }
}

/* While it carries, the foot moves backwards with the floor at one speed: the ball of the left foot
 * keeps within 5 mm of it, from flat on the ground until the toes leave. */
TEST(avatar_motion, walking_feet_do_not_slide)
{
    const Fixture *f = open_parts();
    const AvatarClip *walk = find_clip("walk");
    const double speed = (0.20 + 0.26) / 0.62 * AVATAR_KEYS_PER_SECOND / walk->keys;
    double start = 0.0;

    for (int step = 0; step <= 50; step++) {
        double u = 0.1 + 0.52 * step / 50, time = u * key_time(walk->keys);
        Posed posed;
        pose_at(f->rig, walk, time, &posed);
        double at = (double)posed.place[JOINT_TOES].z + speed * time;
        if (step == 0)
            start = at;
        CHECK_NEAR(at, start, 0.005);
        CHECK_NEAR(posed.place[JOINT_TOES].y, 0.022, 0.005);
    }
}

/* Both feet of clips that stand keep their places: the balls move less than 8 mm. */
TEST(avatar_motion, standing_feet_keep_their_places)
{
    const Fixture *f = open_parts();
    const char *const name[] = {"idle", "crouch", "dance"};

    for (int i = 0; i < 3; i++) {
        const AvatarClip *clip = find_clip(name[i]);
        Posed first, posed;
        pose_at(f->rig, clip, 0.0, &first);
        for (int key = 0; key < clip->keys; key++)
            for (int side = 0; side < 2; side++) {
                pose_at(f->rig, clip, key_time(key), &posed);
                Vec3 moved =
                    vec3_sub(posed.place[JOINT_TOES + side], first.place[JOINT_TOES + side]);
                CHECK(vec3_length(moved) < 0.008f);
            }
    }
}

/* In the air the hips fall freely, 9.81 m/s2, and turn once backwards over the whole clip. */
TEST(avatar_motion, the_back_flip_is_ballistic_and_turns_once_backwards)
{
    const Fixture *f = open_parts();
    const AvatarClip *clip = find_clip("back_flip");
    const double h = 0.01;
    double turned = 0.0, before = 0.0;

    for (int i = 0; i < 40; i++) {
        double t = 2.02 + 0.02 * i;
        Posed a, b, c;
        pose_at(f->rig, clip, t - h, &a);
        pose_at(f->rig, clip, t, &b);
        pose_at(f->rig, clip, t + h, &c);
        double fall = (double)a.place[JOINT_HIPS].y - 2.0 * (double)b.place[JOINT_HIPS].y +
                      (double)c.place[JOINT_HIPS].y;
        CHECK_NEAR(fall / (h * h), -9.81, 0.05);
    }
    for (int key = 0; key <= clip->keys; key++) {
        Posed posed;
        pose_at(f->rig, clip, key_time(key), &posed);
        Vec3 up = quat_rotate(posed.turn[JOINT_HIPS], vec3(0.0f, 1.0f, 0.0f));
        double angle = atan2((double)up.z, (double)up.y);
        double step = key > 0 ? remainder(angle - before, 6.283185307179586) : 0.0;
        turned += step;
        before = angle;
    }
    CHECK_NEAR(turned, -6.283185307179586, 1e-3);
}

TEST(avatar_motion, the_jump_leaves_the_ground_in_free_fall)
{
    const Fixture *f = open_parts();
    const AvatarClip *clip = find_clip("jump");
    float highest = 0.0f;

    for (int key = 0; key < clip->keys; key++) {
        Posed posed;
        pose_at(f->rig, clip, key_time(key), &posed);
        float low = lowest_sole(f, &posed, SIDE_LEFT);
        highest = low > highest ? low : highest;
    }
    CHECK(highest > 0.35f);
}

/* Skin does not tear: in every key of every clip but few edges of the skin and the shirt grow by
 * more than half, none to more than two and a half times its length. */
TEST(avatar_motion, skin_does_not_tear)
{
    const Fixture *f = open_parts();
    const AvatarMaterial part[] = {MATERIAL_SKIN, MATERIAL_SHIRT, MATERIAL_SHOES};
    static Vec3 place[1 << 15];
    long long edges = 0, long_edges = 0;

    for (int i = 0; i < AVATAR_CLIP_COUNT; i++)
        for (int key = 0; key < avatar_clip[i].keys; key += 6) {
            Posed posed;
            pose_at(f->rig, &avatar_clip[i], key_time(key), &posed);
            for (int p = 0; p < 3; p++) {
                const SampleMesh *mesh = &f->parts.mesh[part[p]];
                for (int v = 0; v < mesh->vertex_count; v++)
                    place[v] = skin_vertex(f->rig, mesh, v, &posed);
                for (int e = 0; e < mesh->index_count; e++) {
                    uint32_t a = mesh->index[e], b = mesh->index[e % 3 == 2 ? e - 2 : e + 1];
                    float rest = vec3_length(vec3_sub(mesh->position[a], mesh->position[b]));
                    float now = vec3_length(vec3_sub(place[a], place[b]));
                    CHECK(now < 2.5f * rest);
                    edges++;
                    long_edges += now > 1.5f * rest;
                }
            }
        }
    CHECK_INT(long_edges * 100, <, edges);
}
