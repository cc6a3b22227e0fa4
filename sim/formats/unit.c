#include "sim/assets.h"

#include <stdlib.h>
#include <string.h>

double asset_unit(const char *text)
{
    static const struct {
        const char *name;
        double metres;
    } units[] = {{"m", 1.0}, {"dm", 0.1}, {"cm", 0.01}, {"mm", 0.001}, {"in", 0.0254}};

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(text, units[i].name) == 0)
            return units[i].metres;
    if (text[strspn(text, "0123456789.eE+-")] || !strchr("0123456789.", *text))
        return 0.0;
    char *end;
    double metres = strtod(text, &end);
    return *text && !*end && metres >= 1e-6 && metres <= 1e6 ? metres : 0.0;
}
