#include "server/jobs/decoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FPS_TERM_MAX = 1000000 };

/* --- animation --- */

static int count_members(const JsonReader *object, const char *const *key)
{
    int count = 0;

    for (int i = 0; key[i]; i++) {
        JsonReader member = json_member(object, key[i]);

        count += !json_is_absent(&member);
    }
    return count;
}

static const Rig *find_asset(const Decoder *decoder, const JsonReader *value, const char **id)
{
    const JobContext *context = decoder->context;
    int before = value->faults->count;
    const char *name = json_as_text(value, JOB_NAME_MAX);

    if (value->faults->count != before)
        return NULL;
    for (int i = 0; i < context->asset_count; i++)
        if (strcmp(context->asset[i].name, name) == 0) {
            *id = context->asset[i].id;
            return context->asset[i].rig;
        }
    json_fault(value, "names the animation \"%s\", which does not exist", name);
    return NULL;
}

static void decode_clip(const Decoder *decoder, const JsonReader *object, MotionSpec *out)
{
    JsonReader clip = json_member(object, "clip");
    const Rig *source = out->source;
    const char **key = arena_array(decoder->arena, const char *, source->clip_count);

    out->kind = MOTION_CLIP;
    if (decoder->arena->overflowed)
        return;
    for (int i = 0; i < source->clip_count; i++)
        key[i] = source->clip[i].key;
    Names names = names_build("clip", key, source->clip_count, decoder->arena);
    if (!json_is_absent(&clip))
        out->clip = names_decode(&names, &clip);
    else if (source->clip_count == 0)
        json_fault(object, "names an animation without clips");
    if (out->clip < 0)
        out->clip = 0;
}

static MotionKind decode_procedural(const JsonReader *object)
{
    JsonReader value = json_member(object, "procedural");
    int before = value.faults->count;
    const char *name = json_as_text(&value, JOB_NAME_MAX);
    MotionKind kind = motion_kind_find(name);

    if (value.faults->count != before)
        return MOTION_STILL;
    if (kind != MOTION_CLIP && kind != MOTION_KIND_COUNT)
        return kind;
    const char *known[MOTION_KIND_COUNT];
    int count = 0;
    for (int i = 0; i < MOTION_KIND_COUNT; i++)
        if (i != MOTION_CLIP)
            known[count++] = motion_kind_name((MotionKind)i);
    char list[256] = "";
    for (int i = 0; i < count; i++) {
        strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, known[i], sizeof list - strlen(list) - 1);
    }
    json_fault(&value, "must be one of %s, is \"%s\"", list, name);
    return MOTION_STILL;
}

void decode_motion(const Decoder *decoder, const JsonReader *root, MotionSpec *out,
                   const char **animation_id)
{
    static const char *const exclusive[] = {"clip", "procedural", NULL};
    static const char *const sources[] = {"animation", "procedural", NULL};
    JsonReader object;

    *out = (MotionSpec){.kind = MOTION_STILL, .source = decoder->context->rig};
    if (!field_open(root, &job_fields, "animation", &object) ||
        !field_check(&object, &animation_fields))
        return;
    out->is_in_place = field_bool(&object, &animation_fields, "in_place");
    JsonReader procedural = json_member(&object, "procedural");
    JsonReader animation = json_member(&object, "animation");
    JsonReader clip = json_member(&object, "clip");

    if (count_members(&object, exclusive) > 1 || count_members(&object, sources) > 1) {
        json_fault(&object, "must have either \"procedural\", or \"clip\" or \"animation\"");
        return;
    }
    if (!json_is_absent(&procedural)) {
        out->kind = decode_procedural(&object);
    } else if (!json_is_absent(&animation) || !json_is_absent(&clip)) {
        if (!json_is_absent(&animation))
            out->source = find_asset(decoder, &animation, animation_id);
        if (out->source)
            decode_clip(decoder, &object, out);
        else
            out->source = decoder->context->rig;
    }
    // an animation that is not there is fault enough
    if (json_is_absent(&animation) || out->source != decoder->context->rig)
        decode_retarget(decoder, &object, out);
}

/* --- time --- */

static void reduce(TimeSpec *time)
{
    int a = time->fps_numerator;
    int b = time->fps_denominator;

    while (b) {
        int rest = a % b;

        a = b;
        b = rest;
    }
    time->fps_numerator /= a;
    time->fps_denominator /= a;
}

/* Decimals of the NTSC rates stand for 1000/1001 of the next whole number. */
static void set_fps(const JsonReader *value, double fps, TimeSpec *out)
{
    static const double ntsc[] = {23.976, 29.97, 47.952, 59.94, 119.88};
    double thousandths = rint(fps * 1000);

    for (size_t i = 0; i < sizeof ntsc / sizeof *ntsc; i++)
        if (fabs(fps - ntsc[i]) < 1e-9) {
            out->fps_numerator = (int)ceil(fps) * 1000;
            out->fps_denominator = 1001;
            return;
        }
    if (fabs(fps * 1000 - thousandths) > 1e-6) {
        json_fault(value, "must have at most three decimals, or be a fraction like \"24000/1001\"");
        return;
    }
    out->fps_numerator = (int)thousandths;
    out->fps_denominator = 1000;
    reduce(out);
}

static bool parse_term(const char **text, char end, long *out)
{
    char *stop = NULL;

    if (**text < '1' || **text > '9')
        return false;
    *out = strtol(*text, &stop, 10);
    if (*stop != end || *out > FPS_TERM_MAX)
        return false;
    *text = stop + (end ? 1 : 0);
    return true;
}

static void parse_fps(const JsonReader *value, const Field *field, TimeSpec *out)
{
    int before = value->faults->count;
    const char *text = json_as_text(value, JOB_NAME_MAX);
    const char *rest = text;
    long numerator = 0;
    long denominator = 0;

    if (value->faults->count != before)
        return;
    if (!parse_term(&rest, '/', &numerator) || !parse_term(&rest, '\0', &denominator)) {
        json_fault(value,
                   "must be a number or a fraction of whole numbers like \"24000/1001\", is \"%s\"",
                   text);
        return;
    }
    double fps = (double)numerator / (double)denominator;
    if (fps < field->min || fps > field->max) {
        json_fault(value, "must be from %g to %g frames a second, is %g", field->min, field->max,
                   fps);
        return;
    }
    out->fps_numerator = (int)numerator;
    out->fps_denominator = (int)denominator;
    reduce(out);
}

static void decode_fps(const JsonReader *object, TimeSpec *out)
{
    const Field *field = field_get(&time_fields, "fps");
    JsonReader value = json_member(object, "fps");

    if (json_is_absent(&value))
        return;
    if (json_is_text(&value)) {
        parse_fps(&value, field, out);
        return;
    }
    int before = value.faults->count;
    double fps = json_as_number(&value, field->min, field->max);
    if (value.faults->count == before)
        set_fps(&value, fps, out);
}

static double motion_end(const MotionSpec *motion)
{
    if (motion->kind == MOTION_CLIP)
        return motion->source->clip_count ? motion->source->clip[motion->clip].duration : 0;
    return motion_kind_duration(motion->kind);
}

int64_t job_frame_count(const TimeSpec *time)
{
    double fps = (double)time->fps_numerator / time->fps_denominator;
    double frames = (time->end - time->start) * fps;

    // an end that is a whole number of frames but for its last bits has its last frame
    return frames < 0 ? 0 : (int64_t)floor(frames + 1e-6) + 1;
}

static void check_range(const Decoder *decoder, const JsonReader *object, const MotionSpec *motion,
                        TimeSpec *time)
{
    JsonReader end = json_member(object, "end");
    int64_t frames = job_frame_count(time);

    if (time->end < time->start && !json_is_absent(&end))
        json_fault(&end, "must not be before \"start\" (%g), is %g", time->start, time->end);
    else if (time->end < time->start) {
        JsonReader start = json_member(object, "start");

        json_fault(&start, "must not be after the end of the %s, %g s",
                   motion->kind == MOTION_CLIP ? "clip" : "motion", time->end);
    } else if (frames > decoder->context->limits.frames)
        json_fault(object, "gives %lld frames, more than the limit of %d", (long long)frames,
                   decoder->context->limits.frames);
}

void decode_time(const Decoder *decoder, const JsonReader *root, const MotionSpec *motion,
                 TimeSpec *out)
{
    TimeSpec time = bake_spec_default().time;
    JsonReader object;

    time.end = motion_end(motion);
    time.settle = motion->kind == MOTION_HEAD_TURN ? 8 : 0;
    if (field_open(root, &job_fields, "time", &object) && field_check(&object, &time_fields)) {
        double end = field_number(&object, &time_fields, "end");
        double settle = field_number(&object, &time_fields, "settle");

        time.start = field_number(&object, &time_fields, "start");
        time.end = isnan(end) ? time.end : end;
        time.settle = isnan(settle) ? time.settle : settle;
        time.warm_up = field_number(&object, &time_fields, "warm_up");
        time.substeps_per_second = field_integer(&object, &time_fields, "substeps_per_second");
        time.is_loop = field_bool(&object, &time_fields, "loop");
        decode_fps(&object, &time);
        check_range(decoder, &object, motion, &time);
    } else if (job_frame_count(&time) > decoder->context->limits.frames)
        json_fault(root, "gives %lld frames, more than the limit of %d",
                   (long long)job_frame_count(&time), decoder->context->limits.frames);
    *out = time;
}
