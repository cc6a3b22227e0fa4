#include "core/quantile.h"
#include "support/check.h"
#include "support/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int hair[3] = {SCENE_HAIR0, SCENE_HAIR1, SCENE_HAIR2};

/* Run a bake of one simulation to its end and measure it. */
static Measures measure(Arena *arena, SimulationSpec *simulation, double end)
{
    Error err = {0};
    const Rig *rig = scene_rig(arena);
    BakeSpec spec = scene_spec(rig, simulation, 1);
    const BakeModel *model;
    BakeState *state;
    BakeEvent event;
    Measures measures = {0};

    spec.time.end = end;
    CHECK_INT(scene_build(rig, &spec, arena, &model, &err), ==, STATUS_OK);
    CHECK_INT(bake_start(model, arena, &state, &err), ==, STATUS_OK);
    do
        CHECK_INT(bake_advance(model, state, &event, &err), ==, STATUS_OK);
    while (event.kind != BAKE_DONE);
    CHECK_INT(bake_measure(model, state, arena, &measures, &err), ==, STATUS_OK);
    return measures;
}

static double value_of(const Measures *measures, const char *name, const char *target)
{
    const MeasureRow *row = measures_find(measures, name, 0, target);

    CHECK(row != NULL);
    return row->value;
}

/* --- stretch --- */

/* Every hair node is turned a quarter about the strip's own length, so that rows 0, 1, 2 and 3 of
 * the strip, half a width of 1 cm from its middle, stand at 1, 2, 3 and 3 quarters. Of its 13
 * edges, 10 cm long and 2 cm wide: 4 sides between unequal rows:  sqrt(0.1^2 + 2 0.01^2) / 0.1 - 1
 *   2 diagonals between them:      sqrt(0.1^2 + 2 0.01^2) / sqrt(0.1^2 + 0.02^2) - 1
 *   4 widths, 2 sides, 1 diagonal: 0 */
static const double SIDE = 0.00995049383620780, DIAGONAL = -0.00966224478430;

static Measures twisted(Arena *arena, SimulationSpec *simulation)
{
    *simulation = scene_simulation(hair, 3, 120);
    simulation->chains.parameters.radius = 1.57079632679f;
    return measure(arena, simulation, 1.0);
}

TEST(stretch, is_what_can_be_computed_by_hand)
{
    Arena arena = test_arena((size_t)64 << 20);
    SimulationSpec simulation;
    Measures measures = twisted(&arena, &simulation);
    static const char *const target[2] = {"*", "hair"};

    for (int i = 0; i < 2; i++) {
        // ranks 7, 13, 13 and 13 of 13
        CHECK_NEAR(value_of(&measures, "stretch.p50", target[i]), 0.0, 2e-5);
        CHECK_NEAR(value_of(&measures, "stretch.p95", target[i]), SIDE, 2e-5);
        CHECK_NEAR(value_of(&measures, "stretch.p99", target[i]), SIDE, 2e-5);
        CHECK_NEAR(value_of(&measures, "stretch.max", target[i]), SIDE, 2e-5);
        CHECK_NEAR(value_of(&measures, "compress.max", target[i]), -DIAGONAL, 2e-5);
        CHECK_NEAR(value_of(&measures, "compress.p50", target[i]), 0.0, 2e-5);
    }
    arena_destroy(&arena);
}

TEST(stretch, is_counted_in_a_histogram)
{
    Arena arena = test_arena((size_t)64 << 20);
    SimulationSpec simulation;
    Measures measures = twisted(&arena, &simulation);
    const MeasureHistogram *histogram = &measures.histogram[0];
    int sum = 0;

    for (int i = 0; i < histogram->bin_count; i++) {
        sum += histogram->count[i];
        if (histogram->bound[i] == 0.005f)
            CHECK_INT(histogram->count[i], ==, 4);
    }
    CHECK_INT(sum, ==, 13);
    CHECK_INT(measures.histogram_count, ==, 2);
    arena_destroy(&arena);
}

TEST(stretch, names_its_ten_worst_edges_worst_first)
{
    Arena arena = test_arena((size_t)64 << 20);
    SimulationSpec simulation;
    Measures measures = twisted(&arena, &simulation);

    CHECK_INT(measures.edge_count, ==, 10);
    for (int i = 0; i < 10; i++) {
        const MeasureEdge *edge = &measures.worst_edge[i];

        CHECK_EQUAL_TEXT(edge->target, "strip");
        CHECK_NEAR(edge->value, i < 4 ? SIDE : 0.0, 2e-5);
        if (i < 4)
            CHECK_INT(abs(edge->a - edge->b), ==, 2);
        // the middle of an edge is on the strip
        CHECK_NEAR(edge->position.y, 1.5, 0.011);
        CHECK_NEAR(edge->position.z, -0.25, 0.151);
    }
    arena_destroy(&arena);
}

TEST(stretch, tells_when_and_where_the_worst_was)
{
    Arena arena = test_arena((size_t)64 << 20);
    Error err = {0};
    const Rig *rig = scene_rig(&arena);
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    BakeSpec spec = scene_spec(rig, &simulation, 1);
    const BakeModel *model;
    BakeState *state;
    BakeEvent event;
    Measures measures;
    float greatest = 0.0f;
    int at = 0;

    spec.motion.kind = MOTION_CLIP;
    spec.time.fps_numerator = 60;
    CHECK_INT(scene_build(rig, &spec, &arena, &model, &err), ==, STATUS_OK);
    CHECK_INT(bake_start(model, &arena, &state, &err), ==, STATUS_OK);
    do
        CHECK_INT(bake_advance(model, state, &event, &err), ==, STATUS_OK);
    while (event.kind != BAKE_DONE);
    CHECK_INT(bake_measure(model, state, &arena, &measures, &err), ==, STATUS_OK);

    // the series of the greatest stretch has its top where the worst edge was
    const MeasureSeries *series = &measures.series[1];
    CHECK_EQUAL_TEXT(series->name, "stretch.max");
    CHECK_INT(series->count, ==, 31);
    for (int i = 0; i < series->count; i++)
        if (series->value[i] > greatest) {
            greatest = series->value[i];
            at = i;
        }
    CHECK(at > 0);
    CHECK_NEAR(measures.worst_edge[0].value, greatest, 0.0);
    CHECK_NEAR(measures.worst_edge[0].time, at / 30.0, 0.0);
    CHECK_INT(measures.worst_edge[0].frame, ==, 2 * at);
    arena_destroy(&arena);
}

TEST(stretch, leaves_out_what_the_simulation_does_not_move)
{
    Arena arena = test_arena((size_t)64 << 20);
    const int last[1] = {SCENE_HAIR2};
    SimulationSpec simulation = scene_simulation(last, 1, 120);

    // rows 2 and 3 follow hair2: 2 widths, 4 sides and 2 diagonals have an end there
    Measures measures = measure(&arena, &simulation, 0.5);
    const MeasureHistogram *histogram = &measures.histogram[0];
    int sum = 0;
    for (int i = 0; i < histogram->bin_count; i++)
        sum += histogram->count[i];
    CHECK_INT(sum, ==, 8);
    arena_destroy(&arena);
}

TEST(stretch, is_missing_with_a_warning_where_no_mesh_is_moved)
{
    Arena arena = test_arena((size_t)64 << 20);
    const int strip[1] = {SCENE_STRIP}; // a skinned mesh does not follow its own node
    SimulationSpec simulation = scene_simulation(strip, 1, 120);

    simulation.chains.parameters.radius = 0.1f;
    Measures measures = measure(&arena, &simulation, 0.1);
    CHECK(measures_find(&measures, "stretch.p99", 0, "*")->is_missing);
    CHECK_EQUAL_TEXT(measures.warnings.warning[0].code, "stretch_missing");
    arena_destroy(&arena);
}

/* --- quantiles --- */

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

TEST(quantile, is_the_value_of_that_rank_of_the_sorted_list)
{
    for (int c = 0; c < test_law_cases(); c++) {
        Random random = test_case_random(c);
        float value[500], sorted[500];
        uint32_t keys[500];
        int count = 1 + (int)(random_u64(&random) % 500);
        double q = (double)random_float(&random, 0.0f, 1.0f);

        for (int i = 0; i < count; i++)
            value[i] = sorted[i] = c % 3 ? random_float(&random, -1e-3f, 1e-3f)
                                         : floorf(random_float(&random, -3.0f, 3.0f));
        qsort(sorted, (size_t)count, sizeof *sorted, compare_floats);
        int rank = (int)ceil(q * count);
        CHECK_NEAR(quantile_nearest_rank(value, count, q, keys), sorted[rank > 0 ? rank - 1 : 0],
                   0.0);
        CHECK_NEAR(quantile_nearest_rank(value, count, 1.0, keys), sorted[count - 1], 0.0);
    }
}

/* --- writers and gates --- */

static const MeasureRow rows[4] = {
    {.name = "stretch.p99", .simulation = 0, .target = "pony,tail", .value = 0.25, .unit = "1"},
    {.name = "stretch.p99", .simulation = 0, .target = "*", .value = 0.05, .unit = "1"},
    {.name = "settle.speed", .simulation = 1, .target = "*", .is_missing = true, .unit = "m/s"},
    {.name = "cost.realtime", .simulation = -1, .target = "*", .value = 300.0, .unit = "1"},
};
static const Measures example = {.frames = 121, .rate = 30.0, .row_count = 4, .row = rows};

TEST(measures, are_written_as_json)
{
    Error err = {0};
    Text text = text_open(1 << 16, &err);
    JsonWriter writer = json_writer(&text, 0);

    measures_write_json(&example, MEASURES_FULL, &writer);
    CHECK_EQUAL_TEXT(
        text_string(&text),
        "{\"partial\":false,\"frames\":121,\"rate\":30,\"summary\":["
        "{\"name\":\"stretch.p99\",\"simulation\":0,\"target\":\"pony,tail\",\"value\":0.25,"
        "\"unit\":\"1\"},"
        "{\"name\":\"stretch.p99\",\"simulation\":0,\"target\":\"*\",\"value\":0.05,\"unit\":\"1\"}"
        ","
        "{\"name\":\"settle.speed\",\"simulation\":1,\"target\":\"*\",\"value\":null,\"unit\":\"m/"
        "s\"},"
        "{\"name\":\"cost.realtime\",\"simulation\":null,\"target\":\"*\",\"value\":300,\"unit\":"
        "\"1\"}"
        "],\"histogram\":[],\"series\":[],\"worst_edges\":[],\"warnings\":[]}");
    text_close(&text);
}

TEST(measures, keep_cost_out_of_what_must_be_reproducible)
{
    Error err = {0};
    Text text = text_open(1 << 16, &err);
    JsonWriter writer = json_writer(&text, 0);

    measures_write_json(&example, MEASURES_REPRODUCIBLE, &writer);
    CHECK(strstr(text_string(&text), "cost.") == NULL);
    CHECK_TEXT(text_string(&text), "settle.speed");
    text_close(&text);
}

TEST(measures, are_written_as_csv_with_quotes_where_they_are_due)
{
    Error err = {0};
    Text text = text_open(1 << 16, &err);

    measures_write_csv(&example, &text);
    CHECK_EQUAL_TEXT(text_string(&text), "name,simulation,target,value,unit\n"
                                         "stretch.p99,0,\"pony,tail\",0.25,1\n"
                                         "stretch.p99,0,*,0.05,1\n"
                                         "settle.speed,1,*,,m/s\n"
                                         "cost.realtime,,*,300,1\n");
    text_close(&text);
}

TEST(gate, looks_at_all_targets_together_where_there_is_such_a_row)
{
    char reason[200];
    const Gate passes[2] = {{"stretch.p99", NAN, 0.1}, {"cost.realtime", 250.0, NAN}};
    const Gate high = {"stretch.p99", NAN, 0.04};
    const Gate low = {"cost.realtime", 400.0, NAN};
    const Gate missing = {"settle.speed", NAN, 1.0};
    const Gate unknown = {"volume.ratio_min", 0.5, NAN};

    CHECK(measures_pass(&example, passes, 2, reason, sizeof reason));
    CHECK_EQUAL_TEXT(reason, "");
    CHECK(!measures_pass(&example, &high, 1, reason, sizeof reason));
    CHECK_EQUAL_TEXT(reason, "stretch.p99 of simulation 0 is 0.05, above 0.04");
    CHECK(!measures_pass(&example, &low, 1, reason, sizeof reason));
    CHECK_EQUAL_TEXT(reason, "cost.realtime of the bake is 300, below 400");
    CHECK(!measures_pass(&example, &missing, 1, reason, sizeof reason));
    CHECK_EQUAL_TEXT(reason, "settle.speed of simulation 1 could not be measured");
    CHECK(!measures_pass(&example, &unknown, 1, reason, sizeof reason));
    CHECK_EQUAL_TEXT(reason, "volume.ratio_min was not measured");
}
