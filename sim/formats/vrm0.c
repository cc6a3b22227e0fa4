#include "formats/springs.h"
#include "formats/vrm.h"

#include <string.h>

/* A {x, y, z} object; VRM 0.x has no arrays for vectors. */
static Vec3 read_vector(const JsonReader *object, const char *key, Vec3 otherwise)
{
    JsonReader v = json_member(object, key);

    if (json_is_absent(&v))
        return otherwise;
    return vec3(gltf_float_or(&v, "x", 0.0f), gltf_float_or(&v, "y", 0.0f),
                gltf_float_or(&v, "z", 0.0f));
}

/* --- humanoid --- */

/* VRM 0.x counts a thumb's bones proximal, intermediate, distal; 1.0 metacarpal, proximal, distal.
 */
static HumanoidRole find_role(const char *name)
{
    static const struct {
        const char *name;
        HumanoidRole role;
    } thumbs[] = {{"leftThumbProximal", ROLE_LEFT_THUMB_METACARPAL},
                  {"leftThumbIntermediate", ROLE_LEFT_THUMB_PROXIMAL},
                  {"rightThumbProximal", ROLE_RIGHT_THUMB_METACARPAL},
                  {"rightThumbIntermediate", ROLE_RIGHT_THUMB_PROXIMAL}};

    for (size_t i = 0; i < sizeof thumbs / sizeof thumbs[0]; i++)
        if (strcmp(name, thumbs[i].name) == 0)
            return thumbs[i].role;
    return humanoid_role_find(name);
}

static void read_humanoid(Gltf *gltf, const JsonReader *vrm, Rig *rig)
{
    JsonReader humanoid = json_member(vrm, "humanoid");
    JsonReader item;
    int count;
    JsonReader list =
        gltf_list(gltf, &humanoid, "humanBones", GLTF_MAX_ITEMS, "humanoid bones", &count);

    for (bool more = count && json_first(&list, &item); more && !gltf_failed(gltf);
         more = json_next(&item)) {
        JsonReader bone = json_member(&item, "bone");
        const char *name = json_is_text(&bone) ? json_as_text(&bone, 1 << 20) : "";
        // some exporters write bones that the character lacks as -1
        JsonReader node = json_member(&item, "node");
        if (json_is_number(&node) && json_as_number(&node, -1e300, 1e300) == -1.0)
            continue;
        vrm_set_role(gltf, rig, find_role(name), gltf_find_index(&item, "node", gltf->node_count),
                     name);
    }
}

/* --- colliders: spheres in groups, their offsets left-handed --- */

static int count_colliders(const JsonReader *groups)
{
    JsonReader item;
    int64_t count = 0;

    for (bool more = json_first(groups, &item); more; more = json_next(&item)) {
        JsonReader colliders = json_member(&item, "colliders");
        count += json_count(&colliders);
    }
    return count < INT32_MAX ? (int)count : INT32_MAX;
}

static void read_group(Springs *springs, const JsonReader *object, int index)
{
    Gltf *gltf = springs->gltf;
    ColliderGroups *groups = &springs->groups;
    int node = gltf_find_index(object, "node", gltf->node_count);
    JsonReader item, list = json_member(object, "colliders");

    groups->first[index + 1] = groups->first[index];
    if (node < 0) {
        warnings_add(gltf->warnings, "collider_node",
                     "collider group %d is on a node that does not exist: it is left out", index);
        return;
    }
    for (bool more = json_first(&list, &item); more; more = json_next(&item)) {
        Vec3 offset = read_vector(&item, "offset", vec3(0.0f, 0.0f, 0.0f));
        float radius = gltf_float_or(&item, "radius", 0.0f);
        int place = groups->first[index + 1]++;
        offset.z = -offset.z;
        springs->collider[place] =
            (RigCollider){.node = node,
                          .key = gltf_key(gltf, "", "collider", place),
                          .kind = COLLIDER_SPHERE,
                          .offset = gltf_point(gltf, offset),
                          .radius = gltf_length(gltf, radius > 0.0f ? radius : 0.0f)};
        groups->item[place] = place;
    }
}

static void read_groups(Springs *springs, const JsonReader *list, int collider_count)
{
    Gltf *gltf = springs->gltf;
    ColliderGroups *groups = &springs->groups;
    JsonReader item;

    groups->first = gltf_scratch(gltf, int, groups->count + 1);
    groups->item = gltf_scratch(gltf, int, collider_count);
    if (gltf_failed(gltf) || !groups->count)
        return;
    bool more = json_first(list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item))
        read_group(springs, &item, i);
    springs->rig->collider_count = groups->first[groups->count];
}

/* --- chains --- */

/* One bone group: its parameters hold for all chains below its roots. */
typedef struct Group {
    Springs *springs;
    JointParameters parameters;
    int index;
    int center;
    int collider_count;
    const int *collider;
    int shared_count; /* bones that an earlier chain has already */
} Group;

/* A leaf's tail is 7 cm on from it, in the direction from its parent; its own rotation at rest is
 * taken out, for the offset is in its own space. */
static Vec3 leaf_offset(const Gltf *gltf, int node)
{
    const Transform *rest = &gltf->node[node].rest;
    Vec3 along = vec3_normalize_or(rest->translation, vec3(0.0f, 0.0f, 0.0f));
    Vec3 own = quat_rotate(quat_conjugate(rest->rotation), along);

    return vec3_scale(own, gltf_length(gltf, 0.07f));
}

/* The chain from `root` along first children to a leaf. Further children begin chains of their own.
 */
static void add_chain(Group *group, int root)
{
    Springs *springs = group->springs;
    Gltf *gltf = springs->gltf;
    int count = 0;

    for (int i = root; i >= 0 && !springs->driver[i]; i = gltf->tree.first_child[i])
        count++;
    if (springs->rig->spring_count == GLTF_MAX_SPRINGS) {
        gltf_fail(gltf, STATUS_LIMIT, "the springs make more than %d chains", GLTF_MAX_SPRINGS);
        return;
    }
    springs->reference_count += group->collider_count;
    if (springs->reference_count > 2 * GLTF_MAX_COLLIDER_REFERENCES) {
        gltf_fail(gltf, STATUS_LIMIT, "the springs have more than %d collider references",
                  GLTF_MAX_COLLIDER_REFERENCES);
        return;
    }
    RigSegment *segment = gltf_array(gltf, RigSegment, count);
    if (!segment || !springs_count_joints(springs, count))
        return;
    int index = springs->rig->spring_count++;
    int node = root;
    for (int i = 0; i < count; i++, node = gltf->tree.first_child[node]) {
        int tail = gltf->tree.first_child[node];
        (void)springs_claim(springs, index, node, -1);
        segment[i] = springs_segment(springs, node, tail, &group->parameters);
        if (tail < 0)
            segment[i].tail_offset = leaf_offset(gltf, node);
    }
    springs->spring[index] = (RigSpring){.name = gltf->node[root].name,
                                         .center = group->center,
                                         .has_parameters = true,
                                         .segment_count = count,
                                         .segment = segment,
                                         .collider_count = group->collider_count,
                                         .collider = group->collider};
}

/* Chains of the whole tree below a root of the group, parents first, in file order. */
static void add_tree(Group *group, int root)
{
    Springs *springs = group->springs;
    const Gltf *gltf = springs->gltf;
    const GltfTree *tree = &gltf->tree;
    int node = root;

    // where the root moves already, so does all that hangs on it
    if (springs->driver[root]) {
        group->shared_count++;
        return;
    }
    for (;;) {
        if (!springs->driver[node])
            add_chain(group, node);
        if (gltf->err->status || springs->driver[node] == 0)
            return;
        if (tree->first_child[node] >= 0) {
            node = tree->first_child[node];
            continue;
        }
        while (node != root && tree->next_sibling[node] < 0)
            node = gltf->node[node].parent;
        if (node == root)
            return;
        node = tree->next_sibling[node];
    }
}

static void read_center(Group *group, const JsonReader *object)
{
    Gltf *gltf = group->springs->gltf;
    double center = json_number_or(object, "center", -1.0, -1e300, 1e300);

    group->center = gltf_find_index(object, "center", gltf->node_count);
    if (group->center < 0 && center != -1.0)
        warnings_add(gltf->warnings, "spring_center",
                     "bone group %d: its center is a node that does not exist: it has none",
                     group->index);
}

/* The defaults are those of the reference implementation's component, for the schema has none. */
static JointParameters read_parameters(const JsonReader *object)
{
    return (JointParameters){
        .stiffness = gltf_float_or(object, "stiffiness", 1.0f),
        .drag = gltf_float_or(object, "dragForce", 0.4f),
        .gravity_power = gltf_float_or(object, "gravityPower", 0.0f),
        .hit_radius = gltf_float_or(object, "hitRadius", 0.02f),
        .gravity_dir = read_vector(object, "gravityDir", vec3(0.0f, -1.0f, 0.0f)),
    };
}

static void read_bone_group(Springs *springs, const JsonReader *object, int index)
{
    Gltf *gltf = springs->gltf;
    Group group = {.springs = springs, .index = index, .parameters = read_parameters(object)};
    RigSpring lists = {.name = ""};
    int count;
    JsonReader item,
        list = gltf_list(gltf, object, "bones", GLTF_MAX_SPRINGS, "roots of a bone group", &count);

    read_center(&group, object);
    springs_read_collider_list(springs, object, "colliderGroups", &lists);
    group.collider = lists.collider;
    group.collider_count = lists.collider_count;
    for (bool more = count && json_first(&list, &item); more && !gltf_failed(gltf);
         more = json_next(&item)) {
        double root = json_is_number(&item) ? json_as_number(&item, -1e300, 1e300) : -1.0;
        if (root >= 0.0 && root < (double)gltf->node_count)
            add_tree(&group, (int)root);
        else
            warnings_add(gltf->warnings, "spring_bone_missing",
                         "bone group %d has root %g, which is no node", index, root);
    }
    if (group.shared_count)
        warnings_add(gltf->warnings, "spring_shared",
                     "bone group %d has %d roots that an earlier chain moves already", index,
                     group.shared_count);
}

static void read_secondary_animation(Gltf *gltf, const JsonReader *vrm, Rig *rig)
{
    Springs springs = {.gltf = gltf, .rig = rig};
    JsonReader secondary = json_member(vrm, "secondaryAnimation");
    JsonReader item;
    int group_count;
    JsonReader groups = gltf_list(gltf, &secondary, "colliderGroups", GLTF_MAX_ITEMS,
                                  "collider groups", &springs.groups.count);
    JsonReader list =
        gltf_list(gltf, &secondary, "boneGroups", GLTF_MAX_SPRINGS, "bone groups", &group_count);
    int collider_count = count_colliders(&groups);

    if (collider_count > GLTF_MAX_ITEMS)
        gltf_fail(gltf, STATUS_LIMIT, "the file has %d colliders, the limit is %d", collider_count,
                  GLTF_MAX_ITEMS);
    if (gltf_failed(gltf) || !springs_open(&springs, GLTF_MAX_SPRINGS, collider_count))
        return;
    read_groups(&springs, &groups, collider_count);
    bool more = group_count && json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item))
        read_bone_group(&springs, &item, i);
}

void vrm0_read(Gltf *gltf, const JsonReader *vrm, Rig *rig)
{
    rig->forward = vec3(0.0f, 0.0f, -1.0f);
    read_humanoid(gltf, vrm, rig);
    if (!gltf_failed(gltf))
        read_secondary_animation(gltf, vrm, rig);
}
