/*
 * Shared by the files of a system: trees (system_tree.c), closures (system_closures.c), forces and
 * accelerations (system_forces.c), steps (system_step.c), the model (system.c). Spatial vectors are
 * [v; w] and [f; t] in world axes, each body about its own origin.
 */
#ifndef GW_DYNAMICS_SYSTEM_PRIVATE_H
#define GW_DYNAMICS_SYSTEM_PRIVATE_H

#include <stdint.h>

#include "rt/base/spatial.h"
#include "rt/dynamics/guided.h"
#include "rt/dynamics/half_turn.h"
#include "rt/dynamics/local_model.h"
#include "rt/dynamics/runge_kutta.h"
#include "rt/dynamics/sym3.h"
#include "rt/dynamics/system.h"

/* Explicit substeps are used while h C + h^2 K over D of a quarter of a step is at most this. */
#define GW_EXPLICIT_SUBSTEPS 4
#define GW_EXPLICIT_LIMIT    2.0

#define GW_SYSTEM_RUNS 8 /* of an implicit substep at most: run k has k Euler steps */

/* Levels of accuracy of the last step, with which the next one begins (system_step.c). */
typedef struct gw_system_integrator {
    int level, patience, implicit_level;
    int unstiff;                /* steps left with explicit substeps while stiff; < 0: without */
    double implicit_dt;         /* period of the last step if it was implicit, else 0 */
    gw_wrench implicit_on_held; /* the hand's wrench in it, at the held body's origin */
    double owed; /* accumulated energy errors of explicit substeps within their tolerances (J) */
    double most; /* the largest recent kinetic energy (J) */
} gw_system_integrator;

/* Motion of a moving ground: by a constant twist, or by `at` (if not NULL), with `time` the seconds
 * since it was set. */
typedef struct gw_ground_state {
    bool moves;
    gw_base_motion steady;
    gw_ground_motion (*at)(const void *context, double t);
    const void *context;
    double time;
} gw_ground_state;

/* The remaining share of all offsets of joints and rows, and its rate (1/s). */
typedef struct gw_offset_share {
    double now, rate;
} gw_offset_share;

/* The system's state, which is the model's value: all that a copy has to contain. */
typedef struct gw_system_state {
    gw_model model;
    gw_system *system;
    gw_system_integrator integrator;
    uint64_t stamp; /* identifies the state; equal to system->stamp if the system's quantities are
                       up to date for it */
    gw_offset_share apart;
    gw_mobilizer_state joints[]; /* of each body; behind them, the state of each moving ground, and
                                    of each closure over kinks */
} gw_system_state;

/* Powers (W), or their integrals (J). `contact`: all external wrenches except the hand's; `pushed`:
 * its part by gw_system_push(), `second`: by the second hand; `base`: moving grounds; `dissipated`:
 * by damping; `energy_error`: of the energy balance, that refinement could not remove. */
typedef struct gw_system_work {
    double hand, contact, pushed, second, motors, base, dissipated, energy_error;
} gw_system_work;

/* f = M a + B alpha, t = B^T a + I alpha. */
typedef struct gw_articulated {
    gw_sym3 m;
    gw_mat3 b;
    gw_sym3 i;
} gw_articulated;

/* A plane in which bodies move: all joints between the ground and them rotate about its normal,
 * slide along the plane, or both. */
typedef struct gw_plane {
    gw_vec3 x, y, normal; /* unit vectors, right-handed */
    double gravity[2];
} gw_plane;

/* Planar quantities of a body; vectors in the plane's axes: [x, y] and [x, y, about the normal].
 * plane NULL: the body moves in space. Equations: system_planar.c. */
typedef struct gw_planar_body {
    const gw_plane *plane;
    bool expanded;             /* the body's spatial quantities are up to date as well */
    bool turns;                /* its joint rotates, else it slides or is fixed */
    double mass, spin_inertia; /* I_nn about the centre of mass */
    double sign;               /* of the coordinate */
    /* at angle zero of the parent, or of the body: */
    double joint_at[2], slide[2];    /* from the parent's origin; direction of a sliding joint */
    double body_at[2], centre_at[2]; /* from the joint; the centre of mass, from the origin */
    gw_half_turn begin;              /* `angle` and `half` at the substep's start */
    /* functions of positions; half: cosine and sine of half the angle */
    double angle, cosine, sine, half[2], position[2], r[2], arm[2], com[2], column[3];
    double inertia[6]; /* articulated, symmetric: xx, yx, yy, nx, ny, nn */
    double pulled[3];
    /* functions of velocities as well */
    double twist[3], coasting[2], needed[3];
    double force[3], acceleration[3];
    double damped_at[2], damper[2]; /* the point at which damping acts, from the origin */
    double height;                  /* along the normal */
    gw_quat upright, crossed;       /* orientation q, and normal times q */
} gw_planar_body;

/* A joint whose poses form a submanifold: its chart about `centre`, and at the joint's state the
 * bias acceleration of M in F (F's axes). */
typedef struct gw_set_joint {
    gw_submanifold set;
    gw_chart chart;
    gw_pose centre;
    gw_twist bias;
} gw_set_joint;

/* Order of the members: those that every pass over the bodies uses are together, so that they fit
 * into the L1 cache for twenty bodies; those of joints of several coordinates and set-up are last.
 */
typedef struct gw_system_body {
    bool is_at_joint;        /* m_from_body is the identity */
    bool turned_at_joint;    /* m_from_body is a rotation, and F is fixed in the parent */
    bool is_hinge;           /* one coordinate, a rotation of the body about its origin */
    bool has_principal_axes; /* its inertia is diagonal */
    bool is_free;            /* no joint forces */
    bool only_springs;       /* springs and dampers are the only joint forces */
    int dof, first;          /* number of coordinates; index of the first in the system's vectors */
    int ground;              /* the ground of its tree */
    gw_set_joint *set;       /* of a submanifold joint, else NULL */
    double damping_rate;     /* upper bound of the decay rate by the body's damping (1/s) */
    double inverse_d;        /* 1 / D of a single coordinate */
    double rest[6]; /* joint forces, then accelerations: scratch of the passes, as `force` and
                       `acceleration` */
    gw_planar_body flat;
    /* functions of positions; for a planar body only pose and `turn`, the rest by
     * gw_planar_expand() */
    gw_pose pose;
    gw_mat3 turn;        /* world_from_body */
    gw_vec3 r, com;      /* from the parent's origin; from the origin to the centre of mass */
    gw_sym3 inertia_com; /* about the centre of mass, world axes */
    /* functions of velocities as well */
    gw_twist twist;
    double coasting[6]; /* acceleration at u-dot = 0 */
    gw_wrench needed;   /* the rate of momentum at u-dot = 0 */
    double force[6], acceleration[6];
    gw_articulated inertia;   /* articulated inertia I^A; after the pass, of a joint with several
                                 coordinates, less U D^-1 U^T */
    gw_sym3 inertia_in_body;  /* about the centre of mass, in its axes */
    gw_quat upright, crossed; /* of a hinge: orientation parent_from_body at 0 and at pi */
    gw_vec3 axis;             /* its axis in the body's frame */
    gw_half_turn begin;       /* at the substep's start */
    gw_mobilizer_state joint;
    gw_system_body_def def;
    double columns[6][6];
    double pulled[6][6];                          /* U = I^A S, one row a coordinate */
    double inverse[6];                            /* 1 / L_ii; 0: without inertia */
    double chol[6][6];                            /* L of D = S^T I^A S = L L^T */
    double flat_columns[3][3], flat_pulled[3][3]; /* of a planar joint in its plane: S and U */
    double slide_across[2]; /* direction of its second coordinate, as `slide` */
    gw_pose m_from_body;
    gw_quat f_turn; /* orientation world_from_f; not of a hinge */
    gw_vec3 arm;    /* from M's origin to the body's */
    gw_vec3 damper; /* from the origin to the point at which damping acts, if damping_rate > 0 */
    double mobility[6]; /* the largest (D^-1 P)_jj of a few postures; 0: not known */
    /* not used in steps */
    bool keeps_bristle[6]; /* has taken over the friction of another system's joint */
    int island;           /* first body of its group of floating bodies; -1: joined to the ground */
    double least_inertia; /* lower bound of the principal inertias (kg m^2) */
} gw_system_body;

/* A moving ground; `body` has its pose, twist and acceleration (as `coasting`). */
typedef struct gw_moving_ground {
    gw_ground_state state;
    bool displaced; /* it moves, or is not at its pose at creation */
    bool in_space;  /* all bodies on it are treated as spatial */
    gw_system_body body;
} gw_moving_ground;

/* The offset of a joint's frame on its parent: the frame is multiplied by (share shift, exp(share
 * turn)); the share changes at a constant rate in a step. */
typedef struct gw_joint_offset {
    gw_vec3 shift, turn; /* in the frame's axes (m, rad) */
    gw_pose frame;       /* the displaced frame (world); its motion relative to the parent: */
    gw_vec3 v, w;        /* world axes (m/s, rad/s) */
} gw_joint_offset;

/* One row of a closure at a configuration: as wrenches on its bodies, with value, rate and bias. */
typedef struct gw_closure_row {
    int a, b;
    double on_a[6], on_b[6];
    int coordinate_a, coordinate_b; /* coordinates of their joints on which these act */
    double on_coordinate_a, on_coordinate_b;
    double flat_a[3], flat_b[3]; /* on_a and on_b in the plane of a planar body */
    double value, rate, bias;    /* g (of velocity rows 0), J v, J-dot v */
    double scale;                /* factor to metres */
} gw_closure_row;

/* A body on the paths from a closure's two bodies to their roots; each body is listed once,
 * children before parents. */
typedef struct gw_path_body {
    int body, parent_at; /* index of the parent on the path; -1: none */
    int answers;         /* index in s->answers of L^-1 S^T p of the rows, `dof` entries each */
} gw_path_body;

/* The rows of a closure, or of a spring, as a block of the Delassus operator. */
typedef struct gw_closure_block {
    int a, b;
    int first, rows, position_rows; /* rows, position rows first */
    int asked, active, rank; /* numbers of rows: to be factored; of these, with effect on a joint
                                (listed in s->live); of these, independent */
    int path, path_count, a_at, b_at; /* bodies; indices of a and b among them; -1: ground */
    int turn;                         /* position in the order of elimination */
    int diagonal;                     /* index of the diagonal block in s->delassus and s->factor */
    int below, below_count; /* blocks below it in its column, in the order of elimination */
    unsigned idle;          /* bit i: row i is not evaluated; it has no effect on any joint */
    unsigned left_out;      /* the same while there are offsets: the row is dependent on others */
    unsigned aside;         /* the same of rows of twins and of unilateral contacts: inactive now */
    bool simple;            /* all rows are GW_ROW_PLANE or GW_ROW_ANGLE */
} gw_closure_block;

/* An off-diagonal block of the operator. */
typedef struct gw_block_below {
    int block; /* the block of its rows; its columns are those of the block that it is below */
    int at;
} gw_block_below;

/* The rows to be factored. */
typedef enum gw_active_rows {
    GW_ROWS_OF_POSITIONS,
    GW_ROWS_OF_CLOSURES,
    GW_ROWS_WITH_SPRINGS /* in an implicit step: closures and springs */
} gw_active_rows;

/* Cache of a held frame's Jacobian in one state, and of D^-1 P of its rows, as control uses both
 * several times a tick. */
typedef struct gw_system_jacobian {
    uint64_t stamp; /* of the state; 0: none */
    int body;
    gw_pose body_from_held;
    unsigned answered;              /* bit l: `answers` has D^-1 P of row l */
    double (*columns)[6], *answers; /* per coordinate; per row of six, dof entries */
    double drift[6];
} gw_system_jacobian;

/* A second held frame of a system. */
typedef struct gw_system_view {
    gw_model model;
    gw_system *system;
    int held;
    gw_pose body_from_held;
} gw_system_view;

struct gw_system {
    int body_count, closure_count, spring_count, dof, rank;
    int row_count, position_rows; /* of closures; the number of position rows */
    int active_rows;              /* rows in the present factors */
    gw_system_body *bodies;
    int ground_count;
    gw_moving_ground *grounds;
    bool all_planar;           /* every body moves in a plane */
    bool keeps_joint_wrenches; /* wrenches of joints and closures are computed, */
    bool continues;            /* but not in this step: gw_forces.continues */
    bool single;     /* every joint has one coordinate: body i is joint i is coordinate i */
    bool plain_tree; /* the same, without rows */
    bool is_free;    /* no joint has joint forces */
    bool is_damped;  /* a body has damping of its own */
    bool touched;    /* contacts act in this step */
    const double *load, *lock; /* gw_forces.load, .lock; NULL: none */
    bool in_stage;             /* in a stage, except the first, of an explicit step */
    bool one_pass;  /* the same of a plain tree: inertias and forces in one pass, gw_tree_solve() */
    bool flat_only; /* the same: only the held body's spatial quantities are needed */
    bool moving;    /* a ground or the share of the offsets moves */
    gw_offset_share apart; /* at the step's start */
    double apart_now;
    bool is_offset;           /* offsets are not zero */
    gw_joint_offset *offsets; /* of each body's joint */
    double *row_offsets;      /* subtracted from each row's value, times the share */
    gw_wrench *borne;         /* scratch of gw_grounds_power() */
    gw_twist *carried; /* twists of bodies in the motion of least kinetic energy that moving grounds
                          allow */
    double *least;     /* its velocities */
    uint64_t least_stamp;        /* stamp of the state of these */
    const gw_local_model *local; /* local model in use, with its D and G; NULL: exact */
    gw_plane *planes;            /* of planar trees, indexed by their first bodies */
    gw_closure_def *closures;
    int edge_count; /* closures with springs at edges */
    int kink_count; /* closures over kinks and bends (system_kinks.h) */
    struct gw_kinked_closure *kinks;
    struct gw_kink_state *kink_states;
    struct gw_unilateral_contacts *unilateral; /* system_unilateral.h */
    gw_system_spring_def *springs;
    gw_vec3 gravity;
    double length, total_mass;
    int held;
    gw_pose body_from_held;
    gw_closure_row *rows;
    int block_count; /* of closures, then of springs */
    gw_closure_block *blocks;
    gw_path_body *path;
    gw_block_below *below;
    int *elimination;             /* blocks in the order of elimination */
    int *through, *through_at;    /* per body, from through_at[body] to [body + 1]: pairs of a block
                                     whose path contains the body, and the index in `path` */
    int *pivots;                  /* per block: active rows in the order of elimination */
    int *live;                    /* per active row: its number among the block's rows */
    double *answers, *path_force; /* of rows along the paths */
    double *delassus, *factor;    /* blocks on the diagonal and below it */
    /* per active row: K_ii, the same if its bodies had no joints (at most the largest K_ii), its
     * remainder (Schur complement) during factorisation, right-hand side, multiplier */
    double *share, *loose, *rest, *right, *solution;
    double *least_multipliers; /* five per row: the multipliers, four vectors of scratch */
    int *dependent;            /* scratch of the same: rows without a pivot */
    int rows_in_blocks;        /* of closures and springs, active or not */
    double *dense;             /* operator and factor; NULL: too many rows */
    double *null_factor;       /* of N N^T (system_multipliers.c); NULL likewise */
    bool null_factored;        /* it is that of the present factors */
    int *dense_order, *dense_rows, dense_count;
    bool is_dense;    /* the present factors are those of the dense operator */
    int firm;         /* number of independent rows that are not weak (system_elimination.c) */
    double margin;    /* the smallest pivot relative to K_ii */
    double same_row;  /* a row with a smaller pivot relative to K_ii is dependent on others */
    double no_row;    /* a row with K_ii below this share of the largest has no effect on joints */
    double corrected; /* the largest correction of a joint by projection in this substep (rad; of
                         the length) */
    double *numbers;  /* memory of the arrays of doubles */
    gw_joint_force_model *models;   /* per coordinate, in an implicit step */
    signed char *motor_states;      /* per coordinate, of all runs, and of the Euler step before */
    signed char *last_motor_states; /* at the end of the last implicit substep */
    gw_mobilizer_state *home, *begin; /* at the start of the substep, and of the step */
    double *home_velocity;            /* velocities of all coordinates at home */
    double *by;                       /* displacement of the coordinates from home */
    double *rates, *accelerations;    /* rates of `by` and u-dot, gw_stage_stride() a stage */
    double *run_by, *run_velocity;    /* per run of an implicit substep */
    gw_pose *poses;                   /* poses of bodies, as passed to gw_forces */
    gw_twist *twists;
    gw_wrench *on, *by_springs, *joint_wrench, on_held, second; /* at the bodies' origins */
    gw_wrench *pushed;                                          /* gw_system_push() */
    gw_wrench *closure_wrench; /* per closure: on its body a, at the origin of a */
    bool is_pushed;            /* any of these is not zero */
    double *generalised;       /* forces at the coordinates, in addition to `on` */
    double *joint_force;       /* joint forces */
    double *added, *scratch;   /* added to the joint inertias in an implicit step; scratch */
    double kinetic, potential;
    gw_system_integrator integrator;
    double dt, substep; /* step that limits are tuned for; implicit substep under way */
    gw_model_ops ops, view_ops;
    gw_system_view view;
    gw_forces second_hand;          /* gw_system_second_hand() */
    gw_system_jacobian jacobian[2]; /* of the held frame and the second one */
    gw_system_state *model;
    gw_mobilizer_state *start;
    uint64_t stamp, last_stamp; /* of the state for which bodies, rows and factors are up to date;
                                   the last stamp issued */
    uint64_t implicit_stamp; /* of the state of the present implicit factors, where `stamp` is 0; */
    double implicit_over;    /* for a step of this length (s) */
};

/* ---- spatial vectors ------------------------------------------------------------------------ */

/* to += [f; t] at the parent's origin, r from there. */
static inline void gw_spatial_add_shifted(const double x[6], gw_vec3 r, double to[6])
{
    to[0] += x[0], to[1] += x[1], to[2] += x[2];
    to[3] += x[3] + (r.y * x[2] - r.z * x[1]);
    to[4] += x[4] + (r.z * x[0] - r.x * x[2]);
    to[5] += x[5] + (r.x * x[1] - r.y * x[0]);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The fixed ground as a body. */
extern const gw_system_body gw_ground_body;

static inline bool gw_has_springs(const gw_system *s) /* by_springs is in use */
{
    return s->spring_count > 0 || s->edge_count > 0;
}

static inline const gw_system_body *gw_body_of(const gw_system *s, int body)
{
    if (body >= 0)
        return &s->bodies[body];
    return body == GW_GROUND ? &gw_ground_body : &s->grounds[GW_MOVING_GROUND(body)].body;
}

/* The carrier of a body: its parent, or a ground that moves or was moved; else NULL. */
static inline const gw_system_body *gw_parent_or_ground_of(const gw_system *s,
                                                           const gw_system_body *k)
{
    int parent = k->def.parent;
    if (parent >= 0)
        return &s->bodies[parent];
    return parent != GW_GROUND && s->grounds[GW_MOVING_GROUND(parent)].displaced
               ? &s->grounds[GW_MOVING_GROUND(parent)].body
               : NULL;
}

/* Kinematics of a body for the rows of contacts (world axes). */
typedef struct gw_body_frame {
    gw_mat3 turn; /* world_from_body */
    gw_vec3 p;
    gw_twist twist;
} gw_body_frame;

static inline gw_body_frame gw_body_frame_of(const gw_system *s, int body)
{
    const gw_system_body *k = gw_body_of(s, body);
    return (gw_body_frame){k->turn, k->pose.p, k->twist};
}

/* Sets a row along d at the contact point c with velocity c_dot (equations: system_contacts.c). */
static inline void gw_put_point_row(gw_closure_row *r, const gw_body_frame *a,
                                    const gw_body_frame *b, gw_vec3 c, gw_vec3 c_dot, gw_vec3 d,
                                    gw_vec3 d_dot)
{
    gw_vec3 r_a = gw_sub(c, a->p), r_b = gw_sub(c, b->p);
    gw_vec3 slip = gw_sub(gw_add(a->twist.v, gw_cross(a->twist.w, r_a)),
                          gw_add(b->twist.v, gw_cross(b->twist.w, r_b)));
    gw_vec3 over_a = gw_cross(a->twist.w, gw_sub(c_dot, a->twist.v));
    gw_vec3 over_b = gw_cross(b->twist.w, gw_sub(c_dot, b->twist.v));
    gw_spatial_set(r->on_a, d, gw_cross(r_a, d));
    gw_spatial_set(r->on_b, gw_neg(d), gw_cross(d, r_b));
    r->rate = gw_dot(d, slip);
    r->bias = gw_dot(d_dot, slip) + gw_dot(d, gw_sub(over_a, over_b));
    r->scale = 1;
}

/* Sets a row of the relative angular velocity along d. */
static inline void gw_put_spin_row(gw_closure_row *r, gw_vec3 w_a, gw_vec3 w_b, double length,
                                   gw_vec3 d, gw_vec3 d_dot)
{
    gw_vec3 spin = gw_sub(w_a, w_b), zero = {0, 0, 0};
    gw_spatial_set(r->on_a, zero, d);
    gw_spatial_set(r->on_b, zero, gw_neg(d));
    r->rate = gw_dot(d, spin);
    r->bias = gw_dot(d_dot, spin);
    r->scale = length;
}

/* Copies the part of a joint's state that varies. */
static inline void gw_joint_copy(const gw_system_body *k, const gw_mobilizer_state *from,
                                 gw_mobilizer_state *to)
{
    if (k->dof != 1) {
        *to = *from;
        return;
    }
    to->z[0] = from->z[0], to->u[0] = from->u[0];
    to->bristle_root[0] = from->bristle_root[0];
    to->bristle_mobility[0] = from->bristle_mobility[0];
    to->limit_mobility[0] = from->limit_mobility[0];
    to->centre = from->centre, to->turn = from->turn;
}

/* ---- trees: system_tree.c -------------------------------------------------------------------- */

/* Poses, columns and inertias about the centres of mass, from the joints' positions; then twists,
 * accelerations at u-dot = 0 and the momentum rates there, from their velocities. */
void gw_tree_update_positions(gw_system *system);
void gw_tree_update_velocities(gw_system *system);
/* Both in one pass over the bodies, together with the bodies' own inertias. */
void gw_tree_update(gw_system *system);

/* The rate of momentum about a body's origin where it accelerates by [a; alpha]. */
gw_wrench gw_tree_momentum_rate(const gw_system_body *k, gw_vec3 a, gw_vec3 alpha);

/* Articulated inertias of all bodies and factors of their joint inertias D. `added` (NULL: zero) is
 * added at each coordinate, h times the bodies' damping to their inertias. */
void gw_tree_articulate(gw_system *system, double h, const double *added);

/* Inward pass from body `last` to the roots (no force acts on bodies after it): reduces the bodies'
 * `force` and the joints' `rest` to L^-1 u in `rest`. Outward pass: joint accelerations into
 * `rest`, body accelerations minus `coasting` into `acceleration`. */
void gw_tree_reduce(gw_system *system, int last);
void gw_tree_accelerate(gw_system *system);

/* D, dof x dof, row-major with `stride` entries a row, by composite rigid bodies, O(n^2). */
void gw_tree_mass_matrix(gw_system *system, double *d, int stride);

/* The three passes above in one, for a system without rows whose joints have one coordinate each:
 * from the bodies' own inertias (overwritten), `force` and `rest` to joint accelerations in `rest`
 * and body accelerations minus `coasting`. */
void gw_tree_solve(gw_system *system);

/* True for a planar body with a planar joint (three coordinates in its plane). */
static inline bool gw_planar_is_free(const gw_system_body *k)
{
    return k->flat.plane && k->dof == 3;
}

/* D_jj of a joint, without the added inertia. */
static inline double gw_tree_joint_inertia(const gw_system_body *k, int j)
{
    if (gw_planar_is_free(k))
        return gw_dot3(k->flat_columns[j], k->flat_pulled[j]);
    return k->flat.plane ? gw_dot3(k->flat.column, k->flat.pulled)
                         : gw_dot6(k->columns[j], k->pulled[j]);
}

/* x := L^-1 x and L^-T x of a joint's inertia. */
void gw_tree_solve_lower(const gw_system_body *k, double *x);
void gw_tree_solve_upper(const gw_system_body *k, double *x);

/* ---- joints that are submanifolds: system_submanifold_joint.c
 * ---------------------------------------------- */

/* Allocates, and sets the initial state from the definition. False: no memory. */
bool gw_set_joint_init(gw_system_body *k, double length);

/* The pose of M in F at the joint's state; sets the columns [v; w] of the joint's Jacobian (F's
 * axes, about M's origin) and the bias. */
gw_pose gw_set_joint_pose(gw_system_body *k, gw_vec3 v[6], gw_vec3 w[6]);

/* The joint's state at the pose of the set nearest to f_from_m, with the twist of M's origin in F's
 * axes. */
void gw_set_joint_place(gw_system_body *k, double length, const gw_pose *f_from_m,
                        const gw_twist *twist);

/* Re-centres the charts of joints that are far from their chart's centre. */
void gw_set_joints_recentre(gw_system *system);

/* Displaces `from` by by[j] in each coordinate; and the rates of `by` (mobilizer.h). */
static inline void gw_joint_move(const gw_system_body *k, const gw_mobilizer_state *from,
                                 const double *by, gw_mobilizer_state *to)
{
    for (int j = 0; j < k->dof && k->set; j++)
        to->z[j] = from->z[j] + by[j];
    if (!k->set)
        gw_mobilizer_move(k->def.joint, from, by, to);
}

static inline void gw_joint_rates(const gw_system_body *k, const double *by, double *rates)
{
    for (int j = 0; j < k->dof && k->set; j++)
        rates[j] = k->joint.u[j];
    if (!k->set)
        gw_mobilizer_rates(k->def.joint, by, k->joint.u, rates);
}

/* ---- bodies that move in a plane: system_planar.c -------------------------------------------- */

/* Finds planar bodies with the grounds at their present poses; bodies on a moving ground are
 * spatial. */
void gw_planar_find(gw_system *system);

/* The passes of spatial bodies for one planar body; p: the parent, NULL: the ground; `in_space`:
 * also sets the spatial pose, orientation and twist. gw_planar_update(): positions and velocities
 * at once and, with `inertia`, the body's own inertia. */
void gw_planar_update_position(gw_system_body *k, const gw_system_body *p, bool in_stage,
                               bool in_space);
void gw_planar_update_velocity(gw_system_body *k, const gw_system_body *p, bool in_space);
void gw_planar_update(gw_system_body *k, const gw_system_body *p, bool in_stage, bool in_space,
                      bool inertia);
void gw_planar_articulate(gw_system_body *k, const double *added, gw_system_body *p);
void gw_planar_reduce(gw_system_body *k, gw_system_body *p);
void gw_planar_accelerate(gw_system_body *k, const gw_system_body *p);

/* The body's own inertia in its plane, and h times its damping. */
void gw_planar_rigid_inertia(gw_system_body *k, double h);

/* Parts of gw_tree_solve(): adds inertia and force to the parent; computes the acceleration. */
void gw_planar_pass(gw_system_body *k, gw_system_body *p);
void gw_planar_take_acceleration(gw_system_body *k, const gw_system_body *p);

/* Adds the articulated inertia of a spatial child, and a wrench at its origin, to a planar
 * parent. */
void gw_planar_add_inertia(const gw_articulated *x, gw_vec3 r, gw_system_body *p);
void gw_planar_add_wrench(const double x[6], gw_vec3 r, gw_system_body *p);

/* The rate of momentum minus the weight (at the origin, world axes) for the acceleration `coasting`
 * + `acceleration`. */
gw_wrench gw_planar_momentum_rate(const gw_system_body *k, gw_vec3 gravity);

/* Sets the spatial columns, r, com, arm, inertia_com and coasting of all planar bodies. */
void gw_planar_expand(gw_system *system);

/* Velocity of the point at which the body's damping acts. */
static inline gw_vec3 gw_damped_velocity(const gw_system_body *k)
{
    return gw_add(k->twist.v, gw_cross(k->twist.w, k->damper));
}

/* The planar components of a wrench [f; t]; and a planar vector in world axes. */
static inline void gw_planar_wrench(const gw_plane *plane, gw_vec3 f, gw_vec3 t, double out[3])
{
    out[0] = gw_dot(plane->x, f), out[1] = gw_dot(plane->y, f), out[2] = gw_dot(plane->normal, t);
}

static inline gw_vec3 gw_planar_vector(const gw_plane *plane, double x, double y)
{
    return gw_mul_add(gw_scale(x, plane->x), y, plane->y);
}

/* to += a wrench at the parent's origin, r from there. */
static inline void gw_planar_add_shifted(const double f[3], double r_x, double r_y, double to[3])
{
    to[0] += f[0], to[1] += f[1];
    to[2] += f[2] + (r_x * f[1] - r_y * f[0]);
}

/* A body's acceleration at u-dot = 0, and the part due to u-dot. */
static inline gw_twist gw_bias_acceleration_of(const gw_system_body *k)
{
    const gw_planar_body *b = &k->flat;
    if (b->plane)
        return (gw_twist){gw_planar_vector(b->plane, b->coasting[0], b->coasting[1]), {0, 0, 0}};
    return (gw_twist){gw_linear_part(k->coasting), gw_angular_part(k->coasting)};
}

static inline gw_twist gw_acceleration_of(const gw_system_body *k)
{
    const gw_planar_body *b = &k->flat;
    if (b->plane)
        return (gw_twist){gw_planar_vector(b->plane, b->acceleration[0], b->acceleration[1]),
                          gw_scale(b->acceleration[2], b->plane->normal)};
    return (gw_twist){gw_linear_part(k->acceleration), gw_angular_part(k->acceleration)};
}

/* ---- grounds that move: system_ground.c ------------------------------------------------------ */

/* Puts all grounds at the world's origin, at rest. */
void gw_grounds_init(gw_system *system);

/* Applies changed states of the grounds, and determines the planar bodies again where necessary. */
void gw_grounds_update(gw_system *system);

/* Sets moving grounds and offsets to their values t s into the step. */
void gw_grounds_go_to(gw_system *system, double t);

/* Advances the grounds' states by dt. */
void gw_grounds_advance(gw_system *system, double dt);

/* Stops all grounds at their present poses; or returns them to their poses at creation. */
void gw_grounds_stop(gw_system *system);
void gw_grounds_reset(gw_system *system);
/* Sets the velocities nearest in the mass metric to these twists of the bodies (NULL: zero): those
 * after an impulse of joints and closures. Positions and factors must be up to date. */
void gw_grounds_project_twists(gw_system *system, const gw_twist *twists);
/* The same with joints that keep their velocity at their present one, as far as closures allow. */
void gw_grounds_project_others(gw_system *system, const gw_twist *twists);

/* The motion of least kinetic energy that the grounds' motion allows: `least`, `carried`. */
void gw_grounds_find_least(gw_system *system);

/* Removes `energy` (J) from the motion relative to that of least kinetic energy; returns the rest
 * that it could not remove. */
double gw_grounds_remove_energy(gw_system *system, double energy);

/* ---- energy out of the motion: system_energy_correction.c ------------------------------------ */

/* Removes `energy` (J; negative: adds it) at constant momentum of floating bodies, by scaling the
 * motion relative to the rigid motion of that momentum. Returns what it could not remove. */
double gw_system_remove_energy(gw_system *system, double energy);

/* Groups bodies that are connected with each other but with the ground by free joints only. */
void gw_system_find_islands(gw_system *system);

double gw_system_energy_rounding(const gw_system *system); /* rounding error of the energy (J) */

/* The power (W) of grounds and offsets; accelerations and multipliers must be up to date. */
double gw_grounds_power(const gw_system *system);

/* ---- closures: system_closures.c and system_elimination.c ----------------------------------- */

/* Blocks of the closures: paths, order of elimination, memory. False: no memory. */
bool gw_closures_init(gw_system *system);
void gw_closures_free(gw_system *system);

/* Finds rows without effect on any joint, as both bodies move in a plane normal to the row's
 * direction: their values are constant, and they are excluded from then on. */
void gw_closures_classify(gw_system *system);

/* Excludes dependent rows while there are offsets, which make them inconsistent with the others. */
void gw_closures_leave_out_dependent(gw_system *system);

/* Evaluates all rows for the bodies' state; or their rates and biases alone. */
void gw_closures_update_rows(gw_system *system);
void gw_closures_update_rates(gw_system *system);

/* Planar components of a block's rows for planar bodies. */
void gw_closures_flatten(const gw_system *system, const gw_closure_block *block);

#define GW_SAME_ROW     1e-11
#define GW_NO_ROW       1e-13
#define GW_SINGULAR_ROW 1e-6 /* replaces both in a step over a singular posture */

/* J D^-1 J^T of these rows, by the factors of the trees, and its factorisation. */
void gw_closures_factor(gw_system *system, gw_active_rows which);

/* Right-hand sides of all active rows: minus their accelerations at u-dot = 0. */
void gw_closures_set_bias(gw_system *system);

/* Active row n of a block. Right-hand sides in s->right and multipliers in s->solution begin at
 * block->first. */
static inline gw_closure_row *gw_active_row(const gw_system *s, const gw_closure_block *block,
                                            int n)
{
    return &s->rows[block->first + s->live[block->first + n]];
}

/* A solution of J D^-1 J^T solution = right, in metres, 0 for dependent rows; overwrites `right`.
 */
void gw_closures_solve(gw_system *system);

/* To the joints' `rest` as left by gw_tree_reduce() adds the multipliers that give the rows the
 * accelerations in s->right. */
void gw_closures_respond(gw_system *system);

/* Adds J^T lambda to the bodies' `force` and the joints' `rest`. */
void gw_closures_push_multipliers(gw_system *system);

/* Joint accelerations D^-1 J^T lambda, in `rest`, that give the rows those in s->right. */
void gw_closures_apply_inverse(gw_system *system);

/* The smallest K_ii of a row relative to that of its bodies without joints: near 0 close to a
 * posture where no joint moves along the row. */
double gw_closures_least_motion(const gw_system *system);

/* The largest row (m). */
double gw_closures_residual(const gw_system *system);

double gw_closure_residual(const gw_system *system, int closure);

/* Satisfies the `stated` closures at creation, until the residual, which is returned, is at most
 * `closed` (m) and contacts are found; joints that keep theirs have 1e12 times their inertia. */
double gw_closures_assemble(gw_system *s, const gw_closure_def *stated, int steps, double closed);

/* dq = -D^-1 J^T (J D^-1 J^T)^+ g, at most `steps` times; then projects velocities in the same way.
 * Leaves everything up to date. Returns the residual (m). */
double gw_closures_project(gw_system *system, int steps);

/* Updates everything; what keeps its velocity has 1e12 times its inertia in the factors. */
void gw_closures_factor_kept(gw_system *system);

/* Projects velocities onto J v = 0; all else must be up to date. Returns the energy removed (J). */
double gw_closures_project_velocities(gw_system *system);

/* The same after a substep, with small residuals: positions by the present factors. Returns the
 * kinetic energy removed (J). */
double gw_closures_correct(gw_system *system);

/* ---- contacts, knife edges, gears: system_contacts.c ----------------------------------------- */

/* Numbers of position and velocity rows of a closure. */
void gw_closure_row_counts(const gw_closure_def *def, int *positions, int *velocities);

/* True where a closure's free-form shapes have edges; springs at edges that closures are past:
 * forces into s->by_springs, energy (J), and moment as gw_springs_moment() (system_edges.c). */
bool gw_closure_has_edges(const gw_closure_def *closure);
void gw_edges_load(gw_system *system, gw_system_work *power);
double gw_edges_energy(const gw_system *system);
double gw_edges_moment(const gw_system *system);
double gw_edges_ground_power(const gw_system *system); /* of grounds with edges (W) */

/* True if all contacts of curved surfaces are points; else GW_BAD_INPUT with the number of the
 * closure. */
bool gw_contacts_check(gw_system *system, gw_error *error);

/* Records the contacts' curvatures at a step's start, for gw_system_degenerate_closure(). */
void gw_contacts_begin(gw_system *system, const gw_forces *forces);

/* Evaluates the rows of a closure that is not GW_CLOSURE_ROWS. */
void gw_contact_rows(const gw_system *system, gw_closure_def *def, gw_closure_row *positions,
                     gw_closure_row *velocities);

/* ---- springs: system_springs.c --------------------------------------------------------------- */

/* Wrenches of springs on the bodies into `by_springs`; adds the power of their dampers. */
void gw_springs_load(gw_system *system, gw_system_work *power);

/* Energy of springs (J); and the sum of tension times distance of its end points from the origin
 * (J), a measure of rounding. */
double gw_springs_energy(const gw_system *system);
double gw_springs_moment(const gw_system *system);

/* Rows of springs in an implicit step of h, and the implicit terms in `by_springs`. */
void gw_springs_update_rows(gw_system *system, double h);

/* The power of grounds by the springs attached to them (W). */
double gw_springs_ground_power(const gw_system *system);

/* Adds h C + h^2 K of them, of the twists in the bodies' `acceleration`, to `on`; returns its
 * power. And an upper bound of the eigenvalues of D^-1 P (h C + h^2 K). */
double gw_springs_resist(gw_system *system, double h);
double gw_springs_bound(const gw_system *system, double h);

/* ---- forces and accelerations: system_forces.c ---------------------------------------------- */

/* Updates everything that depends on the joints' states alone; or the part that depends on
 * velocities. */
void gw_system_update(gw_system *system);
void gw_system_update_velocities(gw_system *system);

void gw_system_energy(const gw_system *system, double *kinetic, double *potential);

/* The forces of a coordinate; of a ball joint, with the stiffness of the axis with the least
 * inertia. */
gw_joint_law gw_system_joint_law(const gw_system *system, const gw_system_body *body, int j);
gw_joint_law gw_system_ball_law(const gw_system *system, const gw_system_body *body);

static inline bool gw_is_ball(const gw_system_body *k)
{
    return k->def.joint == GW_MOBILIZER_SPHERICAL;
}

/* The rotation vector from an orientation, itself a rotation vector, to that of the ball joint. */
static inline gw_vec3 gw_ball_turn_from(const gw_system_body *k, const double rotation[3])
{
    gw_quat from = gw_quat_exp(gw_v3(rotation[0], rotation[1], rotation[2]));
    return gw_quat_log(gw_quat_mul(k->joint.turn, gw_quat_conj(from)));
}

/* Outer forces `t` seconds into a step, into `on` and `on_held`; and their power where the
 * bodies' twists are. */
void gw_system_evaluate_forces(gw_system *system, const gw_forces *forces, double t);
void gw_system_outer_power(const gw_system *system, const gw_forces *forces, gw_system_work *power);
void gw_system_held_frame(const gw_system *system, gw_pose *pose, gw_twist *twist);

/* u-dot of all joints, in `rest`, under the external forces evaluated before; adds the powers of
 * internal forces. */
void gw_system_accelerate(gw_system *system, gw_system_work *power);

/* D^-1 P (closures included) of s->generalised and, with `bodies`, of s->on; the result is in the
 * joints' `rest`, which gw_system_gather() copies into one array. */
void gw_system_apply_inverse_inertia(gw_system *system, bool bodies);
void gw_system_gather(const gw_system *system, double *out);

/* (D^-1 P)_jj of a joint's coordinate where the bodies are. */
double gw_system_mobility_at(gw_system *system, int body, int coordinate);

/* The same for all joints with joint forces; keeps the largest value so far in `mobility`, for
 * gw_system_is_stiff(). */
void gw_system_update_mobilities(gw_system *system);

/* Tunes the springs of limits that the coming step may reach to the present configuration. */
void gw_system_meet_limits(gw_system *system, double dt);

/* True where the largest eigenvalue of D^-1 P (h C + h^2 K) exceeds `limit`. */
bool gw_system_is_stiff(gw_system *system, double h, double limit);

/* True where an upper bound of it for a quarter of a step exceeds GW_EXPLICIT_LIMIT. */
bool gw_system_may_be_stiff(gw_system *system);

/* u-dot in a linearly implicit Euler step of h, with motors in these states, which are updated;
 * leaves the factors of that step. */
void gw_system_accelerate_implicitly(gw_system *system, double h, signed char *motor_states);
/* Factors of D + h C + h^2 K in place of those of D, with motors in the states that the last
 * implicit substep ended with. */
void gw_system_factor_implicitly(gw_system *system, double h);

double gw_system_motor_work(const gw_system *system, double h, const signed char *motor_states);
double gw_system_motor_work_max(const gw_system *system);

/* ---- by a local model: system_local_model.c ------------------------------------------------- */

/* gw_system_accelerate() and gw_system_apply_inverse_inertia() with D and G of s->local; forces
 * from s->joint_force and s->on. */
void gw_local_accelerate(gw_system *system);
void gw_local_apply_inverse(gw_system *system, bool bodies);

/* Its energies (J). */
double gw_local_kinetic(const gw_system *system);
double gw_local_weight_energy(const gw_system *system);

/* ---- the state: system.c --------------------------------------------------------------------- */

/* Updates everything for the state in s->model; and stores the present joints as that state. */
void gw_system_update_all(gw_system *system);
void gw_system_take_state(gw_system *system);

/* gw_model_ops.takes_load */
bool gw_system_takes_load(const gw_model *model);

/* ---- constraint forces: system_wrenches.c --------------------------------------------------- */

/* The body's rate of momentum minus weight, damping and external wrench, at its origin. */
gw_wrench gw_system_reaction(const gw_system *system, int body);

/* Adds the wrenches of a closure's row times `by` to those of its bodies; and accumulates the
 * wrenches of bodies from the leaves of the trees to the roots. `on`: per body, at its origin. */
void gw_add_row_wrench(const gw_closure_row *row, double by, gw_wrench *on);
void gw_sum_wrenches_to_roots(const gw_system *system, gw_wrench *on);

/* From the present accelerations: the constraint wrench at the held frame; where requested, also
 * the wrench of each joint on its body (the load of the body and its descendants minus closures),
 * and of each closure. */
void gw_keep_joint_wrenches(gw_system *system, gw_wrench *constraint);

/* ---- steps: system_step.c ------------------------------------------------------------------- */

void gw_system_step(gw_system *system, const gw_forces *forces, double dt, gw_step *step);

/* Acceleration without the hand and contacts, at `speed` times the state's velocities; for a system
 * that steps implicitly the mean over the coming step. */
void gw_system_free_acceleration_at(gw_system *system, const gw_system_state *state, double speed,
                                    double *a);
void gw_system_free_acceleration_over(gw_system *system, const gw_system_state *state, double h,
                                      double speed, double *a);

#endif
