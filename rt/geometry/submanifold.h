/*
 * The set of poses that a body may take, a submanifold of SE(3), as a value.
 *
 * It is written two ways. Parametrically, psi(z), as the product of a rotational and a
 * translational factor (framework eq. 15, Table II; relational-positioning Tables III to V), the
 * translation being the locus of one point:
 *
 *   point of the body on a locus in the world:   P(z_T) = R(z_R) s + t,       s = `of`
 *   point of the world on a locus of the body:   R(z_R) P(z_T) + t = s,       s = `of`
 *
 * The locus may move as the body rotates, its origin being linear in R (relational-positioning eqs.
 * 11 to 14): so for several different points of the body on lines and planes of the world.
 *
 * and algebraically, as independent scalar rows H(x) = 0 (framework eq. 14), which every set has
 * and which are all that a `general` set has (its factors do not separate): that one is
 * parameterised locally, by projection along its tangent space.
 *
 * Poses are world_from_body, the body's own frame (not the tool's). Values that own no memory
 * (free-form shapes are shared): any thread, RT safe.
 */
#ifndef GW_GEOMETRY_SUBMANIFOLD_H
#define GW_GEOMETRY_SUBMANIFOLD_H

#include "rt/base/limits.h"
#include "rt/base/space.h"
#include "rt/geometry/element.h"
#include "rt/geometry/nurbs_pole.h"

/* Rotational factor; the comment gives R(z_R) and the dimension. */
typedef enum gw_rotation_kind {
    GW_ROTATION_FREE,       /* any R: 3 */
    GW_ROTATION_ANGLE,      /* R(axis, phi) R0 R(axis_body, theta): 2 */
    GW_ROTATION_AXIS,       /* R(axis, phi) R0: 1 */
    GW_ROTATION_FIXED,      /* R0: 0 */
    GW_ROTATION_TWO_ANGLES, /* two angles, axis . R axis_body and another such pair: 1 */
    GW_ROTATION_NORMAL,  /* an axis along the normal of the locus's surface, and the rotation about
                            it: 1 (along_normal.h) */
    GW_ROTATION_TANGENT, /* the same along the tangent of a curve */
    GW_ROTATION_GENERAL  /* of a general set; its dimension where it is known */
} gw_rotation_kind;

/* True if the rotation follows from the point of the locus, up to the rotation about an axis. */
static inline bool gw_rotation_follows_locus(gw_rotation_kind kind)
{
    return kind == GW_ROTATION_NORMAL || kind == GW_ROTATION_TANGENT;
}

/* Locus of a point, with e1, e2, e3 orthonormal; the comment gives P(z_T). */
typedef enum gw_locus_kind {
    GW_LOCUS_FREE,     /* origin + z1 e1 + z2 e2 + z3 e3 */
    GW_LOCUS_PLANE,    /* origin + z1 e1 + z2 e2, normal e3 */
    GW_LOCUS_SPHERE,   /* origin + a u, |u| = 1 */
    GW_LOCUS_CYLINDER, /* origin + z1 e3 + a (cos z2 e1 + sin z2 e2) */
    GW_LOCUS_LINE,     /* origin + z1 e3 */
    GW_LOCUS_CIRCLE,   /* origin + a (cos z1 e1 + sin z1 e2), normal e3 */
    GW_LOCUS_ELLIPSE,  /* origin + a cos z1 e1 + b sin z1 e2, normal e3, a >= b */
    GW_LOCUS_CURVE,    /* C(z1) of a free-form curve */
    GW_LOCUS_SURFACE,  /* S(z1, z2) + a n(z1, z2) of a free-form surface, n its unit normal */
    GW_LOCUS_POINT,    /* origin */
    GW_LOCUS_GENERAL   /* of a general set */
} gw_locus_kind;

/* The second pair of a rotation with two angles, and quantities that two_angles.c derives. */
typedef struct gw_second_angle {
    gw_vec3 axis, axis_body;       /* unit, world and body */
    double angle;                  /* between axis and R axis_body (rad) */
    int loops;                     /* closed curves that the set consists of: 1 or 2 */
    int loop;                      /* which of two: 1 or -1; 0: they cross, and are one set */
    double cosine, sine, cosine_2; /* of the angles */
    double sine_axes, cosine_axes; /* between the axes of the world */
    double cosine_body;            /* between those of the body */
    gw_vec3 e1, e2;                /* of the world, normal to the first pair's axis */
    gw_quat body;                  /* the frame of the axes of the body */
    double middle, half;           /* of the diagonal's cosine c, middle +- half */
    double azimuth_low, azimuth_high, turn_low, turn_high; /* ends of c */
    unsigned char at_low, at_high; /* roots that end c at middle - half, + half */
} gw_second_angle;

typedef struct gw_rotation_set {
    gw_rotation_kind kind;
    int dof;
    gw_quat zero;      /* R0: R at phi = theta = 0, or psi = 0; kinds normal and tangent: turns the
                          axis's owner so that the axis is z */
    gw_vec3 axis;      /* unit, world; kinds normal, tangent: where the shape is the body's */
    gw_vec3 axis_body; /* unit, body; for kind axis: R0^T axis; kinds normal, tangent: where
                          the shape is the world's */
    double angle;      /* kinds angle, two angles: between axis and R axis_body (rad) */
    gw_second_angle second; /* kind two angles */
} gw_rotation_set;

typedef struct gw_locus {
    gw_locus_kind kind;
    gw_vec3 origin;
    gw_vec3 e1, e2, e3;
    double a, b;           /* radius, or semi-axes (m) */
    const gw_nurbs *nurbs; /* curve, surface: in the frame e1, e2, e3 at the origin */
    double start[2];       /* start parameters of closest points */
    long *work;            /* see gw_submanifold_count_work() */
} gw_locus;

/* The origin of a locus moves by -along (normal . R arm), or, for one of the body, by
 * -along (normal . R^T arm); `arm` is a vector of the other side. */
typedef struct gw_locus_shift {
    gw_vec3 along, normal, arm;
} gw_locus_shift;

#define GW_MAX_SHIFTS 3

typedef struct gw_translation_set {
    int dof;
    gw_locus locus; /* without its shifts */
    bool in_mobile; /* false: locus in the world; true: in the body's frame */
    gw_vec3 of;     /* the point on the locus: of the body, or of the world when in_mobile */
    int shift_count;
    gw_locus_shift shifts[GW_MAX_SHIFTS];
} gw_translation_set;

/*
 * One scalar row of H(x). m: point or vector of the body, f: of the world; n: unit vector of
 * whichever side owns the line or plane. X = R m + t is the body's point in world axes.
 * Each is scaled to metres or radians.
 */
typedef enum gw_row_kind {
    GW_ROW_PLANE,         /* n . (X - f) - value            plane of the world, point of the body */
    GW_ROW_PLANE_BODY,    /* (R n) . (f - X) - value        plane of the body, point of the world */
    GW_ROW_SPHERE,        /* |X - f| - value, value > 0 */
    GW_ROW_CYLINDER,      /* |(I - n n^T)(X - f)| - value, value > 0, axis n through f */
    GW_ROW_CYLINDER_BODY, /* |(I - Rn Rn^T)(f - X)| - value, axis n through m of the body */
    GW_ROW_ANGLE,         /* n . R m - value: n a unit vector of the world, m one of the body */
    /* of the point, in the frame q of a free-form shape at f or, where the body owns it, at m: */
    GW_ROW_SURFACE,      /* distance along the surface's normal - value; m the body's point */
    GW_ROW_SURFACE_BODY, /* the same; f the world's point */
    GW_ROW_CURVE,        /* n . (X - C), C the closest point, n of the shape's frame */
    GW_ROW_CURVE_BODY,
    /* n . N, N the surface's normal at the point closest to X, which is about `value` from it; n a
     * vector of the point's owner, as long as the row is to be in metres */
    GW_ROW_NORMAL,
    GW_ROW_NORMAL_BODY,
    /* n . T, T the curve's unit tangent at the point closest to X; the same n */
    GW_ROW_TANGENT,
    GW_ROW_TANGENT_BODY
} gw_row_kind;

#define GW_ROW_KINDS (GW_ROW_TANGENT_BODY + 1)

/* True where the body owns the plane, axis or shape, and the world the point. */
static inline bool gw_row_owned_by_body(gw_row_kind kind)
{
    return kind == GW_ROW_PLANE_BODY || kind == GW_ROW_CYLINDER_BODY ||
           kind == GW_ROW_SURFACE_BODY || kind == GW_ROW_CURVE_BODY || kind == GW_ROW_NORMAL_BODY ||
           kind == GW_ROW_TANGENT_BODY;
}

/* True for products of a vector with the normal or the tangent of a shape. */
static inline bool gw_row_of_direction(gw_row_kind kind)
{
    return kind >= GW_ROW_NORMAL;
}

typedef struct gw_row {
    gw_row_kind kind;
    gw_vec3 m, f, n;
    double value; /* m; for an angle the cosine */
    gw_quat q;
    const gw_nurbs *nurbs; /* of free-form shapes */
    double start[2];       /* parameters near those wanted */
    bool past_edges; /* the surface is extended past its edges by its last spans' polynomials */
    bool still;      /* of a curve: `start` is kept in place of the closest point */
    bool implied;    /* by the two other rows of a point on a curve: see gw_rows_follow() */
    long *work;      /* see gw_submanifold_count_work() */
} gw_row;

typedef struct gw_submanifold {
    bool general;
    int dof; /* dimension of the set */
    gw_rotation_set rotation;
    gw_translation_set translation;
    int row_count;
    gw_row rows[GW_MAX_ROWS]; /* independent at a generic pose, except for general sets */
    gw_pose seed;             /* a pose on the set; the zero of a general set's parameters */
} gw_submanifold;

/* All of SE(3): six freedoms, no rows. */
gw_submanifold gw_submanifold_free(void);

/* From this call on, work on the set's free-form shapes is subtracted from *work, in rows evaluated
 * (gw_nurbs_cell_work(), GW_NURBS_FOLLOW_WORK), also for copies of the set. When it is used up,
 * descents, traces and geodesics end, and closest points of a locus are searched in few cells.
 * NULL: not counted, unlimited. gw_rows_out_of_work(): true if the work of one of the rows is used
 * up. */
void gw_submanifold_count_work(gw_submanifold *set, long *work);
bool gw_rows_out_of_work(const gw_row *rows, int count);

/* ---- algebraic side ------------------------------------------------------------------------- */

/* H at the pose: row_count values (m or 1). */
void gw_rows_value(const gw_row *rows, int count, const gw_pose *world_from_body, double *h);

/* Distance of the point of an offset row beyond an edge of its surface (m), where the closest point
 * is not below it; and, if not 0, its gradient by [v; w], the pose's twist in world axes. 0 over
 * the surface, for all other rows, and for rows that are followed past edges. */
double gw_row_overhang(const gw_row *row, const gw_pose *world_from_body, double gradient[6]);

/* True if the points of all offset rows are over their surfaces, not beyond an edge, no other part
 * of the surface is nearer, and no direction is along a normal at an apex, where there is none.
 * Rows that are followed past edges are not tested. */
bool gw_rows_over_surfaces(const gw_row *rows, int count, const gw_pose *world_from_body);

/* Follows the closest points of free-form rows from `start`, past edges, while bodies move; the
 * first call searches globally. */
void gw_rows_follow(gw_row *rows, int count, const gw_pose *world_from_body);

/* The same along the path from one pose to another, offsets included. False, with nothing changed,
 * if a point reaches a fold of its offset surface, where its branch of closest points ends. */
bool gw_rows_follow_unfolded(gw_row *rows, int count, const gw_pose *from, const gw_pose *to);

/* *past: distance of a followed row's closest point past the nearer end of direction k of its shape
 * (m, negative before the end), and its gradient by [v; w]. False if the direction is closed, or if
 * row i shares the closest point of the row before it. */
bool gw_row_past_edge(const gw_row *rows, int i, const gw_pose *world_from_body, int k,
                      double *past, double gradient[6]);

/* Sets the start parameters of free-form rows to their closest points at x, which saves a global
 * search each in evaluations at successive poses. */
void gw_rows_start_at(gw_row *rows, int count, const gw_pose *x);

/* A: count rows of 6, d(row)/dt = A [v; w], with v the velocity of the body's origin and w the
 * angular velocity, world axes (framework eq. 7). */
void gw_rows_jacobian(const gw_row *rows, int count, const gw_pose *world_from_body,
                      double (*a)[6]);

/* Both at once. */
void gw_rows_value_and_jacobian(const gw_row *rows, int count, const gw_pose *world_from_body,
                                double *h, double (*a)[6]);

/* The same with start parameters `starts` (a pair per row), which become those found: for
 * successive poses. NULL: the rows' own. */
void gw_rows_value_and_jacobian_from(const gw_row *rows, int count, const gw_pose *x,
                                     double (*starts)[2], double *h, double (*a)[6]);

/* The bias A-dot [v; w] of each row at that twist (framework eq. 8). */
void gw_rows_bias(const gw_row *rows, int count, const gw_pose *world_from_body,
                  const gw_twist *twist, double *bias);

/* Newton's method from the pose to H = 0 by rank-revealing least-norm steps in the metric with
 * `length` (m). `rank`: of the rows on the set, 6 less its freedoms; rows that are redundant on the
 * set are independent off it, and would move the pose along it. Returns the residual's largest
 * entry (m) after at most `iterations`. */
double gw_rows_project(const gw_row *rows, int count, int rank, double length, int iterations,
                       gw_pose *world_from_body);

/* ---- parametric side ------------------------------------------------------------------------ */

/*
 * One named parameter of a branch. Rotational parameters come first, then translational ones.
 * Names: axis, normal, tangent: phi; angle: phi, theta; two angles: psi; free: yaw, pitch, roll
 * (R(k,yaw) R(j,pitch) R(i,roll)); line: s; plane: s, t; free: x, y, z; circle and ellipse: phi_t;
 * cylinder: s, phi_t; sphere: azimuth, polar; curve: s; surface: u, v; general: z1 ... zn about the
 * seed.
 */
typedef struct gw_submanifold_parameter {
    const char *name;
    const char *part; /* "rotation" or "translation"; "pose" for a general set */
    const char *unit; /* "rad" or "m"; "1" of a free-form shape's parameters */
    double low, high; /* range; infinite if there is none */
    bool periodic;
} gw_submanifold_parameter;

/* Every name that a parameter of some set has; a null pointer ends the list. */
const char *const *gw_submanifold_parameter_names(void);

/* Fills `out` (6 entries) and returns the number of parameters, which is dof. */
int gw_submanifold_parameters(const gw_submanifold *set, gw_submanifold_parameter *out);

/*
 * The pose at the given parameters (dof values). Those of a general set are coordinates in the
 * tangent space of its seed, valid up to the first fold of the set over it. False beyond that;
 * `pose` is then the last one reached.
 */
bool gw_submanifold_try_pose(const gw_submanifold *set, const double *parameters, gw_pose *pose);

/* The same without the returned status. */
gw_pose gw_submanifold_pose(const gw_submanifold *set, const double *parameters);

/* The pose with a rotation of the rotational factor and the point at `place` of the unshifted locus
 * (m, in the frame of the locus's owner). Not for general sets. */
gw_pose gw_submanifold_pose_at(const gw_submanifold *set, gw_quat rotation, gw_vec3 place);

/* The parameters of a pose that is on the set (dof values, periodic ones in their range). */
void gw_submanifold_parameters_at(const gw_submanifold *set, const gw_pose *world_from_body,
                                  double *parameters);

/* The pose of the set nearest to `near` by gw_pose_distance(.., length); the distance (m). */
double gw_submanifold_nearest(const gw_submanifold *set, const gw_pose *near, double length,
                              gw_pose *nearest);

/* The same, but for a general set by a local descent from its seed, which may miss a nearer pose on
 * another part of the set. For sets that are followed while they move. */
double gw_submanifold_nearest_local(const gw_submanifold *set, const gw_pose *near, double length,
                                    gw_pose *nearest);

/* An orthonormal basis of the tangent space at a pose on the set: dof columns of twists [v; w] of
 * the body's origin, rotations weighted with `length` (m). Closed form where the set has one. */
void gw_submanifold_tangent(const gw_submanifold *set, const gw_pose *world_from_body,
                            double length, double (*basis)[6]);

/* True if a pose that satisfies the rows is on the set: rows of parallels and fixed rotations are
 * also satisfied by opposite vectors, and rows of a general set possibly by poses with fewer
 * freedoms. */
bool gw_submanifold_contains(const gw_submanifold *set, const gw_pose *world_from_body);

const char *gw_rotation_kind_name(gw_rotation_kind kind);
const char *gw_locus_kind_name(gw_locus_kind kind);

/* ---- local charts, regular coordinates for integration --------------------------------------- */

/*
 * Coordinates z (dof of them) about a centre on the set, z = 0 at the centre: rotation vectors
 * for SO(3), central projection for the sphere, angles and lengths elsewhere.
 * Twists are of the body's origin in world axes, ordered [v; w].
 */
typedef struct gw_chart {
    const gw_submanifold *set;
    gw_pose centre;
    const gw_nurbs *shape;  /* curve, surface: the one evaluated, the locus's or a view of a part */
    gw_vec3 point;          /* P of the locus at the centre */
    gw_vec3 e1, e2, e3;     /* sphere: two tangent directions and the outward one at the centre */
    double cosine, sine;    /* circle, ellipse, cylinder: of the angle at the centre */
    double parameter[2];    /* curve, surface: at the centre; if `flat`, */
    bool flat;              /* x and y at the centre */
    gw_tangent_plane plane; /* of this plane (near a pole); */
    gw_nurbs_point at;      /* if not, the shape at the centre */
    double turn[2];         /* two angles: the tangent in the angles about both axes of the first */
    double basis[6][6];     /* general set: its tangent basis at the centre */
} gw_chart;

/* A chart about a pose on the set (general sets: projected onto it first). */
void gw_chart_at(const gw_submanifold *set, const gw_pose *world_from_body, gw_chart *chart);

/*
 * The z_dot at the centre of a body that moves with `twist`, which is tangent to the set (other
 * components are ignored). Not for general sets.
 */
void gw_chart_velocity(const gw_chart *chart, const gw_twist *twist, double *z_dot);

/* The range of coordinate k of a free-form locus, relative to the centre, that stays within its
 * edges; false for other loci, and in a plane. */
bool gw_chart_range(const gw_chart *chart, int k, double *low, double *high);

/* False if a new chart about z is better conditioned than this one. */
bool gw_chart_serves(const gw_chart *chart, const double *z);

/* Sets the start parameters of the set's free-form locus to those at z of this chart, for later
 * charts of the set. */
void gw_chart_update_start(const gw_chart *chart, const double *z, gw_submanifold *set);

/*
 * At z, moving with z_dot: the pose, the columns J of the twist ([v; w] = sum_k J[k] z_dot_k) and
 * the bias ([v; w]-dot = sum_k J[k] z_ddot_k + bias). Not for general sets.
 */
void gw_chart_eval(const gw_chart *chart, const double *z, const double *z_dot, gw_pose *pose,
                   double (*jacobian)[6], double *bias);

#endif
