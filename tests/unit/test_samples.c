#include "base/hash.h"
#include "sim/assets.h"
#include "sim/samples.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

/* A sample's file, and the rig that our own reader makes of it. */
typedef struct Sample {
    Error err;
    ByteWriter file;
    Arena arena;
    const Rig *rig;
} Sample;

static const Sample *open_avatar(AvatarHair hair)
{
    static Sample made[AVATAR_HAIR_COUNT];
    Sample *s = &made[hair];

    if (s->rig)
        return s;
    s->file = byte_writer(SAMPLE_FILE_MAX, &s->err);
    CHECK_INT(sample_write_avatar(&(AvatarOptions){hair}, &s->file, &s->err), ==, STATUS_OK);
    CHECK_OK(&s->err);
    AssetOptions options = {.limits = asset_limits_default(), .name = "avatar"};
    s->arena = test_arena(asset_arena_size(s->file.size, &options.limits));
    Status status = asset_read(byte_writer_bytes(&s->file), &options, &s->arena, &s->rig, &s->err);
    CHECK_OK(&s->err);
    CHECK_INT(status, ==, STATUS_OK);
    return s;
}

TEST(samples, are_found_by_name)
{
    int count = 0;
    const SampleInfo *list = sample_list(&count);

    CHECK_INT(count, >=, 1);
    for (int i = 0; i < count; i++)
        CHECK(sample_find(list[i].name) == &list[i]);
    CHECK(sample_find("nothing") == NULL);
    CHECK(sample_find("") == NULL);
    CHECK_INT(avatar_hair_find("simple"), ==, AVATAR_HAIR_SIMPLE);
    CHECK_INT(avatar_hair_find("layered"), ==, AVATAR_HAIR_LAYERED);
    CHECK_INT(avatar_hair_find("bald"), ==, AVATAR_HAIR_COUNT);
    CHECK_EQUAL_TEXT(avatar_hair_name(AVATAR_HAIR_LAYERED), "layered");
}

/* The default sample is the avatar with simple hair, and it goes behind what is there. */
TEST(samples, are_written_behind_what_the_file_holds)
{
    const Sample *s = open_avatar(AVATAR_HAIR_SIMPLE);
    Error err = {0};
    ByteWriter out = byte_writer(SAMPLE_FILE_MAX, &err);

    write_u32(&out, 0x12345678);
    CHECK_INT(sample_write(sample_find("avatar"), &(SampleOptions){0}, &out, &err), ==, STATUS_OK);
    CHECK_INT(out.size, ==, s->file.size + 4);
    CHECK(memcmp(out.data + 4, s->file.data, s->file.size) == 0);
    byte_writer_close(&out);
}

TEST(samples, say_when_the_file_is_full)
{
    Error err = {0};
    ByteWriter out = byte_writer(1000, &err);

    CHECK_INT(sample_write(sample_find("avatar"), &(SampleOptions){0}, &out, &err), ==,
              STATUS_LIMIT);
    CHECK_TEXT(err.message, "more than 1000 bytes");
    byte_writer_close(&out);
}

/* The same bytes for every compiler, optimisation level and machine. Who changes the avatar renews
 * these: `bakehouse sample avatar -o FILE [--hair layered]`, then `sha256sum FILE`. */
TEST(samples, avatar_has_the_same_bytes_everywhere)
{
    static const char *const expected[AVATAR_HAIR_COUNT] = {
        "8d42b2a31131830cd1523355cfe27ece93aec5d5e36b0de2b1eb56c99dea6141",
        "3ecb63be2b99d43fe7dc809549c141b5b8f178f089e84827b16c0eda744de81f"};
    char hex[SHA256_HEX_SIZE];

    for (int hair = 0; hair < AVATAR_HAIR_COUNT; hair++) {
        sha256_of(byte_writer_bytes(&open_avatar((AvatarHair)hair)->file), hex);
        CHECK_EQUAL_TEXT(hex, expected[hair]);
    }
}

TEST(samples, avatar_reads_back_without_a_warning)
{
    for (int hair = 0; hair < AVATAR_HAIR_COUNT; hair++) {
        const Rig *rig = open_avatar((AvatarHair)hair)->rig;
        CHECK_EQUAL_TEXT(rig->warnings.count ? rig->warnings.warning[0].detail : "", "");
        CHECK_EQUAL_TEXT(rig->format, "vrm1");
        CHECK_NEAR(rig->height, 1.62, 0.02);
        CHECK_NEAR(rig->box_min.y, 0.0, 1e-3);
        CHECK_NEAR(rig->forward.z, 1.0, 0.0);
    }
}

TEST(samples, avatar_has_every_required_bone_in_a_t_pose)
{
    static const HumanoidRole required[] = {ROLE_HIPS,
                                            ROLE_SPINE,
                                            ROLE_HEAD,
                                            ROLE_LEFT_UPPER_LEG,
                                            ROLE_LEFT_LOWER_LEG,
                                            ROLE_LEFT_FOOT,
                                            ROLE_RIGHT_UPPER_LEG,
                                            ROLE_RIGHT_LOWER_LEG,
                                            ROLE_RIGHT_FOOT,
                                            ROLE_LEFT_UPPER_ARM,
                                            ROLE_LEFT_LOWER_ARM,
                                            ROLE_LEFT_HAND,
                                            ROLE_RIGHT_UPPER_ARM,
                                            ROLE_RIGHT_LOWER_ARM,
                                            ROLE_RIGHT_HAND};
    const Rig *rig = open_avatar(AVATAR_HAIR_SIMPLE)->rig;
    World world[512];

    CHECK(rig->is_humanoid);
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
        CHECK(rig->role[required[i]] >= 0);
    CHECK_INT(rig->node_count, <=, 512);
    rig_rest_worlds(rig, world);
    DVec3 shoulder = world[rig->role[ROLE_LEFT_UPPER_ARM]].origin;
    DVec3 hand = world[rig->role[ROLE_LEFT_HAND]].origin;
    CHECK(hand.x > shoulder.x + 0.4);
    CHECK_NEAR(hand.y, shoulder.y, 1e-6);
    for (int i = 0; i < rig->node_count; i++) {
        CHECK_NEAR(rig->node[i].rest.rotation.w, 1.0, 0.0);
        CHECK_NEAR(rig->node[i].rest.scale.x, 1.0, 0.0);
    }
}

/* Six clips at 30 keys a second; each channel ends with the bits it begins with. */
TEST(samples, avatar_clips_loop_exactly)
{
    static const struct {
        const char *name;
        double duration;
    } expected[] = {{"idle", 4.0},   {"walk", 1.0},      {"jump", 3.0},
                    {"crouch", 4.0}, {"back_flip", 6.0}, {"dance", 8.0}};
    const Rig *rig = open_avatar(AVATAR_HAIR_SIMPLE)->rig;

    CHECK_INT(rig->clip_count, ==, 6);
    for (int i = 0; i < rig->clip_count; i++) {
        const Clip *clip = &rig->clip[i];
        CHECK_EQUAL_TEXT(clip->name, expected[i].name);
        CHECK_NEAR(clip->duration, expected[i].duration, 1e-6);
        for (int c = 0; c < clip->channel_count; c++) {
            const ClipChannel *channel = &clip->channel[c];
            size_t width = (size_t)channel->width;
            const float *last = channel->value + (size_t)(channel->key_count - 1) * width;
            float turn = 0.0f;
            for (size_t k = 0; k < width; k++)
                turn += channel->value[k] * last[k];
            // a rotation may end as its opposite quaternion, which is the same rotation
            bool is_opposite = channel->path == CLIP_ROTATION && turn < 0.0f;
            for (size_t k = 0; k < width; k++)
                CHECK(channel->value[k] == (is_opposite ? -last[k] : last[k]));
            CHECK_NEAR(channel->time[channel->key_count - 1], expected[i].duration, 1e-6);
        }
    }
}

/* Clips leave hair and skirt to the springs. */
TEST(samples, avatar_clips_move_no_spring_joint)
{
    for (int hair = 0; hair < AVATAR_HAIR_COUNT; hair++) {
        const Rig *rig = open_avatar((AvatarHair)hair)->rig;
        for (int i = 0; i < rig->clip_count; i++)
            for (int c = 0; c < rig->clip[i].channel_count; c++)
                for (int s = 0; s < rig->spring_count; s++)
                    for (int g = 0; g < rig->spring[s].segment_count; g++)
                        CHECK(rig->clip[i].channel[c].node != rig->spring[s].segment[g].head);
    }
}

static int count_springs(const Rig *rig, const char *prefix)
{
    int count = 0;

    for (int s = 0; s < rig->spring_count; s++)
        count += strncmp(rig->spring[s].name, prefix, strlen(prefix)) == 0;
    return count;
}

TEST(samples, avatar_springs_are_all_simulated)
{
    const Rig *simple = open_avatar(AVATAR_HAIR_SIMPLE)->rig;
    const Rig *layered = open_avatar(AVATAR_HAIR_LAYERED)->rig;

    for (int hair = 0; hair < AVATAR_HAIR_COUNT; hair++) {
        const Rig *rig = open_avatar((AvatarHair)hair)->rig;
        for (int s = 0; s < rig->spring_count; s++) {
            CHECK(rig->spring[s].refusal == NULL);
            CHECK_INT(rig->spring[s].collider_count, >, 0);
        }
    }
    CHECK_INT(count_springs(simple, "Ponytail"), ==, 1);
    CHECK_INT(count_springs(simple, "SideLock"), ==, 2);
    CHECK_INT(count_springs(simple, "Skirt"), ==, 10);
    CHECK_INT(simple->spring_count, ==, 13);
    CHECK_INT(count_springs(layered, "Bang"), ==, 7);
    CHECK_INT(count_springs(layered, "FrontLock"), ==, 2);
    CHECK_INT(layered->spring_count - count_springs(layered, "Skirt"), ==, 12);
}

/* As rates, k = 60 stiffness / length and c = -60 ln(1 - drag), the authored values are within what
 * the solver takes as they are: k at most 14,400 1/s2, damping ratio c / (2 sqrt k) at least 0.35.
 */
TEST(samples, avatar_springs_are_damped_enough)
{
    for (int hair = 0; hair < AVATAR_HAIR_COUNT; hair++) {
        const Rig *rig = open_avatar((AvatarHair)hair)->rig;
        for (int s = 0; s < rig->spring_count; s++)
            for (int g = 0; g < rig->spring[s].segment_count; g++) {
                const RigSegment *segment = &rig->spring[s].segment[g];
                double length = (double)vec3_length(segment->tail_offset);
                double k = 60.0 * (double)segment->stiffness / length;
                double c = -60.0 * log(1.0 - (double)segment->drag);
                CHECK(length > 0.02);
                CHECK(k <= 14400.0);
                CHECK(c / (2.0 * sqrt(k)) >= 0.35);
            }
    }
}

/* The nearest point of a sphere's centre or a capsule's axis, in the scene at rest. */
static double collider_distance(const RigCollider *collider, const World *world, DVec3 point)
{
    DVec3 a = world_point(&world[collider->node], collider->offset);
    DVec3 b = collider->kind == COLLIDER_CAPSULE
                  ? world_point(&world[collider->node], collider->tail)
                  : a;
    DVec3 ab = {b.x - a.x, b.y - a.y, b.z - a.z};
    DVec3 ap = {point.x - a.x, point.y - a.y, point.z - a.z};
    double square = ab.x * ab.x + ab.y * ab.y + ab.z * ab.z;
    double t = square > 0.0 ? (ap.x * ab.x + ap.y * ab.y + ap.z * ab.z) / square : 0.0;

    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    double x = ap.x - ab.x * t, y = ap.y - ab.y * t, z = ap.z - ab.z * t;
    return sqrt(x * x + y * y + z * z) - (double)collider->radius;
}

/* Nothing touches a collider at rest, from root to tip: the authored shape is where springs can
 * stay. */
TEST(samples, avatar_springs_are_clear_of_colliders_at_rest)
{
    for (int hair = 0; hair < AVATAR_HAIR_COUNT; hair++) {
        const Rig *rig = open_avatar((AvatarHair)hair)->rig;
        World world[512];
        rig_rest_worlds(rig, world);
        for (int s = 0; s < rig->spring_count; s++) {
            const RigSpring *spring = &rig->spring[s];
            for (int i = 0; i <= 8 * spring->segment_count; i++) {
                int g = i < 8 * spring->segment_count ? i / 8 : spring->segment_count - 1;
                const RigSegment *segment = &spring->segment[g];
                Vec3 along = vec3_scale(segment->tail_offset, (float)(i - 8 * g) / 8.0f);
                DVec3 point = world_point(&world[segment->head], along);
                for (int c = 0; c < spring->collider_count; c++) {
                    const RigCollider *collider = &rig->collider[spring->collider[c]];
                    double gap = collider_distance(collider, world, point);
                    CHECK(gap >= (double)segment->hit_radius);
                }
            }
        }
    }
}

static bool is_in_a_skin(const Rig *rig, int node)
{
    for (int s = 0; s < rig->skin_count; s++)
        for (int j = 0; j < rig->skin[s].joint_count; j++)
            if (rig->skin[s].joint[j] == node)
                return true;
    return false;
}

static const RigNode *find_mesh_node(const Rig *rig, const char *name)
{
    int i = 0;

    while (i < rig->node_count && (rig->node[i].mesh < 0 || strcmp(rig->node[i].name, name) != 0))
        i++;
    CHECK_INT(i, <, rig->node_count);
    return &rig->node[i];
}

TEST(samples, layered_hair_stands_on_a_skin_of_its_own_before_the_bodys)
{
    const Rig *rig = open_avatar(AVATAR_HAIR_LAYERED)->rig;

    CHECK_INT(rig->skin_count, ==, 2);
    CHECK_INT(find_mesh_node(rig, "Hair")->skin, ==, 0);
    CHECK_INT(find_mesh_node(rig, "Body")->skin, ==, 1);
    CHECK_INT(find_mesh_node(rig, "Shirt")->skin, ==, 1);
    for (int s = 0; s < rig->spring_count; s++) {
        const RigSpring *spring = &rig->spring[s];
        int end = spring->segment[spring->segment_count - 1].tail;
        bool is_bang = strncmp(spring->name, "Bang", 4) == 0;
        CHECK(is_in_a_skin(rig, end) == !is_bang);
        for (int g = 0; g < spring->segment_count; g++)
            CHECK(is_in_a_skin(rig, spring->segment[g].head));
    }
    const RigMesh *hair = &rig->mesh[find_mesh_node(rig, "Hair")->mesh];
    int vertices = 0;
    for (int p = 0; p < hair->primitive_count; p++)
        vertices += hair->primitive[p].vertex_count;
    CHECK_NEAR(vertices, 12000, 500);
}

TEST(samples, simple_hair_shares_the_bodys_skin)
{
    const Rig *rig = open_avatar(AVATAR_HAIR_SIMPLE)->rig;

    CHECK_INT(rig->skin_count, ==, 1);
    CHECK_INT(find_mesh_node(rig, "Hair")->skin, ==, 0);
}

TEST(samples, avatar_joints_move_the_vertices_that_name_them)
{
    for (int hair = 0; hair < AVATAR_HAIR_COUNT; hair++) {
        const Rig *rig = open_avatar((AvatarHair)hair)->rig;
        for (int i = 0; i < rig->node_count; i++) {
            if (rig->node[i].mesh < 0)
                continue;
            const RigMesh *mesh = &rig->mesh[rig->node[i].mesh];
            CHECK(rig->node[i].skin >= 0);
            for (int p = 0; p < mesh->primitive_count; p++) {
                const RigPrimitive *primitive = &mesh->primitive[p];
                CHECK_INT(primitive->influence_count, ==, 4);
                CHECK(primitive->normal != NULL);
                for (int v = 0; v < 4 * primitive->vertex_count; v++)
                    CHECK(primitive->joint[v] < rig->skin[rig->node[i].skin].joint_count);
            }
        }
    }
}

TEST(samples, avatar_face_has_expressions)
{
    const Rig *rig = open_avatar(AVATAR_HAIR_SIMPLE)->rig;
    const RigMesh *face = &rig->mesh[find_mesh_node(rig, "Face")->mesh];

    CHECK_INT(face->morph_count, ==, 4);
    CHECK_EQUAL_TEXT(face->morph_name[0], "blinkLeft");
    CHECK_EQUAL_TEXT(face->morph_name[2], "happy");
}
