/* Shape: a smooth solid, described by a function that is negative inside, about the distance in
 * metres near its surface; and the closed triangle surface of one.
 *
 * A shape is a list of pieces, joined in order by smooth union, cut or intersection (polynomial
 * blending). Pieces are ellipsoids, tapered capsules, half spaces and lofts (elliptic sections
 * along the X or Y axis, cubic between stations). Plain const data; any thread. Only + - * / and
 * sqrt are used, so the bits are the same everywhere.
 */
#pragma once

#include "base/arena.h"
#include "math/vec3.h"
#include "samples/mesh.h"

#include <stdbool.h>

typedef enum ShapeKind { SHAPE_ELLIPSOID, SHAPE_CONE, SHAPE_LOFT, SHAPE_HALF_SPACE } ShapeKind;
typedef enum ShapeJoin { SHAPE_UNION, SHAPE_CUT, SHAPE_KEEP } ShapeJoin;
typedef enum ShapeAxis { SHAPE_ALONG_Y, SHAPE_ALONG_X } ShapeAxis;

/* A section of a loft, at right angles to its axis. The first cross direction is X for a loft along
 * Y and Y for one along X; the second is Z. */
typedef struct ShapeStation {
    float at;            /* along the axis, metres */
    float first, second; /* centre */
    float first_radius, second_radius;
} ShapeStation;

typedef struct ShapePiece {
    ShapeKind kind;
    ShapeJoin join;
    float blend; /* width of the smooth transition to what came before, metres; 0: sharp */
    Vec3 a;      /* ellipsoid: centre; cone: first end; half space: a point of its border */
    Vec3 b;      /* ellipsoid: radii; cone: second end; half space: unit normal, pointing out */
    float a_radius, b_radius; /* cone: at the ends */
    ShapeAxis axis;           /* loft */
    int station_count;
    const ShapeStation *station; /* (station_count), rising */
} ShapePiece;

typedef struct Shape {
    int count;
    const ShapePiece *piece; /* (count) */
    bool is_symmetric;       /* pieces describe x >= 0, the other half is its mirror image */
} Shape;

float shape_value(const Shape *shape, Vec3 point);
/* The unit gradient: on the surface, the normal that points out. */
Vec3 shape_normal(const Shape *shape, Vec3 point);
/* The point of the surface nearest along the gradient, by a few Newton steps from close by. */
Vec3 shape_project(const Shape *shape, Vec3 point);
/* The first point of the surface on the ray from `from` along unit `direction`, within `reach`
 * metres; false when there is none. */
bool shape_ray(const Shape *shape, Vec3 from, Vec3 direction, float reach, Vec3 *out);

/* The box to search for a surface and the size of the cells of its grid along the axes, in metres:
 * longer along a limb saves vertices. */
typedef struct ShapeGrid {
    Vec3 min, max;
    Vec3 cell;
} ShapeGrid;

/* Append the surface inside the grid to `mesh`: surface nets (Gibson, "Constrained elastic surface
 * nets", 1998: one vertex a cell at the mean of its edges' crossings), relaxed along the surface
 * and put back onto it. Closed where the shape lies inside the grid and is thicker than two cells.
 * A symmetric shape (its grid must be symmetric in x) gives exactly mirrored vertices. Scratch
 * comes from the arena and is given back. */
void shape_mesh(const Shape *shape, const ShapeGrid *grid, Arena *arena, SampleMesh *mesh);
