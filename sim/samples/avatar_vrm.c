#include "samples/avatar_parts.h"
#include "samples/avatar_write.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* A collider: offsets in the scene at rest, which the joint's place is taken from. */
typedef struct ColliderDesc {
    int joint;
    AvatarGroup group;
    bool is_capsule;
    Vec3 a, b; /* centre; ends of a capsule */
    float radius;
} ColliderDesc;

static const ColliderDesc collider_desc[] = {
    {JOINT_HEAD, GROUP_HEAD, false, {0.0f, 1.500f, -0.010f}, {0.0f, 0.0f, 0.0f}, 0.082f},
    {JOINT_HEAD, GROUP_HEAD, false, {0.0f, 1.428f, 0.026f}, {0.0f, 0.0f, 0.0f}, 0.056f},
    {JOINT_NECK, GROUP_HEAD, true, {0.0f, 1.31f, -0.018f}, {0.0f, 1.40f, -0.010f}, 0.040f},
    {JOINT_UPPER_CHEST, GROUP_TORSO, true, {0.046f, 1.205f, 0.0f}, {-0.046f, 1.205f, 0.0f}, 0.090f},
    {JOINT_UPPER_CHEST,
     GROUP_TORSO,
     true,
     {0.10f, 1.272f, -0.013f},
     {-0.10f, 1.272f, -0.013f},
     0.050f},
    {JOINT_CHEST, GROUP_TORSO, true, {0.035f, 1.11f, -0.002f}, {-0.035f, 1.11f, -0.002f}, 0.078f},
    {JOINT_SPINE, GROUP_TORSO, true, {0.03f, 1.01f, -0.006f}, {-0.03f, 1.01f, -0.006f}, 0.075f},
    {JOINT_HIPS, GROUP_LEGS, true, {0.045f, 0.88f, -0.008f}, {-0.045f, 0.88f, -0.008f}, 0.090f},
};

/* Of the left limbs; the right ones are their mirror images. */
static const ColliderDesc limb_desc[] = {
    {JOINT_UPPER_ARM, GROUP_ARMS, true, {0.15f, 1.268f, -0.012f}, {0.36f, 1.268f, -0.014f}, 0.044f},
    {JOINT_LOWER_ARM, GROUP_ARMS, true, {0.39f, 1.268f, -0.013f}, {0.58f, 1.268f, -0.010f}, 0.030f},
    {JOINT_HAND, GROUP_ARMS, false, {0.655f, 1.268f, -0.010f}, {0.0f, 0.0f, 0.0f}, 0.042f},
    {JOINT_UPPER_LEG, GROUP_LEGS, true, {0.076f, 0.80f, 0.0f}, {0.075f, 0.50f, 0.004f}, 0.070f},
    {JOINT_LOWER_LEG, GROUP_LEGS, true, {0.075f, 0.44f, -0.002f}, {0.076f, 0.20f, -0.022f}, 0.048f},
};

enum { MAX_COLLIDERS = 32 };

/* All colliders, limbs of both sides; returns how many. */
static int list_colliders(const AvatarRig *rig, ColliderDesc *out)
{
    int count = 0;

    for (int i = 0; i < COUNT(collider_desc); i++)
        out[count++] = collider_desc[i];
    for (int i = 0; i < COUNT(limb_desc); i++) {
        ColliderDesc right = limb_desc[i];
        right.joint = rig->mirror[right.joint];
        right.a.x = -right.a.x;
        right.b.x = -right.b.x;
        out[count++] = limb_desc[i];
        out[count++] = right;
    }
    return count;
}

static void write_point(JsonWriter *out, const char *key, Vec3 p)
{
    json_write_floats(out, key, (const float[3]){p.x, p.y, p.z}, 3);
}

static void write_collider(const AvatarRig *rig, const ColliderDesc *desc, JsonWriter *out)
{
    Vec3 origin = rig->node[desc->joint].position;

    json_begin_object(out, NULL);
    json_write_int(out, "node", desc->joint);
    json_begin_object(out, "shape");
    json_begin_object(out, desc->is_capsule ? "capsule" : "sphere");
    write_point(out, "offset", vec3_sub(desc->a, origin));
    json_write_float(out, "radius", desc->radius);
    if (desc->is_capsule)
        write_point(out, "tail", vec3_sub(desc->b, origin));
    json_end_object(out);
    json_end_object(out);
    json_end_object(out);
}

static const struct GroupName {
    AvatarGroup group;
    const char *name;
} group_name[] = {
    {GROUP_HEAD, "Head"}, {GROUP_TORSO, "Torso"}, {GROUP_ARMS, "Arms"}, {GROUP_LEGS, "Legs"}};

static void write_groups(const ColliderDesc *desc, int count, JsonWriter *out)
{
    json_begin_array(out, "colliderGroups");
    for (int g = 0; g < COUNT(group_name); g++) {
        json_begin_object(out, NULL);
        json_write_text(out, "name", group_name[g].name);
        json_begin_array(out, "colliders");
        for (int i = 0; i < count; i++)
            if (desc[i].group == group_name[g].group)
                json_write_int(out, NULL, i);
        json_end_array(out);
        json_end_object(out);
    }
    json_end_array(out);
}

static void write_spring(const AvatarChain *chain, JsonWriter *out)
{
    const ChainDesc *desc = &chain->desc;
    size_t length = 0;
    char name[32];

    // the name without what parts it from a joint's number
    while (desc->name[length] && desc->name[length] != '_' && length + 1 < sizeof name) {
        name[length] = desc->name[length];
        length++;
    }
    name[length] = '\0';
    json_begin_object(out, NULL);
    json_write_text(out, "name", name);
    json_begin_array(out, "joints");
    for (int i = 0; i < desc->point_count; i++) {
        json_begin_object(out, NULL);
        json_write_int(out, "node", chain->first + i);
        json_write_float(out, "hitRadius", desc->hit_radius);
        json_write_float(out, "stiffness", desc->stiffness);
        json_write_float(out, "gravityPower", desc->gravity_power);
        write_point(out, "gravityDir", vec3(0.0f, -1.0f, 0.0f));
        json_write_float(out, "dragForce", desc->drag);
        json_end_object(out);
    }
    json_end_array(out);
    json_begin_array(out, "colliderGroups");
    for (int g = 0; g < COUNT(group_name); g++)
        if (desc->groups & (unsigned)group_name[g].group)
            json_write_int(out, NULL, g);
    json_end_array(out);
    json_end_object(out);
}

void avatar_write_springs(const AvatarRig *rig, JsonWriter *out)
{
    ColliderDesc desc[MAX_COLLIDERS];
    int count = list_colliders(rig, desc);

    json_begin_object(out, NULL);
    json_write_text(out, "specVersion", "1.0");
    json_begin_array(out, "colliders");
    for (int i = 0; i < count; i++)
        write_collider(rig, &desc[i], out);
    json_end_array(out);
    write_groups(desc, count, out);
    json_begin_array(out, "springs");
    for (int i = 0; i < rig->chain_count; i++)
        write_spring(&rig->chain[i], out);
    json_end_array(out);
    json_end_object(out);
}

static void write_meta(JsonWriter *out)
{
    json_begin_object(out, "meta");
    json_write_text(out, "name", "Bakehouse sample avatar");
    json_write_text(out, "version", "1");
    json_begin_array(out, "authors");
    json_write_text(out, NULL, "Bakehouse");
    json_end_array(out);
    json_write_text(out, "licenseUrl", "https://vrm.dev/licenses/1.0/");
    json_write_text(out, "avatarPermission", "everyone");
    json_write_text(out, "commercialUsage", "corporation");
    json_write_text(out, "creditNotation", "unnecessary");
    json_write_bool(out, "allowRedistribution", true);
    json_write_text(out, "modification", "allowModificationRedistribution");
    json_end_object(out);
}

static void write_expression(JsonWriter *out, const char *name, int face, const int *morph,
                             int count)
{
    json_begin_object(out, name);
    // a smile narrows the eyes itself
    if (morph[0] == MORPH_HAPPY)
        json_write_text(out, "overrideBlink", "blend");
    json_begin_array(out, "morphTargetBinds");
    for (int i = 0; i < count; i++) {
        json_begin_object(out, NULL);
        json_write_int(out, "node", face);
        json_write_int(out, "index", morph[i]);
        json_write_float(out, "weight", 1.0f);
        json_end_object(out);
    }
    json_end_array(out);
    json_end_object(out);
}

void avatar_write_vrm(const AvatarRig *rig, int face, JsonWriter *out)
{
    const int morph[] = {MORPH_BLINK_LEFT, MORPH_BLINK_RIGHT, MORPH_HAPPY, MORPH_AA};

    json_begin_object(out, NULL);
    json_write_text(out, "specVersion", "1.0");
    write_meta(out);
    json_begin_object(out, "humanoid");
    json_begin_object(out, "humanBones");
    for (int i = 0; i < JOINT_HUMANOID_COUNT; i++) {
        if (!rig->node[i].role)
            continue;
        json_begin_object(out, rig->node[i].role);
        json_write_int(out, "node", i);
        json_end_object(out);
    }
    json_end_object(out);
    json_end_object(out);
    json_begin_object(out, "expressions");
    json_begin_object(out, "preset");
    write_expression(out, "happy", face, &morph[2], 1);
    write_expression(out, "aa", face, &morph[3], 1);
    write_expression(out, "blink", face, &morph[0], 2);
    write_expression(out, "blinkLeft", face, &morph[0], 1);
    write_expression(out, "blinkRight", face, &morph[1], 1);
    json_end_object(out);
    json_end_object(out);
    json_end_object(out);
}
