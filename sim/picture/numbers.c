#include "picture/numbers.h"

#include "base/json.h"

#include <string.h>

/* The value of a row about everything, else of the first of its name. */
static bool find_value(const JsonReader *summary, const char *name, double *out)
{
    bool is_found = false;
    JsonReader row;

    for (bool more = json_first(summary, &row); more; more = json_next(&row)) {
        JsonReader value = json_member(&row, "value");
        if (!json_is_number(&value) || strcmp(json_text_or(&row, "name", "", 200), name) != 0)
            continue;
        bool is_all = strcmp(json_text_or(&row, "target", "", 1024), "*") == 0;
        if (is_found && !is_all)
            continue;
        *out = json_as_number(&value, -1e30, 1e30);
        if (is_all)
            return true;
        is_found = true;
    }
    return is_found;
}

void numbers_write(Bytes measures, Arena *scratch, Text *out)
{
    static const struct {
        const char *name, *label, *unit;
        double scale;
    } figures[] = {{"stretch.p50", "stretch p50", " %", 100.0},
                   {"stretch.p99", "p99", " %", 100.0},
                   {"stretch.max", "worst", " %", 100.0},
                   {"settle.speed", "settle", " mm/s", 1000.0},
                   {"penetration.max", "penetration", " mm", 1000.0},
                   {"bend.excess_peak", "excess bend", " deg", 57.29577951308232}};
    Error err = {0};
    JsonDocument document = {0};

    if (measures.size > 0 && !json_open(measures, 32, &document, &err)) {
        Faults faults = faults_open(scratch, 1);
        JsonReader root = json_root(&document, &faults);
        JsonReader summary = json_member(&root, "summary");
        for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
            double value;
            if (json_is_array(&summary) && find_value(&summary, figures[i].name, &value))
                text_format(out, "%s%s %.*f%s", text_length(out) ? "   " : "", figures[i].label,
                            value * figures[i].scale < 0.1 ? 4 : 2, value * figures[i].scale,
                            figures[i].unit);
        }
    }
    json_close(&document);
}
