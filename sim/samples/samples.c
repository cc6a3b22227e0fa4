#include "sim/samples.h"

#include <string.h>

static const char *const hair_name[AVATAR_HAIR_COUNT] = {"simple", "layered"};

const char *avatar_hair_name(AvatarHair hair)
{
    return hair < AVATAR_HAIR_COUNT ? hair_name[hair] : "";
}

AvatarHair avatar_hair_find(const char *name)
{
    int i = 0;

    while (i < AVATAR_HAIR_COUNT && strcmp(hair_name[i], name) != 0)
        i++;
    return (AvatarHair)i;
}

static const SampleInfo samples[] = {
    {"avatar", "vrm", "a rigged VRM 1.0 character with hair, skirt, colliders and six clips"}};

enum { SAMPLE_COUNT = sizeof samples / sizeof samples[0] };

const SampleInfo *sample_list(int *out_count)
{
    *out_count = SAMPLE_COUNT;
    return samples;
}

const SampleInfo *sample_find(const char *name)
{
    for (int i = 0; i < SAMPLE_COUNT; i++)
        if (strcmp(samples[i].name, name) == 0)
            return &samples[i];
    return NULL;
}

Status sample_write(const SampleInfo *sample, const SampleOptions *options, ByteWriter *out,
                    Error *err)
{
    if (strcmp(sample->name, "avatar") == 0)
        return sample_write_avatar(&options->avatar, out, err);
    return error_set(err, STATUS_NOT_FOUND, "there is no sample \"%s\"", sample->name);
}
