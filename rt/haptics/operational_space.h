/*
 * The operational space of a model's held frame (Khatib): its inverse inertia Lambda^-1, its bias
 * acceleration, and the directions in which the joints resist any motion of it.
 *
 * Resisted directions (mechanisms V, eq. 14) are the null space of J_h^T, found with the linear
 * rows divided by a length L so that singular values can be compared:
 *
 *   J_s = diag(1/L, 1/L, 1/L, 1, 1, 1) J_h = U S V^T;  n_i: columns of U with weights w(s_i / s_1)
 *
 * Near a singular configuration the weight changes smoothly from 0 to 1, so that
 * P = sum w_i n_i n_i^T is a continuous function of the configuration; or it is switched on and off
 * at a threshold, as in the paper.
 *
 * All quantities: world axes, at the held frame's origin, [v; w] and [f; t]. Pure functions, RT
 * safe, on any thread.
 */
#ifndef GW_HAPTICS_OPERATIONAL_SPACE_H
#define GW_HAPTICS_OPERATIONAL_SPACE_H

#include "rt/dynamics/model.h"

/* ---- resisted directions -------------------------------------------------------------------- */

typedef enum gw_direction_weighting { GW_WEIGHTS_SMOOTH, GW_WEIGHTS_ON_OFF } gw_direction_weighting;

typedef struct gw_resisted_def {
    double length;    /* L (m); 0: 0.05 */
    double threshold; /* of s_i / s_1: below, fully resisted; 0: 1e-3 */
    double fade;      /* smooth: fully free from fade * threshold on; 0: 10 */
    gw_direction_weighting weighting;
    bool point; /* of a point: its turn is free, whatever the Jacobian's angular rows say */
} gw_resisted_def;

typedef struct gw_resisted_directions {
    int count;              /* directions with a weight above zero */
    double direction[6][6]; /* unit vectors n_i in scaled coordinates (lengths divided by L) */
    double weight[6];       /* w_i, 0 .. 1 */
    double singular[6];     /* all six s_i, descending; 0 where surely none is resisted */
    double length;          /* L that was used (m) */
} gw_resisted_directions;

/* The resisted directions of a held frame whose Jacobian has the `dof` columns `jacobian`
 * (0 <= dof <= GW_MODEL_MAX_DOF), the most resisted one first. */
void gw_resisted_directions_of(const gw_resisted_def *def, int dof, const double (*jacobian)[6],
                               gw_resisted_directions *out);

/* The directions of `all` orthogonal to those of `part`, which it contains: those that velocity
 * rows resist in addition to position rows. */
void gw_resisted_directions_beyond(const gw_resisted_directions *all,
                                   const gw_resisted_directions *part, gw_resisted_directions *out);

/* The part of a twist or of a wrench outside the resisted directions: with S = diag(1/L, 1/L, 1/L,
 * 1, 1, 1) S^-1 (I - P) S twist and S (I - P) S^-1 wrench. The two are dual: the work of the
 * projected wrench in a twist is the work of the wrench in the projected twist. */
gw_twist gw_resisted_free_part_of_twist(const gw_resisted_directions *directions,
                                        const gw_twist *twist);
gw_wrench gw_resisted_free_part_of_wrench(const gw_resisted_directions *directions,
                                          const gw_wrench *wrench);

/* ---- inverse inertia and state --------------------------------------------------------------- */

/* Lambda^-1 = J D^-1 P J^T of the model's held frame (mechanisms eq. 6), 6 x 6, symmetric. */
void gw_operational_inverse_inertia(const gw_model *model, int dof, const double (*jacobian)[6],
                                    double out[6][6]);

/* J_a D^-1 J_b^T of two held frames of one model: the acceleration of a's by a wrench at b's (world
 * axes). */
void gw_operational_inverse_between(const gw_model *a, const gw_model *b, double out[6][6]);

/* J_b D^-1 P J_b^T at the origin of a body of the model. `work`: 7 entries a degree of freedom. */
void gw_operational_body_inverse_inertia(const gw_model *model, int body, double *work,
                                         double out[6][6]);

/* Number of freedoms of a body of this mass (kg): the rank of that matrix, rotations weighted by
 * `length` (m). */
int gw_operational_body_freedoms(const gw_model *model, int body, double mass, double length,
                                 double *work);

/* State of the held frame at the start of a tick. */
typedef struct gw_operational_state {
    int dof;
    gw_pose pose;
    gw_twist twist;
    const double (*jacobian)[6];   /* J, `dof` columns */
    const double (*positional)[6]; /* of what rows of positions allow, where there are rows of
                                      velocities besides; NULL: there are none */
    double jdot_v[6];              /* J-dot v */
    double inverse_inertia[6][6];  /* Lambda^-1 */
    double free_acceleration[6];   /* J D^-1 tau: of weight, bias and motors (eq. 12, 13) */
    double inertial[6]; /* the part of it that grows with the square of velocities, of Coriolis and
                           centripetal terms, where gw_operational_inertial_of() was asked */
    double kinetic;     /* of the whole model (J), where gw_operational_inertial_of() was asked */
    const struct gw_operational_state *over; /* inverse_inertia, free_acceleration and inertial as
                           means over the step, where gw_operational_over_of() was asked; NULL: the
                           model has no dampers and springs of its own */
    int couplings; /* virtual couplings at the model, of all hands; 0 or 1: this hand's alone */
    const gw_resisted_directions *resisted; /* of a local model (U-hat, eq. 22); NULL: to be found
                                               from the Jacobian */
} gw_operational_state;

/* The state from a model. `jacobian`: room for the model's columns, which the state refers to. */
void gw_operational_state_of(const gw_model *model, double (*jacobian)[6],
                             gw_operational_state *out);

/* Sets `inertial` of a model's state, at the cost of three more evaluations of free
 * accelerations. */
void gw_operational_inertial_of(const gw_model *model, gw_operational_state *state);

/* Sets `over` of a model's state, with `inertial`, to `means` of an implicit step of h seconds;
 * leaves it NULL where the model has neither dampers nor springs. */
void gw_operational_over_of(const gw_model *model, double h, gw_operational_state *means,
                            gw_operational_state *state);

/* Leaves the motion of the held frame's origin: what is angular in Lambda^-1 and accelerations
 * becomes zero. */
void gw_operational_linear_of(gw_operational_state *state);

/* Reduces the state to a held point (three rows): the angular rows become zero and the axes the
 * world's. `jacobian`: the columns to which the state refers. */
void gw_operational_point_of(gw_operational_state *state, double (*jacobian)[6]);

/* State of the held frame at the end of the tick's step. */
typedef struct gw_operational_step {
    gw_pose pose;
    gw_twist twist;
    double jdot_v[6];           /* J-dot v there */
    double impulse_velocity[6]; /* J D^-1 J_c^T p: the change of twist by impulses in the step */
} gw_operational_step;

/* From the model after its step. `impulse`: the generalised impulse of its contacts in the step
 * (gw_world_system), `dof` entries; NULL: none. */
void gw_operational_step_of(const gw_model *model, const double *impulse, gw_operational_step *out);

/* The same for a held point. */
void gw_operational_point_step_of(gw_operational_step *step);

#endif
