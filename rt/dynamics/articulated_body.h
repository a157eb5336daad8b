/*
 * Inside of a chain: the articulated-body recursion (articulated_body.c), the joint forces
 * (joint_forces.c), the step (chain_step.c) and the local model (chain_local_model.c). For these
 * files and chain.c alone; RT safe.
 *
 * Twists and wrenches of a link are at its origin, in world axes. `at` is an array of link states,
 * the chain's own or a scratch copy, whose members that depend on q and v are written and read;
 * what depends on the definition alone is read from the chain's own states.
 */
#ifndef GW_DYNAMICS_ARTICULATED_BODY_H
#define GW_DYNAMICS_ARTICULATED_BODY_H

#include "rt/dynamics/chain.h"

#define GW_CHAIN_INLINE static inline __attribute__((always_inline))

GW_CHAIN_INLINE gw_mat3 gw_mat3_product(const gw_mat3 *a, const gw_mat3 *b)
{
    gw_mat3 out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out.m[i][j] =
                a->m[i][0] * b->m[0][j] + a->m[i][1] * b->m[1][j] + a->m[i][2] * b->m[2][j];
    return out;
}

/* Column 2: the joint's axis in world axes. */
GW_CHAIN_INLINE gw_vec3 gw_chain_axis(const gw_chain_link_state *j)
{
    const gw_mat3 *r = &j->world_from_axes;
    return gw_v3(r->m[0][2], r->m[1][2], r->m[2][2]);
}

GW_CHAIN_INLINE int gw_chain_held_link(const gw_chain_def *def)
{
    return def->held < 0 ? def->count - 1 : def->held;
}

/* ---- the general recursion ------------------------------------------------------------------ */

/* Frames, centres of mass and inertias at q. */
void gw_chain_forward_kinematics(const gw_chain *chain, const double *q, gw_chain_link_state *at);

/* Twists at v. */
void gw_chain_twists(const gw_chain *chain, const double *v, gw_chain_link_state *at);

/* U and 1/D of all joints; with `added` to the inertia that each joint moves. */
void gw_chain_articulated_inertias(const gw_chain *chain, gw_chain_link_state *at);
void gw_chain_articulated_inertias_with(const gw_chain *chain, const double *added,
                                        gw_chain_link_state *at);

/* Everything that a stage of the general recursion, or of the local model, needs at q and v. */
void gw_chain_configure(const gw_chain *chain, const double *q, const double *v,
                        gw_chain_link_state *at);

/* The chain's own states and energies at its q and v; with articulated inertias or without. */
void gw_chain_update(gw_chain *chain);
void gw_chain_update_kinematics(gw_chain *chain);

/* Bias forces: the wrenches that the links need for weight and velocities with all q'' zero. */
void gw_chain_bias_forces(const gw_chain *chain, const double *v, const gw_chain_link_state *at,
                          gw_wrench *bias);

/* Joint accelerations D^-1 (force - J^T bias): `force` of the joints in, accelerations out; `bias`
 * (NULL: none) is used up. */
void gw_chain_accelerations(const gw_chain *chain, const gw_chain_link_state *at, gw_wrench *bias,
                            double *force);

/* Kinetic energy of the links' twists, or of the local model (J). */
double gw_chain_kinetic(const gw_chain *chain);

/* Pose and twist of the held frame, or of link `index`, from the states in `at`. */
void gw_chain_held_frame(const gw_chain *chain, const gw_chain_link_state *at, gw_pose *held,
                         gw_twist *twist);
void gw_chain_link_frame(const gw_chain *chain, const gw_chain_link_state *at, int index,
                         gw_pose *pose, gw_twist *twist);

/* Acceleration [v; w]-dot of a link's origin by the joint accelerations (NULL: zero, which leaves
 * J-dot v), from the chain's own state. */
gw_twist gw_chain_link_acceleration(const gw_chain *chain, int link, const double *a);

/* lambda at the held frame: the wrench that its neighbours exert on the held link, where the joints
 * accelerate by `a` and `on` is the hand's and contacts' wrench at the link's origin. */
gw_wrench gw_chain_constraint_wrench(const gw_chain *chain, const double *a, const gw_wrench *on);

/* ---- joint forces (joint_forces.c) ---------------------------------------------------------- */

/* Generalised forces of motors, damping, friction and limits; the power of the motors and the
 * dissipated power (W). */
void gw_chain_joint_forces(const gw_chain *chain, const double *q, const double *v, double *force,
                           double *motors, double *dissipated);

/* All joint forces linearised about q and v, one a joint. */
void gw_chain_linearise_joint_forces(const gw_chain *chain, const double *q, const double *v,
                                     gw_joint_force_model *models);

/* Sets the stiffness and damping of the limits' springs and of friction's bristles, which are put
 * unbent at q. Leaves the link states at another q: update them afterwards. */
void gw_chain_set_limit_stiffness(gw_chain *chain);

/* Energy of the limits' springs and friction's bristles (J). */
double gw_chain_joint_energy(const gw_chain *chain);

/* Moves the roots of bristles that are bent beyond their span; the energy that this dissipates (J).
 */
double gw_chain_update_friction(gw_chain *chain);

/* ---- planar recursion: chains whose joints all turn about parallel axes --------------------- */

bool gw_chain_is_planar(const gw_chain *chain);

/* One link in the plane of motion; 2-vectors by components, from the first joint's origin. */
typedef struct gw_planar_link {
    double c, s;            /* of the link's axes in the plane */
    double x, y, z;         /* its origin */
    double rx, ry;          /* from the parent's origin to it */
    double cx, cy;          /* from it to the centre of mass */
    double vx, vy, w;       /* velocity of the origin, rate of turning */
    double fx, fy, t;       /* what it needs so that no joint accelerates; less what acts on it */
    double bx, by, inverse; /* b and 1 / I of the links from here on */
} gw_planar_link;

/* Cosines and sines of the joint angles q. */
typedef struct gw_joint_sines {
    double c[GW_MAX_LINKS], s[GW_MAX_LINKS];
} gw_joint_sines;

void gw_chain_sines(int count, const double *q, gw_joint_sines *out);

/* Poses, velocities and bias forces at q and v; `start` has the sines of the chain's own q. */
void gw_planar_kinematics(const gw_chain *chain, const gw_joint_sines *start, const double *q,
                          const double *v, gw_planar_link *links);

/* Subtract the wrenches of the hand, or of contacts and pushes, `t` seconds into the step, from the
 * bias forces. They return what acts on the held link, at its origin, and add the power of all, and
 * that of pushes (W). */
gw_wrench gw_planar_apply_hand(const gw_chain *chain, gw_planar_link *links,
                               const gw_forces *forces, double t, double *power);
gw_wrench gw_planar_apply_to_links(const gw_chain *chain, gw_planar_link *links,
                                   const gw_forces *forces, double t, double *power,
                                   double *pushed);

/* `force` of the joints in, their accelerations out. */
void gw_planar_accelerations(const gw_chain *chain, gw_planar_link *links, double *force);

/* ---- the step (chain_step.c) ---------------------------------------------------------------- */

/* Whether the next step of dt is to be implicit: into chain->implicit_dt. */
void gw_chain_detect_stiffness(gw_chain *chain, double dt);

/* Of a chain that steps implicitly: the mean accelerations of the coming step, less D^-1 J^T F of
 * the hand as it was last. */
void gw_chain_implicit_acceleration(const gw_chain *chain, double *a);

void gw_chain_step(gw_model *model, const gw_forces *forces, double dt, gw_step *step);

/* ---- the local model (chain_local_model.c) -------------------------------------------------- */

/* As gw_chain_accelerations(), by D of the local model; the weight is in it where there is a
 * `bias`. */
void gw_chain_local_accelerations(const gw_chain *chain, const gw_chain_link_state *at,
                                  const gw_wrench *bias, double *force);
double gw_chain_local_kinetic(const gw_chain *chain);
double gw_chain_local_weight_energy(const gw_chain *chain);

#endif
