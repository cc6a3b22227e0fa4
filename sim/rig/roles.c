#include "rig/roles.h"

#include <string.h>

enum { WORDS_MAX = 16, WORD_SIZE = 24, BASE_SIZE = 48, NO_NUMBER = -1, RANK_NONE = 1 << 20 };

typedef enum Side { SIDE_NONE, SIDE_LEFT, SIDE_RIGHT } Side;

/* A name without its side: "upperarm", 2. */
typedef struct BoneName {
    char base[BASE_SIZE];
    Side side;
    int number; /* the last of the name, NO_NUMBER */
    bool has_leading_zero;
} BoneName;

/* --- names --- */

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return is_lower(c) || is_upper(c);
}

static char to_lower(char c)
{
    if (is_upper(c))
        return "abcdefghijklmnopqrstuvwxyz"[c - 'A'];
    return c;
}

/* Does a word begin at `at`, in the middle of letters or digits: "LeftArm", "LThumb", "Spine1"? */
static bool is_border(const char *name, size_t at)
{
    char before = name[at - 1], here = name[at];

    if (is_digit(before) != is_digit(here))
        return true;
    if (!is_upper(here))
        return false;
    return is_lower(before) || is_lower(name[at + 1]);
}

/* The words of a name in lower case; longer ones are cut. */
static int split(const char *name, char word[WORDS_MAX][WORD_SIZE])
{
    int count = 0;
    size_t length = 0;

    for (size_t i = 0; name[i] && count < WORDS_MAX; i++) {
        char c = name[i];

        if (!is_letter(c) && !is_digit(c)) {
            count += length > 0;
            length = 0;
            continue;
        }
        if (length > 0 && is_border(name, i)) {
            count++;
            length = 0;
            if (count == WORDS_MAX)
                break;
        }
        if (length + 1 < WORD_SIZE)
            word[count][length++] = to_lower(c);
        word[count][length] = '\0';
    }
    return count + (count < WORDS_MAX && length > 0);
}

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

/* What rigs put before or behind every name. */
static bool is_noise(const char *word)
{
    static const char *const noise[] = {
        "def", "org", "bip",   "bips", "mixamorig", "valve",     "biped", "cc",
        "j",   "jnt", "joint", "bone", "rig",       "armature",  "bind",  "bn",
        "b",   "c",   "f",     "sk",   "skel",      "character", "jt"};

    return is_one_of(word, noise, sizeof noise / sizeof noise[0]);
}

static Side side_of(const char *word)
{
    static const char *const left[] = {"left", "l", "lft", "lf"};
    static const char *const right[] = {"right", "r", "rgt", "rt"};

    if (is_one_of(word, left, sizeof left / sizeof left[0]))
        return SIDE_LEFT;
    return is_one_of(word, right, sizeof right / sizeof right[0]) ? SIDE_RIGHT : SIDE_NONE;
}

/* Where the rig's own name ends: behind "mixamorig:" or "Armature|". */
static const char *without_namespace(const char *name)
{
    const char *colon = strrchr(name, ':'), *bar = strrchr(name, '|');
    const char *last = colon > bar ? colon : bar;

    return last ? last + 1 : name;
}

static int to_number(const char *digits)
{
    int number = 0;

    for (; *digits && number < 10000; digits++)
        number = number * 10 + (*digits - '0');
    return number;
}

static BoneName read_name(const char *name)
{
    char word[WORDS_MAX][WORD_SIZE];
    int count = split(without_namespace(name), word);
    BoneName out = {.number = NO_NUMBER};

    for (int i = 0; i < count; i++) {
        Side side = side_of(word[i]);

        if (is_digit(word[i][0])) {
            // "Bip01 L Hand", "mixamorig1:Hips": the rig's number, not the bone's
            if (i > 0 && is_noise(word[i - 1]) && strlen(word[i - 1]) > 1)
                continue;
            out.number = to_number(word[i]);
            out.has_leading_zero = word[i][0] == '0' && word[i][1];
        } else if (side != SIDE_NONE) {
            out.side = side;
        } else if (!is_noise(word[i])) {
            size_t used = strlen(out.base), size = strlen(word[i]);

            if (used + size < BASE_SIZE)
                memcpy(out.base + used, word[i], size + 1);
        }
    }
    return out;
}

/* --- the table --- */

/* Bones of a side, in the order in which rank counts: of two that fit, the earlier is taken. */
static const struct {
    const char *base;
    HumanoidRole left;
} limb[] = {
    {"upperleg", ROLE_LEFT_UPPER_LEG}, {"upleg", ROLE_LEFT_UPPER_LEG},
    {"thigh", ROLE_LEFT_UPPER_LEG},    {"lowerleg", ROLE_LEFT_LOWER_LEG},
    {"lowleg", ROLE_LEFT_LOWER_LEG},   {"calf", ROLE_LEFT_LOWER_LEG},
    {"shin", ROLE_LEFT_LOWER_LEG},     {"leg", ROLE_LEFT_LOWER_LEG},
    {"knee", ROLE_LEFT_LOWER_LEG},     {"hip", ROLE_LEFT_UPPER_LEG},
    {"foot", ROLE_LEFT_FOOT},          {"ankle", ROLE_LEFT_FOOT},
    {"toes", ROLE_LEFT_TOES},          {"toe", ROLE_LEFT_TOES},
    {"toebase", ROLE_LEFT_TOES},       {"ball", ROLE_LEFT_TOES},
    {"shoulder", ROLE_LEFT_SHOULDER},  {"clavicle", ROLE_LEFT_SHOULDER},
    {"collar", ROLE_LEFT_SHOULDER},    {"collarbone", ROLE_LEFT_SHOULDER},
    {"upperarm", ROLE_LEFT_UPPER_ARM}, {"uparm", ROLE_LEFT_UPPER_ARM},
    {"arm", ROLE_LEFT_UPPER_ARM},      {"shldr", ROLE_LEFT_UPPER_ARM},
    {"lowerarm", ROLE_LEFT_LOWER_ARM}, {"lowarm", ROLE_LEFT_LOWER_ARM},
    {"forearm", ROLE_LEFT_LOWER_ARM},  {"elbow", ROLE_LEFT_LOWER_ARM},
    {"hand", ROLE_LEFT_HAND},          {"wrist", ROLE_LEFT_HAND},
    {"palm", ROLE_LEFT_HAND},          {"eye", ROLE_LEFT_EYE},
    {"faceeye", ROLE_LEFT_EYE},
};

static const struct {
    const char *base;
    HumanoidRole role;
} middle[] = {
    {"hips", ROLE_HIPS}, {"pelvis", ROLE_HIPS}, {"hip", ROLE_HIPS},
    {"neck", ROLE_NECK}, {"head", ROLE_HEAD},   {"jaw", ROLE_JAW},
};

/* Three bones each, from the palm on. */
static const struct {
    const char *base;
    HumanoidRole left;
} finger[] = {
    {"thumb", ROLE_LEFT_THUMB_METACARPAL}, {"index", ROLE_LEFT_INDEX_PROXIMAL},
    {"middle", ROLE_LEFT_MIDDLE_PROXIMAL}, {"mid", ROLE_LEFT_MIDDLE_PROXIMAL},
    {"ring", ROLE_LEFT_RING_PROXIMAL},     {"little", ROLE_LEFT_LITTLE_PROXIMAL},
    {"pinky", ROLE_LEFT_LITTLE_PROXIMAL},
};

/* The bone of a finger: 0 to 2, by what stands behind its name or by its number. -1: none. */
static int phalanx(const char *rest, int number, bool is_thumb)
{
    if (strcmp(rest, "metacarpal") == 0)
        return is_thumb ? 0 : -1;
    if (strcmp(rest, "proximal") == 0)
        return is_thumb ? 1 : 0;
    if (strcmp(rest, "intermediate") == 0)
        return 1;
    if (strcmp(rest, "distal") == 0)
        return 2;
    if (*rest && strcmp(rest, "finger") != 0)
        return -1;
    int bone = number == NO_NUMBER ? 0 : number - 1;
    return bone >= 0 && bone <= 2 ? bone : -1;
}

static HumanoidRole finger_role(const BoneName *name)
{
    const char *base = strncmp(name->base, "hand", 4) == 0 ? name->base + 4 : name->base;

    for (size_t i = 0; i < sizeof finger / sizeof finger[0]; i++) {
        size_t length = strlen(finger[i].base);

        if (strncmp(base, finger[i].base, length) != 0)
            continue;
        int bone = phalanx(base + length, name->number, i == 0);
        if (bone >= 0)
            return (HumanoidRole)((int)finger[i].left + bone);
    }
    // 3ds Max: Finger0 Finger01 Finger02 is the thumb, Finger1 Finger11 Finger12 the index finger
    static const HumanoidRole first[] = {ROLE_LEFT_THUMB_METACARPAL, ROLE_LEFT_INDEX_PROXIMAL,
                                         ROLE_LEFT_MIDDLE_PROXIMAL, ROLE_LEFT_RING_PROXIMAL,
                                         ROLE_LEFT_LITTLE_PROXIMAL};
    if (strcmp(base, "finger") != 0 || name->number == NO_NUMBER)
        return ROLE_COUNT;
    bool is_tip = name->number > 9 || name->has_leading_zero;
    int which = is_tip ? name->number / 10 : name->number;
    int bone = is_tip ? name->number % 10 : 0;
    return which <= 4 && bone <= 2 ? (HumanoidRole)((int)first[which] + bone) : ROLE_COUNT;
}

/* The same bone of the other side. */
static HumanoidRole to_side(HumanoidRole left, Side side)
{
    int role = (int)left;

    if (side == SIDE_LEFT)
        return left;
    if (role >= ROLE_LEFT_THUMB_METACARPAL)
        return (HumanoidRole)(role + (ROLE_RIGHT_THUMB_METACARPAL - ROLE_LEFT_THUMB_METACARPAL));
    if (role == ROLE_LEFT_EYE)
        return ROLE_RIGHT_EYE;
    return (HumanoidRole)(role + (ROLE_RIGHT_FOOT - ROLE_LEFT_FOOT));
}

/* The role of a name and how well it fits (0 best), ROLE_COUNT where it has none. */
static HumanoidRole role_of(const BoneName *name, int *out_rank)
{
    *out_rank = 0;
    for (size_t i = 0; name->side == SIDE_NONE && i < sizeof middle / sizeof middle[0]; i++)
        if (strcmp(name->base, middle[i].base) == 0) {
            // of Neck, Neck1, Neck2 the first
            *out_rank = (int)i * 100 + (name->number == NO_NUMBER ? 0 : name->number);
            return middle[i].role;
        }
    if (name->side == SIDE_NONE)
        return ROLE_COUNT;
    for (size_t i = 0; i < sizeof limb / sizeof limb[0]; i++)
        if (strcmp(name->base, limb[i].base) == 0) {
            *out_rank = (int)i * 100 + (name->number == NO_NUMBER ? 0 : name->number);
            return to_side(limb[i].left, name->side);
        }
    HumanoidRole role = finger_role(name);
    return role == ROLE_COUNT ? role : to_side(role, name->side);
}

/* --- the skeleton --- */

typedef struct Guess {
    const Rig *rig;
    bool *is_joint; /* of a skin; all where there is no skin (node_count) */
    int role[ROLE_COUNT];
    int rank[ROLE_COUNT];
} Guess;

static bool is_above(const Guess *guess, int above, int node)
{
    for (; node >= 0; node = guess->rig->node[node].parent)
        if (node == above)
            return true;
    return false;
}

static void take_names(Guess *guess)
{
    for (int i = 0; i < guess->rig->node_count; i++) {
        int node = guess->rig->order[i];
        BoneName name = read_name(guess->rig->node[node].name);
        int rank = 0;
        HumanoidRole role = role_of(&name, &rank);

        if (role == ROLE_COUNT || guess->rig->node[node].mesh >= 0)
            continue;
        // control bones have the same names as the joints of the skin
        rank += guess->is_joint[node] ? 0 : RANK_NONE / 2;
        if (rank < guess->rank[role]) {
            guess->rank[role] = rank;
            guess->role[role] = node;
        }
    }
}

static bool is_called(const Guess *guess, int node, const char *base)
{
    BoneName name = read_name(guess->rig->node[node].name);

    return strcmp(name.base, base) == 0;
}

/* A limb of whose two bones only the lower has a name of its own: "LeftLeg" is the shin below
 * "LeftUpLeg" but the thigh above "LeftLowerLeg"; "LeftShoulder" the upper arm above "LeftElbow".
 */
static void settle_limb(Guess *guess, HumanoidRole upper, const char *name)
{
    int *role = guess->role;
    HumanoidRole lower = (HumanoidRole)(upper + 1);
    int parent = role[lower] < 0 ? -1 : guess->rig->node[role[lower]].parent;

    if (role[upper] < 0 && parent >= 0 && is_called(guess, parent, name))
        role[upper] = parent;
}

static void settle_limbs(Guess *guess)
{
    static const HumanoidRole leg[] = {ROLE_LEFT_UPPER_LEG, ROLE_RIGHT_UPPER_LEG};
    static const HumanoidRole arm[] = {ROLE_LEFT_UPPER_ARM, ROLE_RIGHT_UPPER_ARM};

    for (int i = 0; i < 2; i++) {
        int *shoulder = &guess->role[arm[i] - 1];

        settle_limb(guess, leg[i], "leg");
        settle_limb(guess, arm[i], "arm");
        settle_limb(guess, arm[i], "shoulder");
        if (*shoulder >= 0 && *shoulder == guess->role[arm[i]]) {
            int parent = guess->rig->node[*shoulder].parent;
            bool is_collar = parent >= 0 && (is_called(guess, parent, "collar") ||
                                             is_called(guess, parent, "clavicle"));
            *shoulder = is_collar ? parent : -1;
        }
    }
}

/* Hips and head where no name says them. */
static void find_ends(Guess *guess)
{
    int *role = guess->role;

    if (role[ROLE_HIPS] < 0 && role[ROLE_LEFT_UPPER_LEG] >= 0 && role[ROLE_RIGHT_UPPER_LEG] >= 0)
        role[ROLE_HIPS] =
            rig_common_ancestor(guess->rig, role[ROLE_LEFT_UPPER_LEG], role[ROLE_RIGHT_UPPER_LEG]);
    if (role[ROLE_HEAD] >= 0 || role[ROLE_LEFT_UPPER_ARM] < 0 || role[ROLE_RIGHT_UPPER_ARM] < 0)
        return;
    // Rigify: spine, spine.001 ... spine.006, of which the last are neck and head
    int chest =
        rig_common_ancestor(guess->rig, role[ROLE_LEFT_UPPER_ARM], role[ROLE_RIGHT_UPPER_ARM]);
    int first = -1, last = -1;
    for (int i = 0; chest >= 0 && i < guess->rig->node_count; i++) {
        int node = guess->rig->order[i];
        BoneName name = read_name(guess->rig->node[node].name);

        if (node == chest || name.side != SIDE_NONE || strcmp(name.base, "spine") != 0 ||
            guess->is_joint[node] != guess->is_joint[chest] || !is_above(guess, chest, node))
            continue;
        first = first < 0 ? node : first;
        last = node;
    }
    role[ROLE_HEAD] = last;
    if (role[ROLE_NECK] < 0 && first != last)
        role[ROLE_NECK] = first;
}

/* The bones between hips and neck (or head), from below: one is the spine, two spine and chest,
 * more spine, a middle one and the last. */
static void find_spine(Guess *guess)
{
    enum { SPINE_MAX = 64 };
    int *role = guess->role, chain[SPINE_MAX], count = 0;
    int top = role[ROLE_NECK] >= 0 ? role[ROLE_NECK] : role[ROLE_HEAD];
    int node = top < 0 ? -1 : guess->rig->node[top].parent;

    if (top < 0 || role[ROLE_HIPS] < 0 || !is_above(guess, role[ROLE_HIPS], top))
        return;
    for (; node >= 0 && node != role[ROLE_HIPS] && count < SPINE_MAX;
         node = guess->rig->node[node].parent)
        chain[count++] = node;
    if (count > 0)
        role[ROLE_SPINE] = chain[count - 1];
    if (count > 1)
        role[ROLE_CHEST] = chain[count > 2 ? count / 2 : 0];
    if (count > 2)
        role[ROLE_UPPER_CHEST] = chain[0];
}

/* Two roles never share a node. */
static void drop_twins(Guess *guess)
{
    for (int i = 0; i < ROLE_COUNT; i++)
        for (int k = i + 1; k < ROLE_COUNT; k++)
            if (guess->role[i] >= 0 && guess->role[i] == guess->role[k])
                guess->role[k] = -1;
}

static bool is_person(const int *role)
{
    static const HumanoidRole needed[] = {
        ROLE_HIPS,
        ROLE_LEFT_UPPER_LEG,
        ROLE_LEFT_LOWER_LEG,
        ROLE_RIGHT_UPPER_LEG,
        ROLE_RIGHT_LOWER_LEG,
        ROLE_LEFT_UPPER_ARM,
        ROLE_LEFT_LOWER_ARM,
        ROLE_RIGHT_UPPER_ARM,
        ROLE_RIGHT_LOWER_ARM,
    };

    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (role[needed[i]] < 0)
            return false;
    return true;
}

/* Where the person faces: square to the line between the hips, along the nearest axis. */
static Vec3 find_forward(const Rig *rig, const World *world, const int *role)
{
    DVec3 left = world[role[ROLE_LEFT_UPPER_LEG]].origin;
    DVec3 right = world[role[ROLE_RIGHT_UPPER_LEG]].origin;
    double x = left.x - right.x, z = left.z - right.z;

    // left x up
    if (x * x + z * z < 1e-12)
        return rig->forward;
    if (fabs(x) >= fabs(z))
        return vec3(0.0f, 0.0f, x > 0.0 ? 1.0f : -1.0f);
    return vec3(z > 0.0 ? -1.0f : 1.0f, 0.0f, 0.0f);
}

static void fill_tables(Guess *guess)
{
    const Rig *rig = guess->rig;

    for (int i = 0; i < ROLE_COUNT; i++) {
        guess->role[i] = -1;
        guess->rank[i] = RANK_NONE * 2;
    }
    for (int i = 0; i < rig->node_count; i++) {
        guess->is_joint[i] = rig->skin_count == 0;
    }
    for (int i = 0; i < rig->skin_count; i++)
        for (int k = 0; k < rig->skin[i].joint_count; k++)
            guess->is_joint[rig->skin[i].joint[k]] = true;
}

Status roles_guess(Rig *rig, Arena *temp, Error *err)
{
    Guess guess = {.rig = rig, .is_joint = arena_array(temp, bool, rig->node_count)};
    World *world = arena_array(temp, World, rig->node_count);

    if (!guess.is_joint || !world)
        return error_set(err, STATUS_NO_MEMORY, "no room for the names of %d nodes",
                         rig->node_count);
    fill_tables(&guess);
    take_names(&guess);
    settle_limbs(&guess);
    find_ends(&guess);
    find_spine(&guess);
    drop_twins(&guess);
    if (!is_person(guess.role))
        return STATUS_OK;
    memcpy(rig->role, guess.role, sizeof rig->role);
    rig->is_humanoid = true;
    rig->is_guessed = true;
    rig_rest_worlds(rig, world);
    rig->forward = find_forward(rig, world, rig->role);
    return STATUS_OK;
}
