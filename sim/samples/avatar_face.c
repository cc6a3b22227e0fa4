/* The face: flat sheets laid on the head, one above the other. A sheet is drawn in the plane seen
 * from the front (x, y), then every point goes straight back onto the head and a little off it. The
 * expressions move points in that plane, and the same is done again. */
#include "math/scalar.h"
#include "samples/avatar_parts.h"

static const double TURN = 6.283185307179586;

/* The opening of the left eye: two half ellipses; the right eye is its mirror image. */
static const float EYE_X = 0.0375f, EYE_Y = 1.4605f;
static const float EYE_WIDE = 0.0215f, EYE_UP = 0.0185f, EYE_DOWN = 0.0155f;

typedef struct Sheet {
    AvatarMaterial material;
    float lift; /* off the head, metres */
    int side;   /* +1 left, -1 right, 0 middle: which eye's blinking moves it, where one does */
    bool is_eye, is_mouth;
    int lash; /* +1 on the upper lid, -1 on the lower, 0 between: lashes keep their width when shut
               */
} Sheet;

typedef struct Point {
    float x, y;
} Point;

/* Height of the upper or lower lid above the eye's middle at a distance x from it. */
static float lid(float x, float height)
{
    float t = x / EYE_WIDE;
    float inside = 1.0f - t * t;

    return inside > 0.0f ? height * sqrtf(inside) : 0.0f;
}

/* The shut eye: the lids meet on a line that sags a little; all between them hides, thin but not
 * flat, behind the lashes. */
static Point shut(const Sheet *sheet, Point p, float amount, float curve)
{
    float x = p.x * (float)sheet->side - EYE_X, t = x / EYE_WIDE;
    float line = EYE_Y - 0.006f + curve * (1.0f - t * t);
    float shut_y = line + 0.0006f + 0.02f * (p.y - EYE_Y);

    if (sheet->lash > 0)
        shut_y = line + p.y - EYE_Y - lid(x, EYE_UP);
    if (sheet->lash < 0)
        shut_y = line + p.y - EYE_Y + lid(x, EYE_DOWN);
    p.y += amount * (shut_y - p.y);
    return p;
}

static const float MOUTH_Y = 1.3965f, MOUTH_WIDE = 0.017f;

/* Of the shut mouth, x from -1 to 1. */
static float mouth_thickness(float x)
{
    return 0.0018f * (1.0f - 0.85f * x * x);
}

static Point move_mouth(Point p, AvatarMorph morph)
{
    float x = p.x / MOUTH_WIDE;

    if (morph == MORPH_HAPPY) {
        p.x *= 1.25f;
        p.y += 0.007f * x * x - 0.002f;
    }
    if (morph == MORPH_AA) {
        float part = (MOUTH_Y + 0.0024f * x * x - p.y) / mouth_thickness(x);
        float round = 1.0f - x * x > 0.0f ? sqrtf(1.0f - x * x) : 0.0f;
        p.x *= 0.8f;
        p.y -= part > 0.0f ? 0.0105f * part * round : 0.0f;
    }
    return p;
}

/* Where an expression puts a point of a sheet. */
static Point move_point(const Sheet *sheet, Point p, AvatarMorph morph)
{
    int blinking = morph == MORPH_BLINK_LEFT ? 1 : morph == MORPH_BLINK_RIGHT ? -1 : 0;

    if (sheet->is_mouth)
        return move_mouth(p, morph);
    if (!sheet->is_eye)
        return p;
    if (blinking != 0 && blinking == sheet->side)
        return shut(sheet, p, 1.0f, -0.005f);
    if (morph == MORPH_HAPPY)
        return shut(sheet, p, 0.3f, 0.002f);
    return p;
}

/* The place on the head behind a point, lifted along the head's normal. */
static Vec3 lay(Point p, float lift, Vec3 *out_normal)
{
    Vec3 from = {p.x, p.y, 0.25f}, at = {p.x, p.y, 0.1f};

    (void)shape_ray(&avatar_head, from, vec3(0.0f, 0.0f, -1.0f), 0.3f, &at);
    *out_normal = shape_normal(&avatar_head, at);
    return vec3_add_scaled(at, *out_normal, lift);
}

static uint32_t add_point(AvatarParts *parts, const Sheet *sheet, Point p)
{
    SampleMesh *mesh = &parts->mesh[sheet->material];
    Vec3 normal;
    Vec3 at = lay(p, sheet->lift, &normal);
    uint32_t vertex = mesh_add_vertex(mesh, at, normal);

    if (mesh->arena->overflowed)
        return vertex;
    weights_add(&mesh->weights[vertex], JOINT_HEAD, 1.0f);
    for (int m = 0; m < MORPH_COUNT; m++) {
        Point moved = move_point(sheet, p, (AvatarMorph)m);
        Vec3 unused;
        if (moved.x != p.x || moved.y != p.y)
            parts->morph[sheet->material][m][vertex] =
                vec3_sub(lay(moved, sheet->lift, &unused), at);
    }
    return vertex;
}

enum { MAX_ACROSS = 25 };

/* A band between two lines of `count` points each, drawn from left to right seen from the front;
 * `rows` more rows of points lie between them. */
static void add_band(AvatarParts *parts, const Sheet *sheet, const Point *low, const Point *high,
                     const int size[2])
{
    SampleMesh *mesh = &parts->mesh[sheet->material];
    uint32_t first = (uint32_t)mesh->vertex_count;
    int count = size[0], rows = size[1];

    for (int r = 0; r < rows; r++)
        for (int i = 0; i < count; i++) {
            float t = (float)r / (float)(rows - 1);
            add_point(parts, sheet,
                      (Point){low[i].x + (high[i].x - low[i].x) * t,
                              low[i].y + (high[i].y - low[i].y) * t});
        }
    for (int r = 0; r + 1 < rows; r++)
        for (int i = 0; i + 1 < count; i++) {
            uint32_t a = first + (uint32_t)(r * count + i), b = a + (uint32_t)count;
            mesh_add_quad(mesh, a, a + 1, b + 1, b);
        }
}

/* A disc around a middle: an ellipse cut off at the eye's lids where `in_eye`. */
typedef struct Disc {
    float x, y;
    float wide, high;
    int rings, sides;
} Disc;

/* A point of the eye's inside, pulled back between the lids. */
static Point keep_in_eye(Point p, int side, float margin)
{
    float x = p.x * (float)side - EYE_X;
    float top = EYE_Y + lid(x, EYE_UP) * margin, bottom = EYE_Y - lid(x, EYE_DOWN) * margin;

    p.y = p.y > top ? top : p.y < bottom ? bottom : p.y;
    return p;
}

static void add_disc(AvatarParts *parts, const Sheet *sheet, const Disc *disc)
{
    SampleMesh *mesh = &parts->mesh[sheet->material];
    uint32_t middle = add_point(parts, sheet, (Point){disc->x, disc->y});
    uint32_t sides = (uint32_t)disc->sides;

    for (int r = 1; r <= disc->rings; r++)
        for (int s = 0; s < disc->sides; s++) {
            double sine, cosine;
            float part = (float)r / (float)disc->rings;
            scalar_sin_cos(TURN * s / disc->sides, &sine, &cosine);
            Point p = {disc->x + part * disc->wide * (float)cosine,
                       disc->y + part * disc->high * (float)sine};
            add_point(parts, sheet, sheet->is_eye ? keep_in_eye(p, sheet->side, 0.96f) : p);
        }
    for (uint32_t s = 0; s < sides; s++) {
        uint32_t t = (s + 1) % sides;
        mesh_add_triangle(mesh, middle, middle + 1 + s, middle + 1 + t);
        for (uint32_t r = 0; r + 1 < (uint32_t)disc->rings; r++) {
            uint32_t a = middle + 1 + r * sides;
            mesh_add_quad(mesh, a + s, a + sides + s, a + sides + t, a + t);
        }
    }
}

/* The white: a band from lid to lid. */
static void add_white(AvatarParts *parts, int side)
{
    Sheet sheet = {.material = MATERIAL_EYE_WHITE, .lift = 0.0004f, .side = side, .is_eye = true};
    Point low[MAX_ACROSS], high[MAX_ACROSS];

    for (int i = 0; i < MAX_ACROSS; i++) {
        float t = 0.995f * (2.0f * (float)i / (MAX_ACROSS - 1) - 1.0f);
        // denser towards the corners
        float x = EYE_WIDE * t * (1.5f - 0.5f * t * t);
        float at = (float)side * EYE_X + x;
        low[i] = (Point){at, EYE_Y - lid(x, EYE_DOWN)};
        high[i] = (Point){at, EYE_Y + lid(x, EYE_UP)};
    }
    add_band(parts, &sheet, low, high, (const int[2]){MAX_ACROSS, 7});
}

/* Upper lashes: a band along the upper lid, thicker and drawn out at the outer corner. */
static void add_lashes(AvatarParts *parts, int side)
{
    Sheet sheet = {
        .material = MATERIAL_LASH, .lift = 0.0016f, .side = side, .is_eye = true, .lash = 1};
    Point low[MAX_ACROSS], high[MAX_ACROSS];

    for (int i = 0; i < MAX_ACROSS; i++) {
        float t = 1.06f * (2.0f * (float)i / (MAX_ACROSS - 1) - 1.0f);
        float x = EYE_WIDE * t;
        float outer = t * (float)side;
        float thick = 0.0012f + 0.0030f * avatar_ramp(-1.1f, 0.6f, outer);
        float tail = avatar_ramp(0.75f, 1.06f, outer);
        float y = EYE_Y + lid(x, EYE_UP);
        thick *= 1.0f - 0.75f * avatar_ramp(0.9f, 1.06f, outer < 0.0f ? -outer : outer);
        low[i] = (Point){(float)side * (EYE_X + 0.0035f * tail) + x, y - 0.0008f + 0.0015f * tail};
        high[i] = (Point){low[i].x + 0.0012f * outer * (float)side, low[i].y + thick};
    }
    add_band(parts, &sheet, low, high, (const int[2]){MAX_ACROSS, 3});

    // the lower line, thin, on the outer half
    sheet.lift = 0.0014f;
    sheet.lash = -1;
    for (int i = 0; i < MAX_ACROSS; i++) {
        float outer = -0.55f + 1.5f * (float)i / (MAX_ACROSS - 1);
        int at = side > 0 ? i : MAX_ACROSS - 1 - i;
        float x = EYE_WIDE * outer * (float)side;
        float thick = 0.0009f * avatar_ramp(-0.55f, 0.3f, outer) + 0.0001f;
        low[at] = (Point){(float)side * EYE_X + x, EYE_Y - lid(x, EYE_DOWN) - thick};
        high[at] = (Point){low[at].x, low[at].y + thick + 0.0002f};
    }
    add_band(parts, &sheet, low, high, (const int[2]){MAX_ACROSS, 2});
}

static void add_brow(AvatarParts *parts, int side)
{
    Sheet sheet = {.material = MATERIAL_BROW, .lift = 0.0012f, .side = side};
    Point low[MAX_ACROSS], high[MAX_ACROSS];

    for (int i = 0; i < MAX_ACROSS; i++) {
        float t = (float)i / (MAX_ACROSS - 1);
        int at = side > 0 ? i : MAX_ACROSS - 1 - i;
        float y = 1.4925f + 0.0085f * t * (1.75f - 1.35f * t);
        float thick = 0.0038f * (1.0f - 0.75f * t) * avatar_ramp(-0.25f, 0.2f, t);
        low[at] = (Point){(float)side * (0.0185f + 0.042f * t), y - 0.5f * thick};
        high[at] = (Point){low[at].x, y + 0.5f * thick};
    }
    add_band(parts, &sheet, low, high, (const int[2]){MAX_ACROSS, 3});
}

static void add_mouth(AvatarParts *parts)
{
    Sheet sheet = {.material = MATERIAL_MOUTH, .lift = 0.0006f, .is_mouth = true};
    Point low[MAX_ACROSS], high[MAX_ACROSS];

    for (int i = 0; i < MAX_ACROSS; i++) {
        float t = 2.0f * (float)i / (MAX_ACROSS - 1) - 1.0f;
        float y = MOUTH_Y + 0.0024f * t * t;
        high[i] = (Point){MOUTH_WIDE * t, y + 0.0002f};
        low[i] = (Point){MOUTH_WIDE * t, y - mouth_thickness(t)};
    }
    add_band(parts, &sheet, low, high, (const int[2]){MAX_ACROSS, 4});
}

static void add_eye(AvatarParts *parts, int side)
{
    float s = (float)side;
    Sheet iris = {.material = MATERIAL_IRIS, .lift = 0.0007f, .side = side, .is_eye = true};
    Sheet pupil = {.material = MATERIAL_PUPIL, .lift = 0.0010f, .side = side, .is_eye = true};
    Sheet shade = {.material = MATERIAL_PUPIL, .lift = 0.0009f, .side = side, .is_eye = true};
    Sheet glint = {.material = MATERIAL_GLINT, .lift = 0.0013f, .side = side, .is_eye = true};
    Sheet blush = {.material = MATERIAL_BLUSH, .lift = 0.0003f, .side = side};

    add_white(parts, side);
    add_disc(parts, &iris, &(Disc){s * 0.0365f, 1.4605f, 0.0125f, 0.0165f, 4, 28});
    add_disc(parts, &pupil, &(Disc){s * 0.0365f, 1.4615f, 0.0066f, 0.0092f, 3, 20});
    // the lid's shadow on the upper part of the iris
    add_disc(parts, &shade, &(Disc){s * 0.0365f, 1.4725f, 0.0105f, 0.0052f, 2, 20});
    // light falls from the character's left on both eyes
    add_disc(parts, &glint, &(Disc){s * 0.0365f + 0.0050f, 1.4685f, 0.0036f, 0.0042f, 2, 14});
    add_disc(parts, &glint, &(Disc){s * 0.0365f - 0.0048f, 1.4520f, 0.0018f, 0.0021f, 2, 10});
    add_lashes(parts, side);
    add_brow(parts, side);
    add_disc(parts, &blush, &(Disc){s * 0.049f, 1.4265f, 0.0125f, 0.0062f, 3, 24});
}

void avatar_add_face(const AvatarRig *rig, Arena *arena, AvatarParts *parts)
{
    (void)rig;
    for (int material = MATERIAL_EYE_WHITE; material <= MATERIAL_BLUSH; material++)
        for (int m = 0; m < MORPH_COUNT; m++)
            parts->morph[material][m] =
                arena_array(arena, Vec3, parts->mesh[material].vertex_capacity);
    if (arena->overflowed)
        return;
    add_eye(parts, 1);
    add_eye(parts, -1);
    add_mouth(parts);
}
