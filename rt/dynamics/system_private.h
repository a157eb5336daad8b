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

/* Decay and squared phase of a quarter of a step, h C + h^2 K over D, that explicit substeps bear.
 */
#define GW_EXPLICIT_SUBSTEPS 4
#define GW_EXPLICIT_LIMIT    2.0

#define GW_SYSTEM_RUNS 8 /* of an implicit substep at most: of 1, 2, .. Euler steps */

/* How the last step was made, which the next one begins with (system_step.c). */
typedef struct gw_system_integrator {
    int level, patience, implicit_level;
    int unstiff;                /* steps for which explicit substeps do better in a stiff system */
    double implicit_dt;         /* its period where it was implicit, else 0 */
    gw_wrench implicit_on_held; /* the hand's in it, at the held body's origin */
    double owed; /* what explicit substeps have brought in, within their balances (J) */
    double most; /* their largest kinetic energy of late (J) */
} gw_system_integrator;

/* How a moving ground moves: steadily, or where `at` is given as that says, `time` being what went
 * by since. */
typedef struct gw_ground_state {
    bool moves;
    gw_base_motion steady;
    gw_ground_motion (*at)(const void *context, double t);
    const void *context;
    double time;
} gw_ground_state;

/* The share left of all offsets of joints and rows, and its rate (1/s). */
typedef struct gw_offset_share {
    double now, rate;
} gw_offset_share;

/* The state as a model: what a copy of it has to have. */
typedef struct gw_system_state {
    gw_model model;
    gw_system *system;
    gw_system_integrator integrator;
    uint64_t stamp; /* names the state: the system's, where it is the one that is worked out */
    gw_offset_share apart;
    gw_mobilizer_state joints[]; /* of each body; behind them, the state of each moving ground, and
                                    of each closure over kinks */
} gw_system_state;

/* Powers (W), or their integrals (J): of the hand, contacts, motors and grounds, and what damping
 * takes;
 * `contact` is of all that acts on bodies beside the hand, `pushed` what of it pushes them;
 * `energy_error` is energy that no formula could account for. */
typedef struct gw_system_work {
    double hand, contact, pushed, motors, base, dissipated, energy_error;
} gw_system_work;

/* f = M a + B alpha, t = B^T a + I alpha. */
typedef struct gw_articulated {
    gw_sym3 m;
    gw_mat3 b;
    gw_sym3 i;
} gw_articulated;

/* A plane that bodies move in: the joints from the ground to them turn about its normal, slide
 * along it, or both. */
typedef struct gw_plane {
    gw_vec3 x, y, normal; /* unit vectors, right-handed */
    double gravity[2];
} gw_plane;

/* A body that moves in a plane; vectors in the plane's axes: [x, y] and [x, y, about the normal].
 * Zero: it moves in space. (system_planar.c has the equations.) */
typedef struct gw_planar_body {
    const gw_plane *plane;
    bool expanded;             /* what the body holds in space is up to date, too */
    bool turns;                /* its joint does, else it slides or is fixed */
    double mass, spin_inertia; /* the latter about the centre, I_nn */
    double sign;               /* of the coordinate */
    /* where the parent's angle, or the body's, is zero: */
    double joint_at[2], slide[2];    /* from the parent's origin; direction of a sliding joint */
    double body_at[2], centre_at[2]; /* from the joint; the centre of mass, from the origin */
    gw_half_turn begin;              /* where the substep began, as `angle` and `half` */
    /* of positions; half: cosine and sine of half the angle */
    double angle, cosine, sine, half[2], position[2], r[2], arm[2], com[2], column[3];
    double inertia[6]; /* xx, yx, yy, nx, ny, nn: symmetric; as of bodies in space */
    double pulled[3];
    /* of velocities too */
    double twist[3], coasting[2], needed[3];
    double force[3], acceleration[3];
    double damped_at[2], damper[2]; /* the point that is damped, as the centre */
    double height;                  /* along the normal */
    gw_quat upright, crossed;       /* orientation q, and normal times q */
} gw_planar_body;

/* A joint that is a submanifold: its chart about `centre`, and what that gives at the joint's
 * state: the bias of M's motion in F (F's axes). */
typedef struct gw_set_joint {
    gw_submanifold set;
    gw_chart chart;
    gw_pose centre;
    gw_twist bias;
} gw_set_joint;

/* In this order: what every pass over the bodies reads and writes lies together, as twenty bodies
 * are to fit into the first cache with it; what several coordinates, or set-up alone, ask for comes
 * last. */
typedef struct gw_system_body {
    bool is_at_joint;        /* m_from_body is the identity */
    bool turned_at_joint;    /* that is a rotation, and F the parent's */
    bool is_hinge;           /* the joint turns the body about its origin, by one coordinate */
    bool has_principal_axes; /* its inertia is diagonal */
    bool is_free;            /* nothing acts at its joint */
    bool only_springs;       /* and dampers act at its joint: no friction, limit or motor */
    int dof, first;          /* coordinates; of them in the system's vectors */
    int ground;              /* that its tree stands on */
    gw_set_joint *set;       /* NULL: its joint is no submanifold */
    double damping_rate;     /* of the body's own damping, at most (1/s) */
    double inverse_d;        /* 1 / D of a single coordinate */
    double rest[6];          /* scratch of the passes, as `force` and `acceleration` */
    gw_planar_body flat;
    /* of positions; of a body in a plane only the pose and `turn`, the rest by gw_planar_expand()
     */
    gw_pose pose;
    gw_mat3 turn;        /* world_from_body */
    gw_vec3 r, com;      /* from the parent's origin; to the centre of mass */
    gw_sym3 inertia_com; /* about the centre of mass, world axes */
    /* of velocities too */
    gw_twist twist;
    double coasting[6]; /* acceleration at u-dot = 0 */
    gw_wrench needed;   /* the rate of momentum there */
    double force[6], acceleration[6];
    gw_articulated inertia;   /* I^A; less what it yields of a joint of several coordinates */
    gw_sym3 inertia_in_body;  /* about the centre of mass, in its axes */
    gw_quat upright, crossed; /* of a hinge: parent_from_body at 0 and at pi */
    gw_vec3 axis;             /* its axis in the body's frame */
    gw_half_turn begin;       /* where the substep began */
    gw_mobilizer_state joint;
    gw_system_body_def def;
    double columns[6][6];
    double pulled[6][6];                          /* U = I^A S, one row a coordinate */
    double inverse[6];                            /* 1 / L_ii, 0 where nothing moves */
    double chol[6][6];                            /* L of D = S^T I^A S = L L^T */
    double flat_columns[3][3], flat_pulled[3][3]; /* of a planar joint in its plane: S and U */
    double slide_across[2]; /* and the direction of its second coordinate, as `slide` */
    gw_pose m_from_body;
    gw_quat f_turn;     /* world_from_f, of a joint that is no hinge */
    gw_vec3 arm;        /* from M's origin */
    gw_vec3 damper;     /* to the point that is damped, where damping_rate > 0 */
    double mobility[6]; /* the largest (D^-1 P)_jj of a few postures; 0: not known */
    /* what steps do not look at */
    int island;           /* the first body of those that float with it; -1: something holds it */
    double least_inertia; /* no axis through its centre of mass has less (kg m^2) */
} gw_system_body;

/* A ground that may move. As a body: where it is, its acceleration as `coasting`. */
typedef struct gw_moving_ground {
    gw_ground_state state;
    bool displaced; /* it moves, or is not where it was when the system was made */
    bool in_space;  /* no body on it counts as moving in a plane */
    gw_system_body body;
} gw_moving_ground;

/* A joint whose frame on the parent is not where it is to be: it is there times
 * (share way, exp(share turn)), with a steady share in a step. */
typedef struct gw_joint_offset {
    gw_vec3 way, turn; /* in the frame's axes (m, rad) */
    gw_pose frame;     /* where that is; its motion relative to the parent: */
    gw_vec3 v, w;      /* world axes (m/s, rad/s) */
} gw_joint_offset;

/* One row of a closure at a configuration: as wrenches on its bodies, and its right sides. */
typedef struct gw_closure_row {
    int a, b;
    double on_a[6], on_b[6];
    int coordinate_a, coordinate_b; /* of their joints, that these act on */
    double on_coordinate_a, on_coordinate_b;
    double flat_a[3], flat_b[3]; /* on_a and on_b of bodies that move in a plane */
    double value, rate, bias;    /* g (of velocity rows 0), J v, J-dot v */
    double scale;                /* to metres */
} gw_closure_row;

/* The bodies on the ways from a closure's two bodies to their roots, each once, children first. */
typedef struct gw_path_body {
    int body, parent_at; /* the parent's place on the path; -1: none */
    int answers;         /* L^-1 S^T p of the rows in s->answers, `dof` of each */
} gw_path_body;

/* The rows of a closure, or of a spring, as a block of the Delassus operator. */
typedef struct gw_closure_block {
    int a, b;
    int first, rows, position_rows; /* rows; the first of them are of positions */
    int asked, active, rank; /* that are to be factored; of them those that joints feel, in the
                                order of s->live; independent ones of these */
    int path, path_count, a_at, b_at; /* bodies of the path, and where a and b are; -1: ground */
    int turn;                         /* in the elimination */
    int diagonal;                     /* the block in s->delassus and s->factor */
    int below, below_count;           /* blocks under it, by their turns */
    unsigned idle;                    /* bit i: no joint ever feels row i */
    unsigned left_out;                /* the same while there are offsets: it follows from others */
    unsigned aside;                   /* the same of a row beyond a kink that holds nothing */
    bool simple;                      /* all rows keep a point in a plane, or an angle */
} gw_closure_block;

/* A block of the operator off its diagonal. */
typedef struct gw_block_below {
    int block; /* of its rows; its columns are those of the block that it is below */
    int at;
} gw_block_below;

/* Which rows are factored. */
typedef enum gw_active_rows {
    GW_ROWS_OF_POSITIONS,
    GW_ROWS_OF_CLOSURES,
    GW_ROWS_WITH_SPRINGS /* of an implicit step */
} gw_active_rows;

/* The Jacobian of a held frame in a state, and D^-1 P of its rows, as control asks for both more
 * than once a tick. */
typedef struct gw_system_jacobian {
    uint64_t stamp; /* of the state; 0: none */
    int body;
    gw_pose body_from_held;
    unsigned answered;              /* bit l: the answer of row l is kept */
    double (*columns)[6], *answers; /* of each coordinate; of each of six rows, dof of them */
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
    int row_count, position_rows; /* of closures; of them those of positions */
    int active_rows;              /* those that the factors are of */
    gw_system_body *bodies;
    int ground_count;
    gw_moving_ground *grounds;
    bool all_planar;           /* every body moves in a plane */
    bool keeps_joint_wrenches; /* wrenches of joints and closures are kept, */
    bool continues;            /* but not in this step: gw_forces.continues */
    bool single;     /* every joint has one coordinate: body i is joint i is coordinate i */
    bool plain_tree; /* the same, and no rows */
    bool is_free;    /* nothing acts at any joint */
    bool is_damped;  /* a body is, by itself */
    bool touched;    /* contacts act in this step, */
    const double *load, *lock; /* gw_forces.load, .lock; NULL: none */
    bool in_stage;             /* in a stage of an explicit step, but the first */
    bool one_pass;             /* the same of a plain tree: inertias go with the forces */
    bool flat_only;            /* the same: nothing looks at bodies in space but at the held one */
    bool moving;               /* any of them, or the share of the offsets */
    gw_offset_share apart;     /* as the step begins */
    double apart_now;
    bool is_offset;           /* there are offsets: */
    gw_joint_offset *offsets; /* of each body's joint */
    double *row_offsets;      /* of each row: value, less that */
    gw_wrench *borne;         /* scratch of gw_grounds_power() */
    gw_twist *carried;    /* of bodies in the motion of least energy that moving grounds allow */
    double *least;        /* its velocities */
    uint64_t least_stamp; /* of the state that these are of */
    const gw_local_model *local; /* D and G of which replace its own; NULL: exact */
    gw_plane *planes;            /* of the trees, by their first bodies, where they have one */
    gw_closure_def *closures;
    int edge_count; /* closures with edges */
    int kink_count; /* closures over kinks and bends (system_kinks.h) */
    struct gw_kinked_closure *kinks;
    struct gw_kink_state *kink_states;
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
    int *elimination;             /* blocks by their turns */
    int *through, *through_at;    /* of each body, in through_at[body] .. [body + 1]: blocks whose
                                     paths go through it by their turns, and where on the path */
    int *pivots;                  /* of each row's block: active rows in the order of elimination */
    int *live;                    /* of each active row: which of its block's rows it is */
    double *answers, *path_force; /* of rows along the paths */
    double *delassus, *factor;    /* blocks on the diagonal and below it */
    size_t block_numbers;         /* of each */
    /* of active rows: K_ii, and what is left of it while blocks are factored, right sides,
     * multipliers */
    double *share, *rest, *right, *solution;
    double *dense; /* two matrices; NULL: too many rows for them */
    int *dense_order, *dense_rows, dense_count;
    bool is_dense;    /* the factors are those of the dense operator */
    double margin;    /* the least share of its K_ii that a row had left in the factors */
    double same_row;  /* a row with less of its K_ii left follows from others */
    double no_row;    /* a row with less of the largest K_ii is moved by nothing */
    double corrected; /* how far the rows have moved joints since the substep's start (rad; of the
                        length) */
    double *numbers;  /* all arrays of numbers */
    gw_joint_force_model *models;     /* of every coordinate, in an implicit step */
    signed char *motor_states;        /* the same, of all runs, and of one step before */
    signed char *last_motor_states;   /* which the last implicit substep ended with */
    gw_mobilizer_state *home, *begin; /* where a substep begins, and a step */
    double *home_velocity;            /* there, of all coordinates */
    double *by;                       /* of the coordinates since then */
    double *rates, *accelerations;    /* rates of `by` and u-dot, gw_stage_stride() a stage */
    double *run_by, *run_velocity;    /* of the runs of an implicit substep */
    gw_pose *poses;                   /* of bodies, as forces are asked with them */
    gw_twist *twists;
    gw_wrench *on, *by_springs, *joint_wrench, on_held; /* at the bodies' origins */
    gw_wrench *pushed;                                  /* gw_system_push() */
    gw_wrench second;                                   /* gw_system_second_force() */
    gw_wrench *closure_wrench; /* of each, on its first body, at that one's origin */
    bool is_pushed;            /* any of them is not zero */
    double *generalised;       /* forces at the coordinates, besides what acts on the bodies */
    double *joint_force;       /* by what belongs to the joints */
    double *added, *scratch;   /* to the joints' inertias in an implicit step; free for use */
    double kinetic, potential;
    gw_system_integrator integrator;
    double dt, substep; /* period that limits are made for; of the implicit substep under way */
    gw_model_ops ops, view_ops;
    gw_system_view view;
    gw_system_jacobian jacobian[2]; /* of the held frame and the second one */
    gw_system_state *model;
    gw_mobilizer_state *start;
    uint64_t stamp, last_stamp; /* of what bodies, rows and factors are of; given last */
    uint64_t implicit_stamp; /* of the state whose implicit factors stand there, `stamp` being 0; */
    double implicit_over;    /* of a step of so long (s) */
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

/* The ground as a body, which stands still. */
extern const gw_system_body gw_ground_body;

/* Whether by_springs is in use. */
static inline bool gw_has_springs(const gw_system *s)
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
static inline const gw_system_body *gw_carrier_of(const gw_system *s, const gw_system_body *k)
{
    int parent = k->def.parent;
    if (parent >= 0)
        return &s->bodies[parent];
    return parent != GW_GROUND && s->grounds[GW_MOVING_GROUND(parent)].displaced
               ? &s->grounds[GW_MOVING_GROUND(parent)].body
               : NULL;
}

/* A body as contacts see it. */
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

/* A row along d at the point c, which moves by c_dot (system_contacts.c has the equations). */
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

/* A row of the relative angular velocity along d. */
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
/* Both, body by body; in one pass with the bodies' own inertias. */
void gw_tree_update(gw_system *system);

/* The rate of momentum about a body's origin where it accelerates by [a; alpha]. */
gw_wrench gw_tree_momentum_rate(const gw_system_body *k, gw_vec3 a, gw_vec3 alpha);

/* Articulated inertias of all bodies, and the factors of their joints' inertias; with `added`
 * (NULL: nothing) to the inertia at each coordinate, and h times their damping to the bodies'. */
void gw_tree_articulate(gw_system *system, double h, const double *added);

/* Reduces the bodies' `force` and the joints' `rest` to the joints', as L^-1 u, from body `last` to
 * the roots: nothing acts on those after it. Then the joints' accelerations by that into `rest`,
 * and the bodies', less `coasting`. */
void gw_tree_reduce(gw_system *system, int last);
void gw_tree_accelerate(gw_system *system);

/* D, dof x dof, row-major with `stride` entries a row, by composite rigid bodies, O(n^2). */
void gw_tree_mass_matrix(gw_system *system, double *d, int stride);

/* All three at once, where no rows hold the bodies and every joint has one coordinate: from the
 * bodies' own inertias, which are spent, `force` and `rest` to the joints' accelerations in `rest`,
 * and the bodies', less `coasting`. */
void gw_tree_solve(gw_system *system);

/* Of a body that moves in a plane: its joint is a planar one, which lets it move there as it will.
 */
static inline bool gw_planar_is_free(const gw_system_body *k)
{
    return k->flat.plane && k->dof == 3;
}

/* D_jj of a joint, without what was added to it. */
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

/* Takes memory, and the start from the definition. False: none. */
bool gw_set_joint_init(gw_system_body *k, double length);

/* M in F where the joint is; the columns' parts in F's axes about M's origin, and the bias. */
gw_pose gw_set_joint_pose(gw_system_body *k, gw_vec3 v[6], gw_vec3 w[6]);

/* The joint's state at the pose of the set nearest to f_from_m, with the twist of M's origin in F's
 * axes. */
void gw_set_joint_place(gw_system_body *k, double length, const gw_pose *f_from_m,
                        const gw_twist *twist);

/* Charts whose joints are far from their centres are made anew about where they are. */
void gw_set_joints_recentre(gw_system *system);

/* From `from` by so much of each coordinate; the rates of `by` (mobilizer.h). */
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

/* Finds them, where grounds are now; what stands on a ground that moves is in space. */
void gw_planar_find(gw_system *system);

/* The same as of bodies in space; p: the parent, NULL: the ground; `in_space`: their pose,
 * orientation and twist there, too. Both at once, and with the body's own inertia. */
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

/* Of gw_tree_solve(): inertia and force onto the parent; the acceleration. */
void gw_planar_pass(gw_system_body *k, gw_system_body *p);
void gw_planar_take_acceleration(gw_system_body *k, const gw_system_body *p);

/* Adds the articulated inertia of a child in space, and a wrench at it, to a parent in a plane. */
void gw_planar_add_inertia(const gw_articulated *x, gw_vec3 r, gw_system_body *p);
void gw_planar_add_wrench(const double x[6], gw_vec3 r, gw_system_body *p);

/* The rate of momentum less the weight (at the origin, in space), where the body accelerates by
 * `coasting` and `acceleration`. */
gw_wrench gw_planar_momentum_rate(const gw_system_body *k, gw_vec3 gravity);

/* Columns, r, com, arm, inertia_com and coasting of all bodies that move in planes. */
void gw_planar_expand(gw_system *system);

/* Of the point at which the body's damping counts. */
static inline gw_vec3 gw_damped_velocity(const gw_system_body *k)
{
    return gw_add(k->twist.v, gw_cross(k->twist.w, k->damper));
}

/* [f; t] as a plane's bodies feel it, and what they do, in space. */
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

/* A body's acceleration at u-dot = 0, and what comes on top. */
static inline gw_twist gw_coasting_of(const gw_system_body *k)
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

/* All where the world's origin is, before anything else is known of them. */
void gw_grounds_init(gw_system *system);

/* After their states were changed: puts them there, and looks again which bodies move in planes. */
void gw_grounds_update(gw_system *system);

/* Puts those that move, and offsets, where they are t seconds on. */
void gw_grounds_go_to(gw_system *system, double t);

/* dt went by. */
void gw_grounds_advance(gw_system *system, double dt);

/* All of them stop where they are, or go back to where they were when the system was made. */
void gw_grounds_stop(gw_system *system);
void gw_grounds_reset(gw_system *system);

/* The velocities nearest in the mass metric to these twists of the bodies (NULL: at rest): what
 * remains of them where joints and closures take hold at once. Positions and factors are there. */
void gw_grounds_project_twists(gw_system *system, const gw_twist *twists);

/* The motion of least kinetic energy, into `least` and `carried`. */
void gw_grounds_find_least(gw_system *system);

/* Takes `energy` (J) out of the motion beside the least one; returns what it cannot. */
double gw_grounds_remove_energy(gw_system *system, double energy);

/* ---- energy out of the motion: system_energy_correction.c ------------------------------------ */

/* Takes `energy` (J; negative: puts it) out of the motion at constant momentum of what floats: only
 * the motion beside the rigid one of that momentum can pay. Returns what it cannot. */
double gw_system_remove_energy(gw_system *system, double energy);

/* Bodies that hang together, and on the ground by free joints alone, float together. */
void gw_system_find_islands(gw_system *system);

double gw_system_energy_rounding(const gw_system *system); /* what of it is rounding (J) */

/* The power of the grounds, where accelerations and multipliers are (W). */
double gw_grounds_power(const gw_system *system);

/* ---- closures: system_closures.c and system_elimination.c ----------------------------------- */

/* Their blocks: paths, the order of elimination, memory. False: no memory. */
bool gw_closures_init(gw_system *system);
void gw_closures_free(gw_system *system);

/* Rows that no joint ever feels, as all of both bodies' move in a plane across what they hold:
 * their values stay, and they are left out from then on. */
void gw_closures_classify(gw_system *system);

/* Rows that follow from others are left out while there are offsets: on the way they contradict
 * these. */
void gw_closures_leave_out_dependent(gw_system *system);

/* All rows where the bodies are; rates and biases alone. */
void gw_closures_update_rows(gw_system *system);
void gw_closures_update_rates(gw_system *system);

/* The rows of a block as bodies that move in a plane feel them. */
void gw_closures_flatten(const gw_system *system, const gw_closure_block *block);

#define GW_SAME_ROW     1e-11
#define GW_NO_ROW       1e-13
#define GW_SINGULAR_ROW 1e-6 /* both, in a step over a singular posture */

/* J D^-1 J^T of these rows, by the trees' factors, and its factors. */
void gw_closures_factor(gw_system *system, gw_active_rows which);

/* Right sides of all active rows: less their accelerations at u-dot = 0. */
void gw_closures_set_bias(gw_system *system);

/* One of the rows that the factors are of, which have their right sides in s->right and their
 * multipliers in s->solution, from block->first on. */
static inline gw_closure_row *gw_active_row(const gw_system *s, const gw_closure_block *block,
                                            int n)
{
    return &s->rows[block->first + s->live[block->first + n]];
}

/* solution := (J D^-1 J^T)^+ right, of rows in metres; spends s->right. */
void gw_closures_solve(gw_system *system);

/* The joints' `rest` are what gw_tree_reduce() leaves there: adds the multipliers that give the
 * rows the accelerations in s->right. */
void gw_closures_respond(gw_system *system);

/* J^T of the multipliers, onto the bodies' `force` and the joints' `rest`. */
void gw_closures_push_multipliers(gw_system *system);

/* The joints' answer, in their `rest`, to accelerations of the rows in s->right. */
void gw_closures_apply_inverse(gw_system *system);

/* By how much joints move along the row that they move least, of what its bodies would be moved by
 * without joints: next to nothing near a posture where no joint moves along it. */
double gw_closures_least_motion(const gw_system *system);

/* The largest row (m). */
double gw_closures_residual(const gw_system *system);

double gw_closure_residual(const gw_system *system, int closure);

/* The same at creation; joints that keep what they have are as if 1e12 times as heavy. */
void gw_closures_assemble(gw_system *system, int steps);

/* dq = -D^-1 J^T (J D^-1 J^T)^+ g, at most `steps` times; then velocities onto the rows in the same
 * way. Leaves everything up to date where it ends. Returns what is left of g. */
double gw_closures_project(gw_system *system, int steps);

/* Velocities by J v = 0; everything else is up to date. Returns the kinetic energy that is taken,
 * of what rows stop (J). */
double gw_closures_project_velocities(gw_system *system);

/* The same after a substep, which leaves the closures all but closed: positions with the factors
 * that are there. */
void gw_closures_correct(gw_system *system);

/* ---- contacts, knife edges, gears: system_contacts.c ----------------------------------------- */

/* Rows of positions and of velocities that a closure takes. */
void gw_closure_row_counts(const gw_closure_def *def, int *positions, int *velocities);

/* Whether a closure's free-form shapes have edges; forces of those that closures are past, into
 * s->by_springs, and their energy (system_edges.c). Further as gw_springs_moment(). */
bool gw_closure_has_edges(const gw_closure_def *closure);
void gw_edges_load(gw_system *system, gw_system_work *power);
double gw_edges_energy(const gw_system *system);
double gw_edges_moment(const gw_system *system);
double gw_edges_ground_power(const gw_system *system); /* of grounds that have the edges (W) */

/* Whether curved surfaces touch in a point each; GW_BAD_INPUT with the number of the closure. */
bool gw_contacts_check(gw_system *system, gw_error *error);

/* Takes down how contacts touch as a step begins, for gw_system_degenerate_closure(). */
void gw_contacts_begin(gw_system *system);

/* The rows of a closure that is not GW_CLOSURE_ROWS, where the bodies are. */
void gw_contact_rows(const gw_system *system, gw_closure_def *def, gw_closure_row *positions,
                     gw_closure_row *velocities);

/* ---- springs: system_springs.c --------------------------------------------------------------- */

/* Their wrenches on the bodies into `by_springs`; adds the power of their dampers. */
void gw_springs_load(gw_system *system, gw_system_work *power);

/* Their energy (J); the sum of tensions times distances of where they act from the origin. */
double gw_springs_energy(const gw_system *system);
double gw_springs_moment(const gw_system *system);

/* Their rows in an implicit step of h, and what that adds to `by_springs`. */
void gw_springs_update_rows(gw_system *system, double h);

/* The power of grounds by the springs that are tied to them (W). */
double gw_springs_ground_power(const gw_system *system);

/* Adds h C + h^2 K of them, of the twists in the bodies' `acceleration`, to `on`; returns its
 * power. And an upper bound of the eigenvalues of D^-1 P (h C + h^2 K). */
double gw_springs_resist(gw_system *system, double h);
double gw_springs_bound(const gw_system *system, double h);

/* ---- forces and accelerations: system_forces.c ---------------------------------------------- */

/* Everything that depends on the joints' states alone; the same where positions are up to date. */
void gw_system_update(gw_system *system);
void gw_system_update_velocities(gw_system *system);

void gw_system_energy(const gw_system *system, double *kinetic, double *potential);

/* Roots of bristles that are bent too far follow; returns what that dissipates (J). */
double gw_system_slip(gw_system *system);
/* The share of the way from `home` after which a coordinate that slid first rests; 2: none does. */
double gw_system_first_rest(const gw_system *system);
/* Those at rest hold or turn over, by what acts t s into a step; returns what is dissipated (J). */
double gw_system_turn_bristles(gw_system *system, const gw_forces *forces, double t);

/* Outer forces `t` seconds into a step, into `on` and `on_held`; and their power where the
 * bodies' twists are. */
void gw_system_evaluate_forces(gw_system *system, const gw_forces *forces, double t);
void gw_system_outer_power(const gw_system *system, const gw_forces *forces, gw_system_work *power);
void gw_system_held_frame(const gw_system *system, gw_pose *pose, gw_twist *twist);

/* u-dot of all joints, in their `rest`, under what acts from outside; adds the powers of what
 * belongs to the system. */
void gw_system_accelerate(gw_system *system, gw_system_work *power);

/* The joints' answer, closures included, to s->generalised and, with `bodies`, to s->on; in their
 * `rest`, which gw_system_gather() puts into one array. */
void gw_system_apply_inverse_inertia(gw_system *system, bool bodies);
void gw_system_gather(const gw_system *system, double *out);

/* (D^-1 P)_jj of a joint's coordinate where the bodies are. */
double gw_system_mobility_at(gw_system *system, int body, int coordinate);

/* The same of all joints at which anything acts, into their `mobility` where it is the largest so
 * far: is_stiff() asks for it. */
void gw_system_take_mobilities(gw_system *system);

/* Limits that the coming step may meet get springs made for where the bodies are now. */
void gw_system_meet_limits(gw_system *system, double dt);

/* Bristles made for inertias far from those of where the bodies are now are made for these. Each
 * keeps its energy, up to what it can hold; returns what is dissipated (J). */
double gw_system_fit_bristles(gw_system *system);

/* Whether the largest eigenvalue of D^-1 P (h C + h^2 K) is more than `limit`. */
bool gw_system_is_stiff(gw_system *system, double h, double limit);

/* Whether an upper bound of it for a quarter of a step is more than explicit steps bear. */
bool gw_system_may_be_stiff(gw_system *system);

/* The same in a linearly implicit Euler step of h, for motors in these states, which are brought up
 * to date; leaves its own factors behind. Then the work of the motors, and the most that they can
 * have done since `home`. */
void gw_system_accelerate_implicitly(gw_system *system, double h, signed char *motor_states);
/* Factors of D + h C + h^2 K in place of those of D, with motors in the states that the last
 * implicit substep ended with. */
void gw_system_factor_implicitly(gw_system *system, double h);

double gw_system_motor_work(const gw_system *system, double h, const signed char *motor_states);
double gw_system_motor_work_max(const gw_system *system);

/* ---- by a local model: system_local_model.c ---------------------------------------------------
 */

/* As gw_system_accelerate() and gw_system_apply_inverse_inertia(), by s->local and s->joint_force.
 */
void gw_local_accelerate(gw_system *system);
void gw_local_apply_inverse(gw_system *system, bool bodies);

/* Its energies (J). */
double gw_local_kinetic(const gw_system *system);
double gw_local_weight_energy(const gw_system *system);

/* ---- the state: system.c --------------------------------------------------------------------- */

/* The system with everything up to date for its own state; and that state as what it is now. */
void gw_system_update_all(gw_system *system);
void gw_system_take_state(gw_system *system);

/* gw_model_ops.takes_load */
bool gw_system_takes_load(const gw_model *model);

/* ---- constraint forces: system_wrenches.c --------------------------------------------------- */

/* The body's rate of momentum less weight, damping and what acts from outside, at its origin. */
gw_wrench gw_system_reaction(const gw_system *system, int body);

/* Adds the wrenches of a closure's row, `by` times, to those of its bodies; sums the wrenches of
 * bodies up from the tips of their trees to the roots. `on`: of each body, at its origin. */
void gw_add_row_wrench(const gw_closure_row *row, double by, gw_wrench *on);
void gw_sum_wrenches_to_roots(const gw_system *system, gw_wrench *on);

/* At the accelerations that were solved for: the wrench on the held body, at the held frame; where
 * joints are reported, also that of each joint on its body, its load and that of its descendants
 * less closures, and that of each closure. */
void gw_keep_joint_wrenches(gw_system *system, gw_wrench *constraint);

/* ---- steps: system_step.c ------------------------------------------------------------------- */

void gw_system_step(gw_system *system, const gw_forces *forces, double dt, gw_step *step);

/* D^-1 P of all but the hand and contacts, at `speed` times the velocities of the state that the
 * system holds; of a system that steps implicitly the mean of the coming step. */
void gw_system_free_acceleration_at(gw_system *system, const gw_system_state *state, double speed,
                                    double *a);

#endif
