#include "formats/vrm.h"

#include <string.h>

void vrm_set_role(Gltf *gltf, Rig *rig, HumanoidRole role, int node, const char *name)
{
    if (role == ROLE_COUNT || node < 0) {
        warnings_add(gltf->warnings, "humanoid_bone_ignored",
                     "humanoid bone \"%.100s\" is not known or has no node", name);
        return;
    }
    if (rig->role[role] >= 0) {
        warnings_add(gltf->warnings, "humanoid_bone_twice",
                     "humanoid bone \"%.100s\" is given to nodes %d and %d: the first is used",
                     name, rig->role[role], node);
        return;
    }
    for (int i = 0; i < ROLE_COUNT; i++)
        if (rig->role[i] == node) {
            warnings_add(gltf->warnings, "humanoid_node_twice",
                         "node %d is the humanoid bones \"%s\" and \"%.100s\": the first is used",
                         node, humanoid_role_name((HumanoidRole)i), name);
            return;
        }
    rig->role[role] = node;
    rig->is_humanoid = true;
}

static void read_humanoid(Gltf *gltf, const JsonReader *vrm, Rig *rig)
{
    JsonReader humanoid = json_member(vrm, "humanoid");
    JsonReader bones = json_member(&humanoid, "humanBones");
    JsonReader item;

    if (!json_is_object(&bones))
        return;
    for (bool more = json_first(&bones, &item); more; more = json_next(&item))
        vrm_set_role(gltf, rig, humanoid_role_find(item.key),
                     gltf_find_index(&item, "node", gltf->node_count), item.key);
}

static void warn_of_missing_bones(Gltf *gltf, const Rig *rig)
{
    char list[400] = "";
    int count = 0;

    for (int i = 0; i < ROLE_COUNT; i++) {
        if (rig->role[i] >= 0 || !humanoid_role_is_required((HumanoidRole)i))
            continue;
        if (count++)
            (void)strncat(list, ", ", sizeof list - strlen(list) - 1);
        (void)strncat(list, humanoid_role_name((HumanoidRole)i), sizeof list - strlen(list) - 1);
    }
    if (count)
        warnings_add(gltf->warnings, "humanoid_incomplete",
                     "required humanoid bones are missing: %s", list);
}

void vrm_read(Gltf *gltf, Rig *rig)
{
    GltfExtension vrm1, vrm0, springs, animation;

    for (int i = 0; i < ROLE_COUNT; i++)
        rig->role[i] = -1;
    rig->forward = vec3(0.0f, 0.0f, 1.0f);
    gltf_extension(&gltf->root, "VRMC_vrm", &vrm1);
    gltf_extension(&gltf->root, "VRM", &vrm0);
    gltf_extension(&gltf->root, "VRMC_springBone", &springs);
    gltf_extension(&gltf->root, "VRMC_vrm_animation", &animation);
    if (gltf_failed(gltf))
        return;
    if (json_is_object(&vrm1.value)) {
        rig->format = "vrm1";
        read_humanoid(gltf, &vrm1.value, rig);
        warn_of_missing_bones(gltf, rig);
    } else if (json_is_object(&vrm0.value)) {
        rig->format = "vrm0";
        vrm0_read(gltf, &vrm0.value, rig);
        warn_of_missing_bones(gltf, rig);
    } else if (json_is_object(&animation.value)) {
        rig->format = "vrma";
        read_humanoid(gltf, &animation.value, rig);
    }
    if (!gltf_failed(gltf) && json_is_object(&springs.value) && !rig->spring_count)
        vrm_read_springs(gltf, &springs.value, rig);
    if (!gltf_failed(gltf))
        vrm_read_constraints(gltf, rig);
}
