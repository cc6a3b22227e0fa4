/* Plans: what jobs that were taken in use, by the key of their bake. A bake is built to find that
 * out, which takes milliseconds; the same one again, for another shot or by another artist, is not
 * built again. Any thread; one mutex guards all. */
#pragma once

#include "base/arena.h"
#include "base/hash.h"

typedef struct Plans Plans;

NODISCARD Status plans_open(Plans **out, Error *err);
void plans_close(Plans *plans);

/* A copy of what the bake uses, as JSON; NULL where that is not known. */
const char *plans_find(Plans *plans, const char key[SHA256_HEX_SIZE], Arena *arena);
/* In place of the one kept longest ago; long ones are not kept. */
void plans_keep(Plans *plans, const char key[SHA256_HEX_SIZE], const char *used);
