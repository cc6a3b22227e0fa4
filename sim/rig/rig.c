#include "sim/rig.h"

#include <string.h>

int rig_find_node(const Rig *rig, const char *key)
{
    for (int i = 0; i < rig->node_count; i++)
        if (strcmp(rig->node[i].key, key) == 0)
            return i;
    return -1;
}

int rig_find_mesh(const Rig *rig, const char *key)
{
    for (int i = 0; i < rig->mesh_count; i++)
        if (strcmp(rig->mesh[i].key, key) == 0)
            return i;
    return -1;
}

int rig_find_clip(const Rig *rig, const char *key)
{
    for (int i = 0; i < rig->clip_count; i++)
        if (strcmp(rig->clip[i].key, key) == 0)
            return i;
    return -1;
}

int rig_find_spring(const Rig *rig, const char *key)
{
    for (int i = 0; i < rig->spring_count; i++)
        if (strcmp(rig->spring[i].key, key) == 0)
            return i;
    return -1;
}

void rig_rest_worlds(const Rig *rig, World *out)
{
    const World scene = world_identity();

    for (int i = 0; i < rig->node_count; i++) {
        int node = rig->order[i];
        int parent = rig->node[node].parent;

        out[node] = world_child(parent < 0 ? &scene : &out[parent], &rig->node[node].rest);
    }
}

int rig_depth(const Rig *rig, int node)
{
    int depth = 0;

    for (; node >= 0; node = rig->node[node].parent)
        depth++;
    return depth;
}

int rig_common_ancestor(const Rig *rig, int a, int b)
{
    int depth_a = rig_depth(rig, a), depth_b = rig_depth(rig, b);

    while (a != b) {
        if (depth_a >= depth_b) {
            a = rig->node[a].parent;
            depth_a--;
        } else {
            b = rig->node[b].parent;
            depth_b--;
        }
    }
    return a;
}
