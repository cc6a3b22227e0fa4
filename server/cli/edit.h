/* Edit: set a member of a JSON document by its path, for --set and its shorthands. One thread. */
#pragma once

#include "base/json.h"

/* `path` is a JSON pointer ("/simulations/0/stiffness") or the same with dots. Objects on the way
 * are made; an item of a list must exist, or be the next one. `value` is JSON, or else a text. */
NODISCARD Status edit_set(JsonDocument *document, const char *path, const char *value, Error *err);
/* The same with a value that is text whatever it looks like. */
NODISCARD Status edit_set_text(JsonDocument *document, const char *path, const char *value,
                               Error *err);
/* Is there a member that is not null? */
bool edit_has(const JsonDocument *document, const char *path);
