#include "server/jobs/fields.h"
#include "server/jobs/spec.h"

#include <math.h>
#include <string.h>

enum { TEMPLATE_NAMES = 8 /* names of clips, chains ... in a comment */ };

void job_strip_comments(char *text, size_t size)
{
    bool is_string = false;

    for (size_t i = 0; i < size; i++) {
        if (is_string && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            is_string = !is_string;
        } else if (!is_string && text[i] == '/' && i + 1 < size && text[i + 1] == '/') {
            while (i < size && text[i] != '\n')
                text[i++] = ' ';
        }
    }
}

/* A template that is being written: a member a line, its comment above it. */
typedef struct Page {
    Text *text;
    const Rig *rig;
    int depth;
    bool has_item;
} Page;

static void new_line(Page *page)
{
    text_add(page->text, "\n");
    for (int i = 0; i < page->depth; i++)
        text_add(page->text, "    ");
}

static void add_text(Page *page, const char *value)
{
    JsonWriter writer = json_writer(page->text, 0);

    json_write_text(&writer, NULL, value);
}

static void add_number(Page *page, double value)
{
    JsonWriter writer = json_writer(page->text, 0);

    json_write_double(&writer, NULL, value);
}

static void add_comment(Page *page, const Field *field)
{
    char low[32];
    char high[32];

    if (!field->note)
        return;
    new_line(page);
    text_format(page->text, "// %s", field->note);
    if (field->kind != FIELD_NUMBER && field->kind != FIELD_INTEGER)
        return;
    (void)json_format_double(field->min, low);
    (void)json_format_double(field->max, high);
    text_format(page->text, " (%s to %s)", low, high);
}

/* The names of things of the model that a field may name. */
static void add_names(Page *page, const char *kind, const char *const *key, int count)
{
    if (count == 0)
        return;
    new_line(page);
    text_format(page->text, "// %s of this model:", kind);
    for (int i = 0; i < count && i < TEMPLATE_NAMES; i++) {
        text_add(page->text, i ? ", " : " ");
        add_text(page, key[i]);
    }
    if (count > TEMPLATE_NAMES)
        text_format(page->text, " and %d more", count - TEMPLATE_NAMES);
}

static void add_things(Page *page, const char *field)
{
    const Rig *rig = page->rig;
    const char *key[TEMPLATE_NAMES] = {NULL};
    int shown = 0;

    if (strcmp(field, "clip") == 0) {
        for (int i = 0; i < rig->clip_count && i < TEMPLATE_NAMES; i++)
            key[shown++] = rig->clip[i].key;
        add_names(page, "clips", key, rig->clip_count);
    } else if (strcmp(field, "target") == 0) {
        for (int i = 0; i < rig->spring_count && i < TEMPLATE_NAMES; i++)
            key[shown++] = rig->spring[i].key;
        add_names(page, "spring chains", key, rig->spring_count);
    } else if (strcmp(field, "colliders") == 0) {
        for (int i = 0; i < rig->collider_count && i < TEMPLATE_NAMES; i++)
            key[shown++] = rig->collider[i].key;
        add_names(page, "colliders", key, rig->collider_count);
    } else if (strcmp(field, "hidden") == 0) {
        for (int i = 0; i < rig->mesh_count && i < TEMPLATE_NAMES; i++)
            key[shown++] = rig->mesh[i].key;
        add_names(page, "meshes", key, rig->mesh_count);
    }
}

static void begin_member(Page *page, const Field *field)
{
    // the comma of the member before comes before the comment of this one
    if (page->has_item)
        text_add(page->text, ",");
    page->has_item = true;
    add_comment(page, field);
    add_things(page, field->key);
    new_line(page);
    add_text(page, field->key);
    text_add(page->text, ": ");
}

static void open_container(Page *page, const char *bracket)
{
    text_add(page->text, bracket);
    page->depth++;
    page->has_item = false;
}

static void close_container(Page *page, const char *bracket)
{
    page->depth--;
    new_line(page);
    text_add(page->text, bracket);
    page->has_item = true;
}

static void add_default(Page *page, const Field *field)
{
    if (field->kind == FIELD_BOOL)
        text_add(page->text, field->otherwise != 0 ? "true" : "false");
    else if (field->kind == FIELD_MAP)
        text_add(page->text, "{}");
    else if (isnan(field->otherwise))
        text_add(page->text, "null");
    else if (field->kind == FIELD_CHOICE)
        add_text(page, field->choice[(int)field->otherwise]);
    else if (field->kind == FIELD_VECTOR)
        text_add(page->text, "[0, 0, 0]");
    else
        add_number(page, field->otherwise);
}

static void add_fields(Page *page, const FieldTable *table);

static void add_value(Page *page, const Field *field)
{
    bool is_simulations = field->table == &chains_fields;

    if (field->kind != FIELD_OBJECT && !is_simulations) {
        add_default(page, field);
        return;
    }
    if (is_simulations)
        text_add(page->text, "[");
    open_container(page, "{");
    add_fields(page, field->table);
    close_container(page, "}");
    if (is_simulations)
        text_add(page->text, "]");
}

/* Every field of a table that this version takes, with its default. */
static void add_fields(Page *page, const FieldTable *table)
{
    for (const Field *field = table->field; field->key; field++) {
        if (field->kind == FIELD_LATER || field->kind == FIELD_FALSE)
            continue;
        begin_member(page, field);
        if (table == &chains_fields && strcmp(field->key, "type") == 0)
            add_text(page, simulation_kind_name(SIMULATION_CHAINS));
        else if (table == &animation_fields && strcmp(field->key, "procedural") == 0)
            add_text(page, motion_kind_name(MOTION_HEAD_TURN));
        else
            add_value(page, field);
    }
}

void job_write_template(const Rig *rig, const char *model, Text *out)
{
    Page page = {.text = out, .rig = rig};

    text_add(out, "// A job with every field and its default; null is what the comment says.\n"
                  "// The command line reads it as it is; a server takes JSON without comments:\n"
                  "// bakehouse check prints it so with --json.\n");
    open_container(&page, "{");
    for (const Field *field = job_fields.field; field->key; field++) {
        if (field->kind == FIELD_LATER || field->kind == FIELD_FALSE)
            continue;
        begin_member(&page, field);
        if (strcmp(field->key, "model") == 0)
            add_text(&page, model);
        else
            add_value(&page, field);
    }
    close_container(&page, "}");
    text_add(out, "\n");
}
