/* Laws of the avatar's surfaces and weights, on the parts before they are written. */
#include "samples/avatar_parts.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VERTICES = 1 << 15 };

typedef struct Fixture {
    Arena arena;
    const AvatarRig *rig;
    AvatarParts parts;
} Fixture;

/* The parts of a hair style: made once, for the whole suite. */
static const Fixture *open_parts(AvatarHair hair)
{
    static Fixture made[AVATAR_HAIR_COUNT];
    Fixture *f = &made[hair];

    if (f->rig)
        return f;
    f->arena = test_arena((size_t)1 << 29);
    f->rig = avatar_rig_build(hair, &f->arena);
    CHECK(f->rig != NULL);
    avatar_build_parts(f->rig, &f->arena, &f->parts);
    CHECK(!f->arena.overflowed);
    return f;
}

static bool is_sheet(int material)
{
    return material >= MATERIAL_EYE_WHITE && material <= MATERIAL_BLUSH;
}

static Vec3 face_area(const SampleMesh *mesh, int triangle)
{
    const uint32_t *t = mesh->index + 3 * (size_t)triangle;
    const Vec3 *p = mesh->position;

    return vec3_scale(vec3_cross(vec3_sub(p[t[1]], p[t[0]]), vec3_sub(p[t[2]], p[t[0]])), 0.5f);
}

TEST(avatar, weights_are_shares_of_joints)
{
    for (int hair = 0; hair < AVATAR_HAIR_COUNT; hair++) {
        const Fixture *f = open_parts((AvatarHair)hair);
        for (int m = 0; m < MATERIAL_COUNT; m++)
            for (int v = 0; v < f->parts.mesh[m].vertex_count; v++) {
                const MeshWeights *w = &f->parts.mesh[m].weights[v];
                double sum = 0.0;
                for (int k = 0; k < MESH_INFLUENCES; k++) {
                    CHECK(w->weight[k] >= 0.0f && w->weight[k] <= 1.0f);
                    CHECK(w->joint[k] >= 0 && w->joint[k] < f->rig->node_count);
                    sum += (double)w->weight[k];
                }
                CHECK_NEAR(sum, 1.0, 1e-6);
            }
    }
}

static int compare_edges(const void *a_, const void *b_)
{
    const uint64_t *a = a_, *b = b_;

    return (*a > *b) - (*a < *b);
}

/* Every edge is run along once in each direction. */
static void check_closed(const SampleMesh *mesh)
{
    int count = mesh->index_count;
    static uint64_t edge[6 * MAX_VERTICES], reverse[6 * MAX_VERTICES];

    CHECK_INT(count, <=, 6 * MAX_VERTICES);
    for (int i = 0; i < count; i++) {
        uint64_t a = mesh->index[i], b = mesh->index[i % 3 == 2 ? i - 2 : i + 1];
        CHECK(a != b);
        edge[i] = a << 32 | b;
        reverse[i] = b << 32 | a;
    }
    qsort(edge, (size_t)count, sizeof *edge, compare_edges);
    qsort(reverse, (size_t)count, sizeof *reverse, compare_edges);
    for (int i = 0; i < count; i++) {
        CHECK(i == 0 || edge[i] != edge[i - 1]);
        CHECK(edge[i] == reverse[i]);
    }
}

TEST(avatar, parts_are_closed_and_face_outwards)
{
    for (int hair = 0; hair < AVATAR_HAIR_COUNT; hair++) {
        const Fixture *f = open_parts((AvatarHair)hair);
        for (int m = 0; m < MATERIAL_COUNT; m++) {
            const SampleMesh *mesh = &f->parts.mesh[m];
            double volume = 0.0;
            CHECK(mesh->vertex_count > 0);
            if (is_sheet(m))
                continue;
            check_closed(mesh);
            for (int t = 0; 3 * t < mesh->index_count; t++) {
                Vec3 p = mesh->position[mesh->index[3 * t]];
                volume += (double)vec3_dot(p, face_area(mesh, t)) / 3.0;
            }
            CHECK(volume > 0.0);
        }
    }
}

/* No triangle is smaller than 0.001 mm2; normals are of length 1 and point to the side that the
 * triangles around the vertex face. */
TEST(avatar, triangles_have_area_and_normals_agree_with_them)
{
    for (int hair = 0; hair < AVATAR_HAIR_COUNT; hair++) {
        const Fixture *f = open_parts((AvatarHair)hair);
        for (int m = 0; m < MATERIAL_COUNT; m++) {
            const SampleMesh *mesh = &f->parts.mesh[m];
            static Vec3 around[MAX_VERTICES];
            CHECK_INT(mesh->vertex_count, <=, MAX_VERTICES);
            memset(around, 0, sizeof around);
            for (int i = 0; i < mesh->index_count; i++) {
                Vec3 area = face_area(mesh, i / 3);
                CHECK(vec3_length(area) > 1e-9f);
                around[mesh->index[i]] = vec3_add(around[mesh->index[i]], area);
            }
            for (int v = 0; v < mesh->vertex_count; v++) {
                CHECK_NEAR(vec3_length(mesh->normal[v]), 1.0, 1e-5);
                CHECK(vec3_dot(mesh->normal[v], around[v]) > 0.0f);
            }
        }
    }
}

typedef struct Place {
    float y;
    int vertex;
} Place;

static int compare_places(const void *a_, const void *b_)
{
    const Place *a = a_, *b = b_;

    return (a->y > b->y) - (a->y < b->y);
}

static float weight_of(const MeshWeights *w, int joint)
{
    float sum = 0.0f;

    for (int k = 0; k < MESH_INFLUENCES; k++)
        sum += w->joint[k] == joint ? w->weight[k] : 0.0f;
    return sum;
}

/* Whether `b` is the mirror image of vertex `a`, weights included. */
static bool is_image(const Fixture *f, const SampleMesh *mesh, int a, int b)
{
    Vec3 p = mesh->position[a], q = mesh->position[b];

    if (fabsf(p.x + q.x) > 2e-6f || fabsf(p.y - q.y) > 2e-6f || fabsf(p.z - q.z) > 2e-6f)
        return false;
    for (int k = 0; k < MESH_INFLUENCES; k++) {
        int joint = mesh->weights[a].joint[k];
        float image = weight_of(&mesh->weights[b], f->rig->mirror[joint]);
        if (fabsf(weight_of(&mesh->weights[a], joint) - image) > 1e-4f)
            return false;
    }
    return true;
}

static void check_mirrored(const Fixture *f, const SampleMesh *mesh)
{
    int count = mesh->vertex_count;
    static Place place[MAX_VERTICES];

    CHECK_INT(count, <=, MAX_VERTICES);
    for (int v = 0; v < count; v++)
        place[v] = (Place){mesh->position[v].y, v};
    qsort(place, (size_t)count, sizeof *place, compare_places);
    for (int i = 0; i < count; i++) {
        bool is_found = false;
        int low = i;
        while (low > 0 && place[i].y - place[low - 1].y < 4e-6f)
            low--;
        for (int k = low; k < count && place[k].y - place[i].y < 4e-6f && !is_found; k++)
            is_found = is_image(f, mesh, place[i].vertex, place[k].vertex);
        CHECK(is_found);
    }
}

TEST(avatar, left_is_the_mirror_image_of_right)
{
    for (int hair = 0; hair < AVATAR_HAIR_COUNT; hair++) {
        const Fixture *f = open_parts((AvatarHair)hair);
        for (int m = 0; m < MATERIAL_COUNT; m++)
            if (m != MATERIAL_GLINT) // light comes from one side
                check_mirrored(f, &f->parts.mesh[m]);
    }
}

TEST(avatar, stands_on_the_ground_at_its_height)
{
    const Fixture *f = open_parts(AVATAR_HAIR_SIMPLE);
    float low = 1e3f, high = -1e3f, left = 0.0f;

    for (int m = 0; m < MATERIAL_COUNT; m++)
        for (int v = 0; v < f->parts.mesh[m].vertex_count; v++) {
            Vec3 p = f->parts.mesh[m].position[v];
            low = p.y < low ? p.y : low;
            high = p.y > high ? p.y : high;
            left = p.x > left ? p.x : left;
        }
    CHECK_NEAR(low, 0.0, 1e-3);
    CHECK_NEAR(high, 1.62, 0.02);
    CHECK_NEAR(left, 0.75, 0.02);
}

/* The face lies in front of the head: expressions are seen from the side it looks to, +Z. */
TEST(avatar, faces_forwards)
{
    const Fixture *f = open_parts(AVATAR_HAIR_SIMPLE);

    for (int m = MATERIAL_EYE_WHITE; m <= MATERIAL_BLUSH; m++)
        for (int v = 0; v < f->parts.mesh[m].vertex_count; v++) {
            CHECK(f->parts.mesh[m].position[v].z > 0.03f);
            CHECK(f->parts.mesh[m].normal[v].z > 0.0f);
        }
}

/* Sheets of the face lie off the head by less than 2 mm, at rest and in every expression. */
TEST(avatar, expressions_stay_on_the_head)
{
    const Fixture *f = open_parts(AVATAR_HAIR_SIMPLE);
    int moved[MORPH_COUNT] = {0};

    for (int m = MATERIAL_EYE_WHITE; m <= MATERIAL_BLUSH; m++)
        for (int v = 0; v < f->parts.mesh[m].vertex_count; v++) {
            Vec3 p = f->parts.mesh[m].position[v];
            CHECK(shape_value(&avatar_head, p) > 1e-4f && shape_value(&avatar_head, p) < 2e-3f);
            for (int e = 0; e < MORPH_COUNT; e++) {
                Vec3 offset = f->parts.morph[m][e][v], q = vec3_add(p, offset);
                float value = shape_value(&avatar_head, q);
                CHECK(value > 1e-4f && value < 2e-3f);
                moved[e] += vec3_length(offset) > 1e-3f;
            }
        }
    for (int e = 0; e < MORPH_COUNT; e++)
        CHECK_INT(moved[e], >, 50);
}

static int chain_index(const AvatarRig *rig, int node)
{
    for (int c = 0; c < rig->chain_count; c++)
        if (node >= rig->chain[c].first &&
            node < rig->chain[c].first + rig->chain[c].desc.point_count)
            return c;
    return -1;
}

/* Hair follows one chain or the head; where it follows a chain, the joints' shares run from the
 * root to the tip, at most three next to each other. */
TEST(avatar, hair_weights_run_along_one_chain)
{
    const Fixture *f = open_parts(AVATAR_HAIR_LAYERED);
    int roots = 0;

    const SampleMesh *hair = &f->parts.mesh[MATERIAL_HAIR];
    for (int v = 0; v < hair->vertex_count; v++) {
        const MeshWeights *w = &hair->weights[v];
        int chain = -1, low = 1000, high = -1;
        for (int k = 0; k < MESH_INFLUENCES; k++) {
            if (w->weight[k] == 0.0f)
                continue;
            int here = chain_index(f->rig, w->joint[k]);
            if (here < 0) {
                CHECK_INT(w->joint[k], ==, JOINT_HEAD);
                roots++;
                continue;
            }
            CHECK(chain < 0 || chain == here);
            CHECK(f->rig->chain[here].desc.is_hair);
            chain = here;
            low = w->joint[k] < low ? w->joint[k] : low;
            high = w->joint[k] > high ? w->joint[k] : high;
        }
        CHECK(chain < 0 || high - low <= 2);
    }
    CHECK_INT(roots, >, 1000);
}

/* By hand, for a chain of three segments: before the root all is the head's; the root joint takes
 * over evenly in the first segment; further joints between the middles of segments. */
TEST(avatar, chain_weights_are_linear_across_full_segments)
{
    static const struct {
        float u;
        float head, joint[3];
    } expected[] = {{-0.5f, 1.0f, {0.0f, 0.0f, 0.0f}},   {0.0f, 1.0f, {0.0f, 0.0f, 0.0f}},
                    {0.25f, 0.75f, {0.25f, 0.0f, 0.0f}}, {0.75f, 0.25f, {0.5f, 0.25f, 0.0f}},
                    {1.0f, 0.0f, {0.5f, 0.5f, 0.0f}},    {1.5f, 0.0f, {0.0f, 1.0f, 0.0f}},
                    {1.75f, 0.0f, {0.0f, 0.75f, 0.25f}}, {2.5f, 0.0f, {0.0f, 0.0f, 1.0f}},
                    {3.25f, 0.0f, {0.0f, 0.0f, 1.0f}}};
    AvatarChain chain = {.desc = {.parent = JOINT_HEAD, .point_count = 4, .is_hair = true},
                         .first = 100};

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        MeshWeights w = {0};
        avatar_chain_weights(&chain, expected[i].u, 1.0f, &w);
        CHECK_NEAR(weight_of(&w, JOINT_HEAD), expected[i].head, 1e-6);
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(weight_of(&w, 100 + k), expected[i].joint[k], 1e-6);
    }
}

TEST(avatar, layered_hair_has_twelve_chains_and_twelve_thousand_vertices)
{
    const Fixture *f = open_parts(AVATAR_HAIR_LAYERED);
    int chains = 0, bangs = 0, free_ends = 0;

    for (int c = 0; c < f->rig->chain_count; c++) {
        const ChainDesc *desc = &f->rig->chain[c].desc;
        bool is_bang = strncmp(desc->name, "Bang", 4) == 0;
        chains += desc->is_hair;
        bangs += is_bang;
        free_ends += !desc->is_end_skinned;
        CHECK(is_bang == !desc->is_end_skinned);
    }
    CHECK_INT(chains, ==, 12);
    CHECK_INT(bangs, ==, 7);
    CHECK_INT(free_ends, ==, 7);
    CHECK_NEAR(f->parts.mesh[MATERIAL_HAIR].vertex_count, 12000, 500);
}

/* Both long locks hang before the shirt: none of their vertices lies inside it, and they reach down
 * over the chest. */
TEST(avatar, front_locks_hang_before_the_shirt)
{
    const Fixture *f = open_parts(AVATAR_HAIR_LAYERED);
    float lowest = 2.0f;

    const SampleMesh *hair = &f->parts.mesh[MATERIAL_HAIR], *shirt = &f->parts.mesh[MATERIAL_SHIRT];
    int first = avatar_find_chain(f->rig, "FrontLockL")->first;
    for (int v = 0; v < hair->vertex_count; v++) {
        Vec3 p = hair->position[v];
        if (hair->weights[v].joint[0] < first || hair->weights[v].joint[0] >= first + 14)
            continue;
        lowest = p.y < lowest ? p.y : lowest;
        // the shirt's vertices within 1 cm, seen from the front, lie behind
        for (int s = 0; s < shirt->vertex_count; s++) {
            Vec3 q = shirt->position[s];
            if (fabsf(p.x - q.x) < 0.01f && fabsf(p.y - q.y) < 0.01f)
                CHECK(q.z < p.z);
        }
    }
    CHECK(lowest < 1.15f);
}
