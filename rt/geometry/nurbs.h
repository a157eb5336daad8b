/*
 * Free-form curves and surfaces: non-uniform rational B-splines, evaluated with derivatives to the
 * third order.
 *
 *              sum_ij w_ij P_ij N_i,p(u) N_j,q(v)
 *   S(u, v) =  ----------------------------------,   normal S_u x S_v
 *                sum_ij w_ij N_i,p(u) N_j,q(v)
 *
 * (surface-constraints eq. 1). A curve is kept as a surface of degree 0 with one control point
 * along v, so that both share all code; its v is 0 and derivatives by v vanish. Shapes are checked
 * at creation, then shared and immutable. Creation and refinement allocate; evaluation does not:
 * any thread, RT safe.
 */
#ifndef GW_GEOMETRY_NURBS_H
#define GW_GEOMETRY_NURBS_H

#include <stdatomic.h>

#include "rt/base/limits.h"
#include "rt/geometry/element.h"
#include "rt/geometry/shape.h"

#define GW_NURBS_ORDER 3 /* highest derivative */

/* A direction of parameters: u (0) or v (1). */
typedef struct gw_nurbs_direction {
    int degree;       /* 0 along a curve's v */
    int count;        /* control points */
    double low, high; /* the domain */
    bool trimmed;     /* to a part of the knots' domain */
    bool closed;   /* the ends meet, and parameters wrap around: low and high are the same point */
    double *knots; /* count + degree + 1 */
    double *reciprocals; /* 1 / (knots[j + d] - knots[j]), row d - 1 of count + degree + 1; 0 for
                            equal knots */
    int kink_count;      /* inner knots, or the seam, at which the direction of the tangent jumps */
    double *kinks;       /* ascending; the seam as `low` */
    int bend_count;      /* those at which the tangent is continuous and the curvature jumps */
    double *bends;
    int rate_count; /* others, at which a derivative by the parameter jumps, up to the fourth */
    double *rates;
    bool partial;   /* a view of a part (gw_nurbs_set_part()) */
    double part[2]; /* its bounds, beyond which its polynomials are extended */
} gw_nurbs_direction;

/* A control point (w x, w y, w z, w). */
typedef double gw_homogeneous __attribute__((vector_size(32), aligned(8)));

struct gw_nurbs {
    int dimension; /* 1: curve, 2: surface */
    gw_nurbs_direction direction[2];
    bool rational;          /* weights differ */
    gw_homogeneous *points; /* direction[0].count rows of direction[1].count */
    gw_vec3 *stated;        /* the control points as given */
    double *weights;        /* the weights as given, or NULL */
    gw_aabb bounds;         /* of the control points */
    double size;            /* diagonal of the bounds (m) */
    gw_nurbs *edge[4];      /* of a surface: curves at the ends of u, then of v; NULL for a point */
    struct gw_nurbs_pole *pole[4]; /* of a surface: the pole at such a point, or NULL */
    struct gw_nurbs_tree *tree;    /* for closest points (nurbs_nearest.h) */
    atomic_int references;
};

typedef struct gw_nurbs_def {
    int dimension;          /* 1: curve, the second entries are not read; 2: surface */
    int degree[2];          /* 1 to GW_MAX_NURBS_DEGREE */
    int count[2];           /* control points along u and v */
    int knot_count[2];      /* count + degree + 1 */
    const double *knots[2]; /* not decreasing; ends clamped or periodic */
    const gw_vec3 *points;  /* count[0] rows of count[1] (m) */
    const double *weights;  /* the same number, positive; NULL: all 1 */
    bool trimmed[2];        /* restricted to a part of the knots' domain: */
    double trim[2][2];      /* its least and its greatest parameter */
    struct gw_nurbs *like;  /* parts of this shape that are the same are reused; NULL: none */
} gw_nurbs_def;

/*
 * A shape with one reference, or NULL with an error: GW_BAD_INPUT with the member's pointer
 * relative to the geometry ("/knots/3" of a curve, "/points/1/2" of a surface), GW_TOO_LARGE,
 * GW_FAILED.
 *
 * Knots are clamped (the first and last degree + 1 are equal) or periodic (the spacing of the last
 * 2 degree + 1 repeats that of the first). A direction is closed if its knots are periodic and its
 * last `degree` control points equal the first ones, or if it is clamped and its ends meet. A
 * trimmed direction is not closed: it ends at its trims.
 *
 * With `like` the shape is the same to the last bit, and costs as much as the spans that a moved
 * control point reaches; it is `like` itself where all is equal.
 */
gw_nurbs *gw_nurbs_create(const gw_nurbs_def *def, gw_error *error);
gw_nurbs *gw_nurbs_get(gw_nurbs *nurbs); /* one more reference */
void gw_nurbs_put(gw_nurbs *nurbs);      /* one reference less; NULL is allowed */

/* True if both have the same degrees, knots and trims, and are both rational or both not. */
bool gw_nurbs_same_spans(const gw_nurbs *a, const gw_nurbs *b);

/* True if both are defined by the same numbers. */
bool gw_nurbs_equal(const gw_nurbs *a, const gw_nurbs *b);

/* ---- evaluation ----------------------------------------------------------------------------- */

/* d[k][l]: derivative k times by u and l times by v, for k + l up to the order asked; d[0][0] is
 * the point (m). */
typedef struct gw_nurbs_point {
    gw_vec3 d[GW_NURBS_ORDER + 1][GW_NURBS_ORDER + 1];
} gw_nurbs_point;

/* Knot spans of the last evaluation, where the next one looks first; zero at the start. */
typedef struct gw_nurbs_span {
    int at[2];
} gw_nurbs_span;

/*
 * The point and its derivatives to `order` (0 to GW_NURBS_ORDER). Parameters of closed directions
 * wrap around, others beyond the knots' ends continue the last span's polynomials (beyond a trim,
 * those of the untrimmed shape). `span` may be NULL. At a knot the derivatives are those of the
 * span above it.
 */
void gw_nurbs_evaluate(const gw_nurbs *nurbs, const double parameter[2], int order,
                       gw_nurbs_span *span, gw_nurbs_point *point);

/*
 * A view of a shape, which shares all its memory and must not outlive it: evaluation uses the
 * polynomials of a part of the parameters, low <= u < high, extended beyond its ends, so that
 * derivatives at kinks and bends are one-sided. Bounds may be infinite; a part of a closed
 * direction begins within the domain and is at most as long. Global searches need the shape itself.
 */
void gw_nurbs_view(const gw_nurbs *nurbs, gw_nurbs *view);
void gw_nurbs_set_part(gw_nurbs *view, int direction, double low, double high);

/*
 * The unit normal S_u x S_v of a surface at a point evaluated to second order; at a pole, where one
 * of them vanishes, its limit there from within the domain. Zero where there is none. Not for
 * curves.
 */
gw_vec3 gw_nurbs_normal(const gw_nurbs *nurbs, const double parameter[2],
                        const gw_nurbs_point *point);

/* Brings the parameters into the domain: closed directions wrap around, others end at their bounds.
 * True where one ended. */
bool gw_nurbs_into_domain(const gw_nurbs *nurbs, double parameter[2]);

/* ---- refinement: the same shape with other control points (nurbs_refine.c) ------------------ */

/* Inserts `count` ascending knots inside the domain; the result is clamped, so that a trimmed shape
 * has no control points beyond its trims. NULL with an error. */
gw_nurbs *gw_nurbs_insert_knots(const gw_nurbs *nurbs, int direction, int count,
                                const double *knots, gw_error *error);

/* Raises the degree by one in a direction; the result is clamped. NULL with an error. */
gw_nurbs *gw_nurbs_elevate(const gw_nurbs *nurbs, int direction, gw_error *error);

/* The knot spans that are not empty and overlap the domain: fills `spans` (may be NULL; indices of
 * their lower knots) and returns their number. */
int gw_nurbs_spans(const gw_nurbs *nurbs, int direction, int *spans);

/* Bezier control points of the part low .. high of one span in each direction: (degree u + 1) rows
 * of (degree v + 1). */
#define GW_BEZIER_POINTS ((GW_MAX_NURBS_DEGREE + 1) * (GW_MAX_NURBS_DEGREE + 1))
void gw_nurbs_bezier(const gw_nurbs *nurbs, const int span[2], const double low[2],
                     const double high[2], gw_homogeneous *points);

/* Sets a surface's `edge` to the curves at the ends of its parameters; false with an error. `like`:
 * as in gw_nurbs_def. */
bool gw_nurbs_make_edges(gw_nurbs *surface, const gw_nurbs *like, gw_error *error);

/* ---- private to this folder ------------------------------------------------------------------ */

/* The span (index of its lower knot) of a parameter, which lies in low .. high; `hint`: where to
 * look first. */
int gw_nurbs_find_span(const gw_nurbs_direction *direction, double parameter, int hint);

/* Copies the trim of `direction` to direction k of a definition. */
void gw_nurbs_keep_trim(const gw_nurbs_direction *direction, gw_nurbs_def *def, int k);

/*
 * The polar form of a span: weights b (degree + 1) with f(t_1, .., t_degree) = sum_r b_r P_(span -
 * degree + r), f being the multi-affine symmetric function with f(u, .., u) = P(u) there
 * (Ramshaw). For equal arguments the basis functions.
 */
void gw_nurbs_polar_weights(const gw_nurbs_direction *direction, int span, const double *arguments,
                            double *weights);

#endif
