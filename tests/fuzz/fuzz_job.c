/* Any bytes as a job: decoded or refused whole, and the canonical job is a job again. */
#include "server/jobs/spec.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const RigNode nodes[] = {
    {.key = "root", .name = "root", .parent = -1, .mesh = -1, .skin = -1},
    {.key = "head", .name = "head", .parent = 0, .mesh = 0, .skin = -1},
};
static const RigMesh meshes[] = {{.key = "Body"}};
static const RigSpring springs[] = {{.key = "hair", .center = -1}, {.key = "b", .refusal = "no"}};
static const RigCollider colliders[] = {{.key = "chest"}};
static const Clip clips[] = {{.key = "Walk", .duration = 1.0}};
static const Rig model = {
    .node_count = 2,
    .node = nodes,
    .mesh_count = 1,
    .mesh = meshes,
    .spring_count = 2,
    .spring = springs,
    .collider_count = 1,
    .collider = colliders,
    .clip_count = 1,
    .clip = clips,
};
static const JobAsset assets[] = {{"a_1", "a_1", &model}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Status decode(Bytes text, Arena *arena, JobSpec *spec, Error *err)
{
    const JobContext context = {.rig = &model,
                                .model_id = "m_1",
                                .model_sha256 = "",
                                .is_offline = true,
                                .asset_count = 1,
                                .asset = assets,
                                .limits = job_limits_default()};
    Faults faults = faults_open(arena, JOB_FAULTS_MAX);
    JsonDocument document = {0};
    JobAssets named;

    if (json_open(text, JOB_JSON_DEPTH, &document, err))
        return err->status;
    job_assets_decode(&document, &faults, &named);
    Status status = job_spec_decode(&document, &context, arena, &faults, spec, err);
    json_close(&document);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena;
    JobSpec spec;
    JobSpec again;
    Error err = {0};

    if (size > JOB_BODY_MAX || arena_create(&arena, (size_t)64 << 20, &err))
        return 0;
    if (!decode((Bytes){data, size}, &arena, &spec, &err)) {
        Bytes canonical = {(const uint8_t *)spec.canonical, strlen(spec.canonical)};

        if (decode(canonical, &arena, &again, &err) || strcmp(again.key, spec.key) != 0)
            abort();
    }
    arena_destroy(&arena);
    return 0;
}
