#include "formats/node.h"
#include "formats/springs.h"
#include "formats/vrm.h"
#include "formats/vrm_collider.h"

#include <string.h>

/* Parameters of a joint with the defaults of VRMC_springBone 1.0. */
static JointParameters read_parameters(Gltf *gltf, const JsonReader *joint)
{
    return (JointParameters){
        .stiffness = gltf_float_or(joint, "stiffness", 1.0f),
        .drag = gltf_float_or(joint, "dragForce", 0.5f),
        .gravity_power = gltf_float_or(joint, "gravityPower", 0.0f),
        .hit_radius = gltf_float_or(joint, "hitRadius", 0.0f),
        .gravity_dir = gltf_vec3_or(gltf, joint, "gravityDir", vec3(0.0f, -1.0f, 0.0f)),
    };
}

static void refuse(Springs *springs, RigSpring *spring, const char *reason)
{
    Gltf *gltf = springs->gltf;

    for (int i = 0; i < spring->segment_count; i++)
        springs_release(springs, spring->segment[i].head, spring->segment[i].tail);
    spring->segment_count = 0;
    spring->refusal = reason;
    if (!reason) {
        gltf_fail(gltf, STATUS_NO_MEMORY, "no room for the reasons of springs");
        return;
    }
    warnings_add(gltf->warnings, "spring_refused", "spring %d \"%.100s\" is not simulated: %s",
                 (int)(spring - springs->spring), spring->name, reason);
}

/* A node that two springs list is prohibited: the first keeps it, the second ends above it. */
static void end_at_shared_node(Springs *springs, RigSpring *spring, int shared)
{
    Gltf *gltf = springs->gltf;
    const RigNode *node = &gltf->node[shared];
    const RigSpring *owner = &springs->spring[springs->driver[shared] - 1];

    if (spring->segment_count)
        warnings_add(gltf->warnings, "spring_shortened",
                     "spring %d \"%.100s\" ends after %d segments: node %d \"%.100s\" belongs to "
                     "spring %d already",
                     (int)(spring - springs->spring), spring->name, spring->segment_count, shared,
                     node->name, (int)(owner - springs->spring));
    else
        refuse(springs, spring,
               arena_format(gltf->arena, "node %d \"%.100s\" belongs to spring %d already", shared,
                            node->name, (int)(owner - springs->spring)));
}

/* Add the pair (head, tail). False when the spring ends here. */
static bool add_segment(Springs *springs, RigSpring *spring, RigSegment *segment, int head,
                        int tail, const JsonReader *joint)
{
    Gltf *gltf = springs->gltf;

    if (!gltf_is_below(gltf, tail, head)) {
        refuse(springs, spring,
               arena_format(gltf->arena,
                            "joint \"%.100s\" is not below \"%.100s\", the one before it",
                            gltf->node[tail].name, gltf->node[head].name));
        return false;
    }
    int shared = springs_claim(springs, (int)(spring - springs->spring), head, tail);
    if (shared >= 0) {
        end_at_shared_node(springs, spring, shared);
        return false;
    }
    JointParameters parameters = read_parameters(gltf, joint);
    segment[spring->segment_count++] = springs_segment(springs, head, tail, &parameters);
    return true;
}

/* Pairs of neighbours in the list; the last entry only ends the chain. */
static void read_joints(Springs *springs, const JsonReader *list, int count, RigSpring *spring)
{
    Gltf *gltf = springs->gltf;
    RigSegment *segment = gltf_array(gltf, RigSegment, count ? count - 1 : 0);
    JsonReader joint, before = {0};
    int head = -1;

    spring->segment = segment;
    if (gltf_failed(gltf))
        return;
    bool more = json_first(list, &joint);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&joint)) {
        int node = gltf_find_index(&joint, "node", gltf->node_count);
        if (node < 0) {
            refuse(springs, spring,
                   arena_format(gltf->arena, "joint %d is a node that does not exist", i));
            return;
        }
        if (i > 0 && !add_segment(springs, spring, segment, head, node, &before))
            return;
        head = node;
        before = joint;
    }
}

static void read_center(Springs *springs, const JsonReader *object, RigSpring *spring, int root)
{
    Gltf *gltf = springs->gltf;
    JsonReader center = json_member(object, "center");

    spring->center = -1;
    if (json_is_absent(&center))
        return;
    spring->center = gltf_find_index(object, "center", gltf->node_count);
    if (spring->center < 0)
        warnings_add(gltf->warnings, "spring_center",
                     "spring %d \"%.100s\": its center is a node that does not exist: it has none",
                     (int)(spring - springs->spring), spring->name);
    else if (root >= 0 && gltf_is_below(gltf, spring->center, root)) {
        warnings_add(gltf->warnings, "spring_center",
                     "spring %d \"%.100s\": its center \"%.100s\" is below its first joint: it has "
                     "none",
                     (int)(spring - springs->spring), spring->name,
                     gltf->node[spring->center].name);
        spring->center = -1;
    } else if (root >= 0 && spring->center != root && !gltf_is_below(gltf, root, spring->center))
        warnings_add(gltf->warnings, "spring_center",
                     "spring %d \"%.100s\": its center \"%.100s\" is not above its first joint: it "
                     "is used all the same",
                     (int)(spring - springs->spring), spring->name,
                     gltf->node[spring->center].name);
}

static void read_spring(Springs *springs, const JsonReader *object, RigSpring *spring)
{
    Gltf *gltf = springs->gltf;
    int count;
    JsonReader first, list = gltf_list(gltf, object, "joints", GLTF_MAX_SPRING_JOINTS,
                                       "joints of a spring", &count);

    *spring = (RigSpring){.name = gltf_name(gltf, object), .center = -1, .has_parameters = true};
    if (gltf_failed(gltf) || !springs_count_joints(springs, count))
        return;
    int root = json_first(&list, &first) ? gltf_find_index(&first, "node", gltf->node_count) : -1;
    read_center(springs, object, spring, root);
    springs_read_collider_list(springs, object, "colliderGroups", spring);
    if (!gltf_failed(gltf))
        read_joints(springs, &list, count, spring);
}

/* An extension of joints that nobody published: said once. */
static void warn_of_angle_limits(Gltf *gltf, const JsonReader *spring)
{
    JsonReader joint, list = json_member(spring, "joints");

    for (bool more = json_first(&list, &joint); more; more = json_next(&joint)) {
        GltfExtension extended;
        gltf_extension(&joint, "VRMC_springBone_extended_collider", &extended);
        if (json_is_absent(&extended.value))
            continue;
        warnings_add(gltf->warnings, "spring_extension",
                     "joints of springs carry VRMC_springBone_extended_collider (angle limits?), "
                     "which no specification gives them: it is ignored");
        return;
    }
}

void vrm_read_springs(Gltf *gltf, const JsonReader *extension, Rig *rig)
{
    Springs springs = {.gltf = gltf, .rig = rig};
    int spring_count, collider_count;
    JsonReader item;
    JsonReader list =
        gltf_list(gltf, extension, "springs", GLTF_MAX_SPRINGS, "springs", &spring_count);

    (void)gltf_list(gltf, extension, "colliders", GLTF_MAX_ITEMS, "colliders", &collider_count);
    if (gltf_failed(gltf) || !springs_open(&springs, spring_count, collider_count))
        return;
    vrm_read_colliders(&springs, extension, collider_count);
    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item)) {
        read_spring(&springs, &item, &springs.spring[i]);
        rig->spring_count = i + 1;
        if (i == 0)
            warn_of_angle_limits(gltf, &item);
    }
}
