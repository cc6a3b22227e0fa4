#include "picture/draw.h"
#include "picture/font.h"
#include "picture/numbers.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_COLUMNS = 16,
    MARGIN = 16,
    GAP = 4,
    TITLE_HEIGHT = 40,
    LEGEND_HEIGHT = 64,
    GAMMA_SIZE = 4096,
    BACKGROUND = 0x1E2228,
    TEXT_COLOR = 0xE8EAED,
    QUIET_COLOR = 0x9AA4B2,
    LABEL_COLOR = 0x22262C
};

/* A sheet while it is drawn. */
typedef struct Sheet {
    const PictureOptions *options;
    Scene scene;
    Arena *scratch;
    Image image;
    Raster raster; /* of one cell, four samples a pixel */
    uint8_t *gamma;
    int column_count, row_count;
    int frame[MAX_COLUMNS];
    Box box[MAX_COLUMNS]; /* what each column looks at */
    PictureView view[PICTURE_VIEW_COUNT];
} Sheet;

static const char *const view_names[PICTURE_VIEW_COUNT] = {"front", "side", "three-quarter"};

PictureOptions picture_options_default(void)
{
    return (PictureOptions){.cell_width = 300,
                            .cell_height = 400,
                            .column_count = 6,
                            .view = {true, true, true},
                            .has_chains = true,
                            .has_colliders = true};
}

size_t picture_arena_size(const Rig *rig, Bytes frames, const PictureOptions *options)
{
    size_t size = (size_t)64 << 20;
    size_t cells = (size_t)(options ? options->cell_width * options->cell_height : 1 << 20);

    for (int n = 0; n < rig->node_count; n++) {
        const RigMesh *mesh = rig->node[n].mesh >= 0 ? &rig->mesh[rig->node[n].mesh] : NULL;
        for (int p = 0; mesh && p < mesh->primitive_count; p++) {
            size += (size_t)mesh->primitive[p].vertex_count * 256;
            size += (size_t)mesh->primitive[p].index_count * 16;
            size += (size_t)rig->node_count * 80;
        }
    }
    // pages that are not touched cost nothing, so what a header may ask for is generous
    return size + cells * (4 * 16 + 3 * 3 * MAX_COLUMNS) + (size_t)rig->node_count * 4096 +
           16 * frames.size;
}

static Status check_options(const PictureOptions *options, Error *err)
{
    int rows = options->view[0] + options->view[1] + options->view[2];

    if (options->cell_width < 64 || options->cell_width > 1024 || options->cell_height < 64 ||
        options->cell_height > 1024)
        return error_set(err, STATUS_INVALID, "a cell of %d x %d pixels must be 64 to 1024",
                         options->cell_width, options->cell_height);
    if (options->frame_count > MAX_COLUMNS ||
        (options->frame_count <= 0 &&
         (options->column_count < 1 || options->column_count > MAX_COLUMNS)))
        return error_set(err, STATUS_INVALID, "a sheet must have 1 to %d columns", MAX_COLUMNS);
    if (rows == 0)
        return error_set(err, STATUS_INVALID, "a sheet must have a view");
    return STATUS_OK;
}

static Status choose_frames(Sheet *sheet, Error *err)
{
    const PictureOptions *options = sheet->options;
    int first = sheet->scene.file.header->first_frame;
    int have = sheet->scene.file.index.frame_count;

    if (have == 0)
        return error_set(err, STATUS_NOT_FOUND, "the bake holds no whole frame yet");
    if (options->frame_count > 0) {
        sheet->column_count = options->frame_count;
        memcpy(sheet->frame, options->frame, sizeof(int) * (size_t)options->frame_count);
        return STATUS_OK;
    }
    int count = options->column_count < have ? options->column_count : have;
    sheet->column_count = count;
    for (int i = 0; i < count; i++)
        sheet->frame[i] =
            first + (count > 1 ? (i * (have - 1) + (count - 1) / 2) / (count - 1) : 0);
    return STATUS_OK;
}

/* All columns have one scale; where only the simulated part is shown, each follows it. */
static Status choose_boxes(Sheet *sheet, Error *err)
{
    bool is_whole = sheet->options->is_whole;
    float grow = is_whole ? 1.02f : 1.25f;
    Box all = box_empty();
    Vec3 half = {0.0f, 0.0f, 0.0f};

    for (int c = 0; c < sheet->column_count; c++) {
        if (scene_pose(&sheet->scene, sheet->frame[c], err))
            return err->status;
        Box box = scene_box(&sheet->scene, is_whole);
        Vec3 size = vec3_scale(vec3_sub(box.max, box.min), 0.5f);
        box_add(&all, box.min);
        box_add(&all, box.max);
        half = vec3(size.x > half.x ? size.x : half.x, size.y > half.y ? size.y : half.y,
                    size.z > half.z ? size.z : half.z);
        sheet->box[c] = box;
    }
    for (int c = 0; c < sheet->column_count; c++) {
        Box box = is_whole ? all : sheet->box[c];
        Vec3 centre = vec3_lerp(box.min, box.max, 0.5f);
        Vec3 reach = is_whole ? vec3_scale(vec3_sub(all.max, all.min), 0.5f) : half;
        reach = vec3_scale(reach, grow);
        sheet->box[c] = (Box){vec3_sub(centre, reach), vec3_add(centre, reach)};
    }
    return STATUS_OK;
}

static Status draw_cell(Sheet *sheet, int column, int row, Error *err)
{
    const PictureOptions *options = sheet->options;
    int x = MARGIN + column * (options->cell_width + GAP);
    int y = MARGIN + TITLE_HEIGHT + row * (options->cell_height + GAP);
    Camera camera = camera_look(sheet->view[row], sheet->scene.rig->forward, &sheet->box[column],
                                sheet->raster.width, sheet->raster.height);
    char label[64];

    raster_clear(&sheet->raster);
    if (draw_meshes(&sheet->scene, options->is_stretch ? DRAW_STRETCH : DRAW_MATERIALS, &camera,
                    sheet->scratch, &sheet->raster, err))
        return err->status;
    if (options->has_colliders)
        draw_colliders(&sheet->scene, &camera, &sheet->raster);
    if (options->has_chains)
        draw_segments(&sheet->scene, &camera, &sheet->raster);
    raster_resolve(&sheet->raster, &sheet->image, x, y, sheet->gamma);

    const FrameHeader *header = sheet->scene.file.header;
    int frame = sheet->frame[column];
    (void)snprintf(label, sizeof label, "frame %d  %.2f s", frame,
                   (double)frame * header->fps_denominator / header->fps_numerator);
    if (row == 0)
        font_draw(&sheet->image, x + 8, y + 8, 2, LABEL_COLOR, label);
    if (column == 0)
        font_draw(&sheet->image, x + 8, y + options->cell_height - 22, 2, LABEL_COLOR,
                  view_names[sheet->view[row]]);
    return STATUS_OK;
}

static uint32_t encode_color(const Sheet *sheet, Vec3 color)
{
    const float channel[3] = {color.x, color.y, color.z};
    uint32_t out = 0;

    for (int i = 0; i < 3; i++)
        out = out << 8 | sheet->gamma[(int)(channel[i] * (GAMMA_SIZE - 1) + 0.5f)];
    return out;
}

/* The colour scale with its numbers; returns where it ends. */
static int draw_scale(Sheet *sheet, int x, int y)
{
    enum { WIDTH = 220, HEIGHT = 14, TICKS = 4 };
    char label[16];

    font_draw(&sheet->image, x, y, 2, TEXT_COLOR, "stretch");
    x += font_width("stretch ", 2);
    for (int i = 0; i < WIDTH; i++) {
        float stretch = DRAW_STRETCH_MAX * (float)i / (WIDTH - 1);
        image_fill(&sheet->image, x + i, y, 1, HEIGHT,
                   encode_color(sheet, draw_stretch_color(stretch)));
    }
    for (int i = 0; i <= TICKS; i++) {
        int percent = (int)(100.0f * DRAW_STRETCH_MAX * (float)i / TICKS + 0.5f);
        (void)snprintf(label, sizeof label, "%d%%%s", percent, i == TICKS ? "+" : "");
        font_draw(&sheet->image, x + i * WIDTH / TICKS - font_width(label, 1) / 2, y + HEIGHT + 4,
                  1, QUIET_COLOR, label);
    }
    return x + WIDTH + 40;
}

static int draw_key(Sheet *sheet, int x, int y, Vec3 color, const char *label)
{
    image_fill(&sheet->image, x, y + 5, 22, 4, encode_color(sheet, color));
    font_draw(&sheet->image, x + 30, y, 2, TEXT_COLOR, label);
    return x + 30 + font_width(label, 2) + 24;
}

static void draw_legend(Sheet *sheet)
{
    const PictureOptions *options = sheet->options;
    int y = sheet->image.height - MARGIN - LEGEND_HEIGHT + 8;
    int x = MARGIN;
    bool has_inside = false;
    Error err = {0};
    Text numbers = text_open(1024, &err);

    numbers_write(sheet->scene.file.index.measures, sheet->scratch, &numbers);
    font_draw(&sheet->image, x, y, 2, TEXT_COLOR, text_string(&numbers));
    y += text_length(&numbers) ? 26 : 8;
    text_close(&numbers);
    if (options->is_stretch)
        x = draw_scale(sheet, x, y);
    for (int i = 0; i < sheet->scene.rig->collider_count; i++)
        has_inside |= sheet->scene.rig->collider[i].is_inside;
    if (options->has_chains && sheet->scene.segment_count > 0)
        x = draw_key(sheet, x, y, draw_chain_color, "chain");
    if (options->has_colliders && sheet->scene.rig->collider_count > 0)
        x = draw_key(sheet, x, y, draw_collider_color, "collider");
    if (options->has_colliders && has_inside)
        (void)draw_key(sheet, x, y, draw_inside_color, "keeps inside");
}

/* The memory and the layout of a sheet whose frames are chosen. */
static Status open_canvas(Sheet *sheet, Error *err)
{
    const PictureOptions *options = sheet->options;
    int width = 2 * MARGIN - GAP + sheet->column_count * (options->cell_width + GAP);

    for (int v = 0; v < PICTURE_VIEW_COUNT; v++)
        if (options->view[v])
            sheet->view[sheet->row_count++] = (PictureView)v;
    int height =
        2 * MARGIN + TITLE_HEIGHT + LEGEND_HEIGHT + sheet->row_count * (options->cell_height + GAP);
    // room for the legend where there are few columns
    width = width > 640 ? width : 640;
    sheet->gamma = arena_array(sheet->scratch, uint8_t, GAMMA_SIZE);
    if (!sheet->gamma ||
        image_build(width, height, BACKGROUND, sheet->scratch, &sheet->image, err) ||
        raster_build(2 * options->cell_width, 2 * options->cell_height, true, sheet->scratch,
                     &sheet->raster, err))
        return error_set(err, STATUS_NO_MEMORY, "no room for a sheet of %d x %d pixels", width,
                         height);
    raster_gamma(sheet->gamma);
    return STATUS_OK;
}

Status picture_sheet(const Rig *rig, Bytes frames, const PictureOptions *options, Arena *scratch,
                     ByteWriter *out, Error *err)
{
    Sheet sheet = {.options = options, .scratch = scratch};

    if (check_options(options, err) || scene_open(rig, frames, options, scratch, &sheet.scene, err))
        return err->status;
    if (!sheet.scene.has_frames)
        return error_set(err, STATUS_INVALID, "not a file of baked frames: it is empty");
    if (choose_frames(&sheet, err) || choose_boxes(&sheet, err) || open_canvas(&sheet, err))
        return err->status;
    for (int c = 0; c < sheet.column_count; c++) {
        if (scene_pose(&sheet.scene, sheet.frame[c], err))
            return err->status;
        for (int r = 0; r < sheet.row_count; r++)
            if (draw_cell(&sheet, c, r, err))
                return err->status;
    }
    const char *title = options->title ? options->title : rig->name;
    font_draw(&sheet.image, MARGIN, MARGIN, 3, TEXT_COLOR, title && *title ? title : "bake");
    draw_legend(&sheet);
    return image_write_png(&sheet.image, out, err);
}

Status picture_thumbnail(const Rig *rig, int size, Arena *scratch, ByteWriter *out, Error *err)
{
    PictureOptions options = picture_options_default();
    Scene scene;
    Raster raster;
    Image image;

    if (size < 16 || size > 1024)
        return error_set(err, STATUS_INVALID, "a thumbnail of %d pixels must be 16 to 1024", size);
    uint8_t *gamma = arena_array(scratch, uint8_t, GAMMA_SIZE);
    if (!gamma || scene_open(rig, (Bytes){0}, &options, scratch, &scene, err) ||
        image_build(size, size, BACKGROUND, scratch, &image, err) ||
        raster_build(2 * size, 2 * size, true, scratch, &raster, err))
        return err->status ? err->status
                           : error_set(err, STATUS_NO_MEMORY, "no room for a thumbnail");
    raster_gamma(gamma);
    Box box = scene_box(&scene, true);
    Camera camera = camera_look(PICTURE_VIEW_COUNT, rig->forward, &box, 2 * size, 2 * size);
    if (draw_meshes(&scene, DRAW_MATERIALS, &camera, scratch, &raster, err))
        return err->status;
    if (scene.mesh_count == 0)
        draw_segments(&scene, &camera, &raster);
    raster_resolve(&raster, &image, 0, 0, gamma);
    return image_write_png(&image, out, err);
}
