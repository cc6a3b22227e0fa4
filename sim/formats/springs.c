#include "formats/springs.h"

#include "formats/node.h"

bool springs_open(Springs *springs, int spring_count, int collider_count)
{
    Gltf *gltf = springs->gltf;

    springs->spring = gltf_array(gltf, RigSpring, spring_count);
    springs->collider = gltf_array(gltf, RigCollider, collider_count);
    springs->driver = gltf_scratch(gltf, int, gltf->node_count);
    springs->stamp = gltf_scratch(gltf, int, collider_count);
    springs->rig->spring = springs->spring;
    springs->rig->collider = springs->collider;
    return !gltf_failed(gltf);
}

bool springs_count_joints(Springs *springs, int count)
{
    springs->joint_count += count;
    if (springs->joint_count <= GLTF_MAX_SPRING_JOINTS)
        return true;
    gltf_fail(springs->gltf, STATUS_LIMIT, "the springs have more than %d joints",
              GLTF_MAX_SPRING_JOINTS);
    return false;
}

/* Drag within 0..1, nothing negative, a direction of unit length whose size goes into the power. */
static JointParameters mend(Springs *springs, int head, const JointParameters *given)
{
    JointParameters joint = *given;
    float length = vec3_length(joint.gravity_dir);

    joint.drag = joint.drag < 0.0f ? 0.0f : joint.drag > 1.0f ? 1.0f : joint.drag;
    joint.stiffness = joint.stiffness < 0.0f ? 0.0f : joint.stiffness;
    joint.hit_radius = joint.hit_radius < 0.0f ? 0.0f : joint.hit_radius;
    if (joint.drag != given->drag || joint.stiffness != given->stiffness ||
        joint.hit_radius != given->hit_radius)
        warnings_add(springs->gltf->warnings, "spring_parameter",
                     "spring joint \"%.100s\" has stiffness %g, drag %g, radius %g: they are "
                     "brought into range",
                     springs->gltf->node[head].name, (double)given->stiffness, (double)given->drag,
                     (double)given->hit_radius);
    if (fabsf(length - 1.0f) > 1e-4f && length > 0.0f) {
        if (joint.gravity_power != 0.0f)
            warnings_add(springs->gltf->warnings, "spring_gravity",
                         "spring joint \"%.100s\" has a gravity direction of length %g: its power "
                         "is multiplied by that",
                         springs->gltf->node[head].name, (double)length);
        joint.gravity_power *= length;
    }
    joint.gravity_dir = vec3_normalize_or(joint.gravity_dir, vec3(0.0f, 0.0f, 0.0f));
    return joint;
}

RigSegment springs_segment(Springs *springs, int head, int tail, const JointParameters *given)
{
    const Gltf *gltf = springs->gltf;
    JointParameters joint = mend(springs, head, given);

    return (RigSegment){.head = head,
                        .tail = tail,
                        .tail_offset =
                            tail < 0 ? vec3(0.0f, 0.0f, 0.0f) : gltf_rest_offset(gltf, tail, head),
                        .stiffness = joint.stiffness,
                        .drag = joint.drag,
                        .gravity_power = joint.gravity_power,
                        .gravity_dir = gltf_direction(gltf, joint.gravity_dir),
                        .hit_radius = gltf_length(gltf, joint.hit_radius)};
}

int springs_claim(Springs *springs, int index, int head, int tail)
{
    const RigNode *node = springs->gltf->node;

    if (springs->driver[head])
        return head;
    for (int i = tail < 0 ? head : node[tail].parent; i != head; i = node[i].parent)
        if (springs->driver[i])
            return i;
    for (int i = tail < 0 ? head : node[tail].parent; i != head; i = node[i].parent)
        springs->driver[i] = index + 1;
    springs->driver[head] = index + 1;
    return -1;
}

void springs_release(Springs *springs, int head, int tail)
{
    const RigNode *node = springs->gltf->node;

    for (int i = tail < 0 ? head : node[tail].parent; i != head; i = node[i].parent)
        springs->driver[i] = 0;
    springs->driver[head] = 0;
}

/* Walk the listed groups; `out` NULL only counts. Each collider comes once. */
static int walk_groups(Springs *springs, const JsonReader *list, int *out)
{
    const ColliderGroups *groups = &springs->groups;
    int count = 0, stamp = ++springs->list_count;
    JsonReader item;

    for (bool more = json_first(list, &item); more; more = json_next(&item)) {
        double value = json_is_number(&item) ? json_as_number(&item, -1e300, 1e300) : -1.0;
        if (!(value >= 0.0 && value < (double)groups->count))
            continue;
        int group = (int)value;
        springs->reference_count += groups->first[group + 1] - groups->first[group] + 1;
        if (springs->reference_count > 2 * GLTF_MAX_COLLIDER_REFERENCES)
            return 0;
        for (int i = groups->first[group]; i < groups->first[group + 1]; i++) {
            int collider = groups->item[i];
            if (springs->stamp[collider] == stamp)
                continue;
            springs->stamp[collider] = stamp;
            if (out)
                out[count] = collider;
            count++;
        }
    }
    return count;
}

static void warn_of_missing_groups(Springs *springs, const JsonReader *list,
                                   const RigSpring *spring)
{
    JsonReader item;

    for (bool more = json_first(list, &item); more; more = json_next(&item)) {
        double value = json_is_number(&item) ? json_as_number(&item, -1e300, 1e300) : -1.0;
        if (!(value >= 0.0 && value < (double)springs->groups.count))
            warnings_add(springs->gltf->warnings, "collider_group_missing",
                         "spring %d \"%.100s\" names collider group %g of %d: it is left out",
                         (int)(spring - springs->spring), spring->name, value,
                         springs->groups.count);
    }
}

void springs_read_collider_list(Springs *springs, const JsonReader *object, const char *key,
                                RigSpring *spring)
{
    Gltf *gltf = springs->gltf;
    JsonReader list = json_member(object, key);

    if (!json_is_array(&list))
        return;
    warn_of_missing_groups(springs, &list, spring);
    int count = walk_groups(springs, &list, NULL);
    int *collider = gltf_array(gltf, int, count);
    if (collider && count)
        (void)walk_groups(springs, &list, collider);
    if (springs->reference_count > 2 * GLTF_MAX_COLLIDER_REFERENCES) {
        gltf_fail(gltf, STATUS_LIMIT, "the springs have more than %d collider references",
                  GLTF_MAX_COLLIDER_REFERENCES);
        return;
    }
    spring->collider = collider;
    spring->collider_count = count;
}
