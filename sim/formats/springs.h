/* Springs: what the readers of VRM 0.x and 1.0 spring bones share while they fill the rig: collider
 * groups, which chain rotates which node, and the making of segments. Tables are in scratch. */
#pragma once

#include "formats/gltf.h"

/* Collider groups: group g holds item[first[g]] .. item[first[g + 1] - 1]. */
typedef struct ColliderGroups {
    int count;
    int *first; /* (count + 1) */
    int *item;  /* indices of the rig's colliders */
} ColliderGroups;

typedef struct Springs {
    Gltf *gltf;
    Rig *rig;
    RigSpring *spring;
    RigCollider *collider;
    ColliderGroups groups;
    int *driver;             /* the spring (plus one) that rotates each node, 0 for none */
    int *stamp;              /* the last list (plus one) that had each collider */
    int list_count;          /* collider lists made so far */
    int joint_count;         /* over all springs */
    int64_t reference_count; /* collider references looked at so far */
} Springs;

/* Parameters of a joint as the file gives them; made valid, with a warning, by spring_parameters.
 */
typedef struct JointParameters {
    float stiffness, drag, gravity_power, hit_radius;
    Vec3 gravity_dir; /* file space */
} JointParameters;

/* Tables for the nodes and for `spring_count` springs, `collider_count` colliders at most. */
bool springs_open(Springs *springs, int spring_count, int collider_count);
/* Count joints against their limit; false and a failure beyond it. */
bool springs_count_joints(Springs *springs, int count);

/* A segment from these parameters, in metres, Y up. */
RigSegment springs_segment(Springs *springs, int head, int tail, const JointParameters *given);

/* Let spring `index` rotate `head` and what lies between it and `tail` (-1: only the head). Where
 * one of them has another spring already, nothing changes and that node comes back, else -1. */
int springs_claim(Springs *springs, int index, int head, int tail);
void springs_release(Springs *springs, int head, int tail);

/* The colliders of the groups that the array member `key` of `object` lists, each once, in order.
 * Groups that do not exist are left out with a warning that names the spring. */
void springs_read_collider_list(Springs *springs, const JsonReader *object, const char *key,
                                RigSpring *spring);
