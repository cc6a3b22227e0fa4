/* Fit: colliders that cover the body.
 *
 * An authored sphere or capsule is often smaller than what is drawn over it: clothes above all.
 * Each is fitted to the visible vertices, at rest, of the bone that carries it and of what hangs
 * below, down to the next bone with a collider of its own and to where neck, head, upper arms,
 * hands, upper legs and feet begin; a vertex counts where at least half its weight lies there, for
 * the nearest collider of that bone. A capsule's ends go out towards the 3 % and 97 % quantiles
 * along its axis by at most 5 % of the character's height; its radius becomes the 97 % quantile of
 * the distances from the axis and 2 mm (of 1.6 m), is never below the authored one, and grows by at
 * most 60 % of itself and 3 % of the height. Where no collider is on the trunk, a capsule from hips
 * to neck is added. The rig itself is never changed: the fitted one is a copy that shares
 * everything else.
 */
#pragma once

#include "core/body.h"

typedef struct FitCollider {
    int collider;         /* index in the fitted rig */
    bool is_added;        /* the trunk's; then `authored` is where the fit began */
    const char *kept;     /* why the authored values stay, NULL: it was fitted */
    RigCollider authored; /* of the model */
    int vertex_count;     /* of the body that it answers for */
    int covered_before;   /* of them inside the collider as authored ... */
    int covered_after;    /* ... and as fitted */
    float growth;         /* of the radius, metres in the scene */
} FitCollider;

typedef struct Fit {
    Rig rig; /* with fitted colliders */
    int count;
    const FitCollider *collider; /* (count) */
} Fit;

typedef struct FitDesc {
    BodyDesc body;
    const SimulationSpec *spec; /* with a list of colliders only those are fitted */
    Warnings *warnings;
} FitDesc;

NODISCARD Status fit_colliders(const FitDesc *desc, Arena *arena, Fit *out, Error *err);

/* The share of vertices that are covered: 0 where there are none. */
double fit_coverage(int covered, int vertex_count);
