/*
 * The kinds of constraints between two elements (points, lines, planes), one row of a table each:
 * the name of a kind, the elements that it joins, the meaning of its value, and its demands on
 * distances and directions. Decomposition, rows and verification all follow from the row.
 *
 * A new kind is a line of the enumeration below and a row of the table in constraint_kinds.c.
 * Constant data: any thread, RT safe.
 */
#ifndef GW_POSITIONING_CONSTRAINT_KINDS_H
#define GW_POSITIONING_CONSTRAINT_KINDS_H

#include <stdbool.h>

#include "rt/geometry/element.h"

typedef enum gw_constraint_kind {
    GW_DISTANCE,   /* value in m: signed along the plane's normal where a plane is involved */
    GW_ANGLE,      /* value in rad; line and plane: sin(value) = d . n; else cos = a . b */
    GW_COINCIDENT, /* contained: distance 0 */
    GW_PARALLEL,
    GW_PERPENDICULAR,
    GW_NORMAL,  /* a line along a free-form surface's normal, its point at value m from it */
    GW_TANGENT, /* a line along a free-form curve's tangent, touching it value m from its point */
    GW_CONSTRAINT_KIND_COUNT,
    /* Between surfaces of two objects of a scene, and on velocities: not in the table, and not
     * handled by the solver (rt/scene/surface.h). */
    GW_SLIDING = GW_CONSTRAINT_KIND_COUNT, /* contact kept */
    GW_ROLLING,                            /* and no slip where they touch */
    GW_PURE_ROLLING,                       /* nor spin about the normal */
    GW_KNIFE_EDGE, /* a's point has no velocity along a's direction, relative to b */
    GW_ANY_CONSTRAINT_COUNT
} gw_constraint_kind;

static inline bool gw_constraint_is_positional(gw_constraint_kind kind)
{
    return kind < GW_CONSTRAINT_KIND_COUNT;
}

/* The sense of two directed elements that are parallel. */
typedef enum gw_sense { GW_EITHER, GW_SAME, GW_OPPOSITE } gw_sense;

/* The meaning of a constraint's value. */
typedef enum gw_value_meaning { GW_NO_VALUE, GW_LENGTH_VALUE, GW_ANGLE_VALUE } gw_value_meaning;

/* The demand of a kind on the distance between its elements. */
typedef enum gw_distance_demand {
    GW_ANY_DISTANCE,
    GW_ZERO_DISTANCE,
    GW_VALUE_DISTANCE /* the constraint's value */
} gw_distance_demand;

/* The demand of a kind on the angle between its elements' directions (lines' directions, planes'
 * normals), where both have one. */
typedef enum gw_angle_demand {
    GW_ALONG,            /* 0 or pi, by the sense */
    GW_ACROSS,           /* pi / 2 */
    GW_VALUE_ANGLE,      /* the constraint's value */
    GW_COMPLEMENT_ANGLE, /* pi / 2 less the value: between a line and a plane's normal */
} gw_angle_demand;

typedef struct gw_constraint_kind_info {
    const char *description; /* one sentence for documents: the condition that the kind imposes */
    gw_value_meaning value;
    const char *unit;  /* of the value: "m" or "rad"; NULL where it has none */
    const char *needs; /* sentence to report if an element is a point; NULL: points are allowed */
    bool one_sided;    /* may be a bound (at least, at most) */
    gw_distance_demand distance;
    gw_angle_demand alike; /* of two lines or two planes */
    gw_angle_demand mixed; /* of a line and a plane */
} gw_constraint_kind_info;

/* The names on the wire, in the order of the enumeration, with NULL behind the last. */
extern const char *const gw_constraint_kind_names[GW_CONSTRAINT_KIND_COUNT + 1];

/* The row of a kind. */
const gw_constraint_kind_info *gw_constraint_kind_info_of(gw_constraint_kind kind);

/* True when `kind` can join elements of these kinds; else `*why` (may be NULL) is a sentence
 * (static). */
bool gw_constraint_fits(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b,
                        const char **why);

/* The same of a bound, which takes the distance between any two elements, and the angle of a line
 * or plane to a free-form shape. */
bool gw_bound_fits(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b, const char **why);

/* True where the kind has a value; no other value is read. */
bool gw_constraint_has_value(gw_constraint_kind kind);

/* True where the value is a length (m). */
bool gw_constraint_has_length(gw_constraint_kind kind);

/* True if the kind constrains the distance between its elements. */
bool gw_constraint_has_distance(gw_constraint_kind kind);

struct gw_constraint;

/* The sense that a constraint with a sense to choose has at a pose. */
gw_sense gw_constraint_sense_at(const struct gw_constraint *constraint,
                                const gw_pose *world_from_body);

/* "at" or "beyond" if the offset of a free-form surface reaches the focal distance (*focal: m, with
 * the offset's sign) of the point closest to the other element at this pose; NULL: it does not. At
 * the focal distance the offset surface folds (for a sphere: the centre, where every direction is
 * normal); beyond it, points have another closest point. */
const char *gw_constraint_offset_folds(const struct gw_constraint *constraint,
                                       const gw_pose *world_from_body, double *focal);

/* A kink of the shape that a constraint follows, where a tangent, a normal or an offset would jump:
 * a static sentence that names it, the parameter ('s', 'u', 'v') with the least value at a kink,
 * and whether the shape is the fixed element's. NULL: no kink. */
const char *gw_constraint_kink(const struct gw_constraint *constraint, char *parameter, double *at,
                               bool *fixed);

/* The range of the value of a kind that has one, m or rad; -HUGE_VAL, HUGE_VAL: no bound. */
void gw_constraint_value_range(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b,
                               double *low, double *high);

/* True where the constraint has a sense to choose (two directed elements along one another). */
bool gw_constraint_has_sense(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b);

#endif
