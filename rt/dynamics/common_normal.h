/*
 * The common normal of two curved surfaces: points of both with their derivatives, the equations of
 * surface_contact.c at a contact point, and Newton's method on them. For the files about contacts
 * of surfaces, surface_contact.c and contact_points.c; RT safe.
 */
#ifndef GW_DYNAMICS_COMMON_NORMAL_H
#define GW_DYNAMICS_COMMON_NORMAL_H

#include "rt/dynamics/surface_contact.h"
#include "rt/geometry/nurbs_pole.h"

#define GW_NEWTON_STEPS 20
#define GW_CONVERGED    1e-8 /* of the size: after a step this short the error is of its square */
#define GW_FARTHEST     0.25 /* of the size: the longest Newton step over a surface */
#define GW_JUMP         0.2  /* of the size: a longer path must be that of a linear prediction */
#define GW_CONTRACTION  0.25 /* of the first step: a second one this short confirms it */
#define GW_CONFORMING   1e-7 /* of the inverse size: the least relative curvature */

/* A point of a surface or a curve with its tangents and second derivatives (world axes). */
typedef struct gw_patch {
    int count;                     /* of tangents */
    gw_vec3 p, n, t[2], second[3]; /* n outward; second derivatives: 11, 12, 22 */
    double to[2][2];               /* parameters from coordinates along the tangents */
    bool beyond;
    const gw_tangent_plane *plane; /* non-NULL where the coordinates are x, y of a pole's plane: */
    double xy[2];
} gw_patch;

/* Point, derivatives and normal in the body's frame, by coordinates of the contact point. */
typedef struct gw_raw_patch {
    gw_vec3 p, n, d[2], dd[3];
    bool beyond;
    const gw_tangent_plane *plane;
    double xy[2];
} gw_raw_patch;

/* A curve or a rim, which has one tangent. */
bool gw_surface_is_curve(const gw_surface *surface);

gw_raw_patch gw_raw_patch_at(const gw_surface *surface, const double *z);

/* The same in world axes, in coordinates whose tangents are orthonormal. */
gw_patch gw_patch_at(const gw_surface *surface, const double *z, const gw_body_frame *frame);

/* Moves a contact point by y along the tangents of its patch. */
void gw_patch_move(const gw_surface *surface, const gw_patch *patch, const double y[2], double *z);

/* Both sides at a contact point, and the matrices of the equations above. */
typedef struct gw_normal_system {
    gw_patch a, b;
    gw_vec3 n, d;
    double c[2][2], ii[2][2]; /* C; b_ij . n */
    double h[2][2], k[2][2];  /* H^-1; K */
    double nh[2][2];          /* N H^-1 */
} gw_normal_system;

/* False where it is singular. */
bool gw_invert2(const double m[2][2], double out[2][2]);

/* False where H is singular. */
bool gw_normal_system_at(const gw_closure_contact *contact, const gw_body_frame *a,
                         const gw_body_frame *b, const gw_contact_point *point,
                         gw_normal_system *s);

/* The smaller eigenvalue of K (1/m), which is symmetric at a common normal. */
double gw_least_relative_curvature(const gw_normal_system *s);

/* The path of Newton's method along a branch. Small bodies that are fast go far within a step, but
 * there the first step, the linear prediction, goes as far, and the second one is a small share of
 * it (the monotonicity test of Deuflhard 2004, theta <= 1/4): the branch is the same. */
typedef struct gw_branch_length {
    double total, first; /* (m) */
    bool predicted;
    int steps;
} gw_branch_length;

/* Adds a step (m); false where the branch is left: the path is long, and not as predicted (with
 * theta = 1/4 the whole path is at most 4/3 of the first step). */
static inline bool gw_branch_length_add(gw_branch_length *length, double step, double size)
{
    length->total += step;
    if (length->steps++ == 0)
        length->first = step;
    else if (length->steps == 2)
        length->predicted = step < GW_CONTRACTION * length->first;
    return length->steps == 1 || length->total < GW_JUMP * size ||
           (length->predicted && length->total < 4.0 / 3 * length->first);
}

/* How far Newton's method may go from its start. DESCEND: a's point takes the step of |K|, so that
 * it converges to a minimum of the gap, not to a maximum or a saddle. */
typedef enum gw_newton_reach { GW_ON_BRANCH, GW_ANYWHERE, GW_DESCEND } gw_newton_reach;

/* Newton's method from a contact point; false where it does not converge within its reach. */
bool gw_common_normal_follow(const gw_closure_contact *contact, const gw_body_frame *a,
                             const gw_body_frame *b, gw_newton_reach reach, gw_contact_point *point,
                             gw_normal_system *s);

/* Sample `i` of a surface or curve for a search; false past the last. */
bool gw_surface_sample(const gw_surface *surface, int i, double z[3]);

/* The contact point of a surface near the point x of its body's frame, the closest where that is
 * simple. */
void gw_surface_point_near(const gw_surface *surface, gw_vec3 x, double z[3]);

/* Moves z off an apex or a corner, where an edge degenerates to a point that is no pole and the
 * derivative by a parameter vanishes. */
void gw_move_off_apices(const gw_nurbs *nurbs, double z[2]);

gw_vec3 gw_into_body(const gw_body_frame *frame, gw_vec3 x);

#endif
