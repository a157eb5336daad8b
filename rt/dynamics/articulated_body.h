/*
 * Articulated bodies: the algebra of a chain's three passes, and the passes. For the chain's own
 * files; RT safe.
 *
 * A link's twists and wrenches are at its origin, in world axes. An articulated inertia answers to
 * an acceleration [a; alpha] of the origin with
 *
 *   f = M a + B alpha,   t = B^T a + I alpha
 */
#ifndef GW_DYNAMICS_ARTICULATED_BODY_H
#define GW_DYNAMICS_ARTICULATED_BODY_H

#include "rt/dynamics/chain.h"

#define GW_CHAIN_MAX_SUBSTEPS 4 /* pieces of an exact step, at most */

#define GW_CHAIN_INLINE static inline __attribute__((always_inline))

typedef struct gw_articulated_inertia {
    gw_sym3 m, i;
    gw_mat3 b;
} gw_articulated_inertia;

GW_CHAIN_INLINE gw_vec3 gw_sym3_mul(const gw_sym3 *s, gw_vec3 a)
{
    return gw_v3(s->xx * a.x + s->yx * a.y + s->zx * a.z, s->yx * a.x + s->yy * a.y + s->zy * a.z,
                 s->zx * a.x + s->zy * a.y + s->zz * a.z);
}

GW_CHAIN_INLINE gw_mat3 gw_mat3_product(const gw_mat3 *a, const gw_mat3 *b)
{
    gw_mat3 out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out.m[i][j] =
                a->m[i][0] * b->m[0][j] + a->m[i][1] * b->m[1][j] + a->m[i][2] * b->m[2][j];
    return out;
}

/* R I R^T */
GW_CHAIN_INLINE gw_sym3 gw_sym3_turned(const gw_mat3 *r, const gw_sym3 *s)
{
    gw_vec3 x = gw_sym3_mul(s, gw_v3(r->m[0][0], r->m[0][1], r->m[0][2]));
    gw_vec3 y = gw_sym3_mul(s, gw_v3(r->m[1][0], r->m[1][1], r->m[1][2]));
    gw_vec3 z = gw_sym3_mul(s, gw_v3(r->m[2][0], r->m[2][1], r->m[2][2]));
    return (gw_sym3){r->m[0][0] * x.x + r->m[0][1] * x.y + r->m[0][2] * x.z,
                     r->m[0][0] * y.x + r->m[0][1] * y.y + r->m[0][2] * y.z,
                     r->m[1][0] * y.x + r->m[1][1] * y.y + r->m[1][2] * y.z,
                     r->m[0][0] * z.x + r->m[0][1] * z.y + r->m[0][2] * z.z,
                     r->m[1][0] * z.x + r->m[1][1] * z.y + r->m[1][2] * z.z,
                     r->m[2][0] * z.x + r->m[2][1] * z.y + r->m[2][2] * z.z};
}

/* The same where I is diagonal: iyy 1 + (ixx - iyy) x x^T + (izz - iyy) z z^T, of R's columns. */
GW_CHAIN_INLINE gw_sym3 gw_sym3_turned_principal(const gw_mat3 *r, const gw_sym3 *s)
{
    double a = s->xx - s->yy, c = s->zz - s->yy;
    gw_vec3 x = gw_v3(r->m[0][0], r->m[1][0], r->m[2][0]), ax = gw_scale(a, x);
    gw_vec3 z = gw_v3(r->m[0][2], r->m[1][2], r->m[2][2]), cz = gw_scale(c, z);
    return (gw_sym3){s->yy + (ax.x * x.x + cz.x * z.x), ax.y * x.x + cz.y * z.x,
                     s->yy + (ax.y * x.y + cz.y * z.y), ax.z * x.x + cz.z * z.x,
                     ax.z * x.y + cz.z * z.y,           s->yy + (ax.z * x.z + cz.z * z.z)};
}

/* Adds a rigid body: M = m, B = -m [c]x, I = I_c - m [c]x [c]x. */
GW_CHAIN_INLINE void gw_articulated_inertia_add(gw_articulated_inertia *a, double m, gw_vec3 c,
                                                const gw_sym3 *inertia)
{
    gw_vec3 mc = gw_scale(m, c);
    double xx = mc.x * c.x, yy = mc.y * c.y, zz = mc.z * c.z;
    a->m.xx += m;
    a->m.yy += m;
    a->m.zz += m;
    a->b.m[0][1] += mc.z;
    a->b.m[0][2] -= mc.y;
    a->b.m[1][0] -= mc.z;
    a->b.m[1][2] += mc.x;
    a->b.m[2][0] += mc.y;
    a->b.m[2][1] -= mc.x;
    a->i.xx += inertia->xx + (yy + zz);
    a->i.yy += inertia->yy + (xx + zz);
    a->i.zz += inertia->zz + (xx + yy);
    a->i.yx += inertia->yx - mc.y * c.x;
    a->i.zx += inertia->zx - mc.z * c.x;
    a->i.zy += inertia->zy - mc.z * c.y;
}

GW_CHAIN_INLINE gw_vec3 gw_mat3_row(const gw_mat3 *x, int i)
{
    return gw_v3(x->m[i][0], x->m[i][1], x->m[i][2]);
}

/*
 * Seen from the parent's origin, r before it: a becomes a + alpha x r, t becomes t + r x f,
 *
 *   B' = B + E,   I' = I + Z + Z^T,   E = -M [r]x,   Z = [r]x (B + E/2)
 */
GW_CHAIN_INLINE void gw_articulated_inertia_shift(gw_articulated_inertia *a, gw_vec3 r)
{
    const gw_sym3 *m = &a->m;
    gw_vec3 rows[3] = {gw_v3(m->xx, m->yx, m->zx), gw_v3(m->yx, m->yy, m->zy),
                       gw_v3(m->zx, m->zy, m->zz)};
    gw_vec3 w[3];
    for (int i = 0; i < 3; i++) {
        /* row i of -M [r]x is r x row of M, as [r]x is antisymmetric */
        gw_vec3 e = gw_cross(r, rows[i]), b = gw_mat3_row(&a->b, i);
        w[i] = gw_mul_add(b, 0.5, e);
        a->b.m[i][0] = b.x + e.x;
        a->b.m[i][1] = b.y + e.y;
        a->b.m[i][2] = b.z + e.z;
    }
    a->i.xx += 2 * (r.y * w[2].x - r.z * w[1].x);
    a->i.yy += 2 * (r.z * w[0].y - r.x * w[2].y);
    a->i.zz += 2 * (r.x * w[1].z - r.y * w[0].z);
    a->i.yx += (r.y * w[2].y - r.z * w[1].y) + (r.z * w[0].x - r.x * w[2].x);
    a->i.zx += (r.y * w[2].z - r.z * w[1].z) + (r.x * w[1].x - r.y * w[0].x);
    a->i.zy += (r.z * w[0].z - r.x * w[2].z) + (r.x * w[1].y - r.y * w[0].y);
}

/* Column 2: the joint's axis in world axes. */
GW_CHAIN_INLINE gw_vec3 gw_chain_axis(const gw_chain_link_state *j)
{
    const gw_mat3 *r = &j->world_from_axes;
    return gw_v3(r->m[0][2], r->m[1][2], r->m[2][2]);
}

/* The wrench at its origin that a link needs to accelerate so: m (a + alpha x c + w x (w x c)),
 * I alpha + w x I w and the force's moment. */
GW_CHAIN_INLINE gw_wrench gw_link_newton_euler(double mass, gw_vec3 com, const gw_sym3 *inertia,
                                               gw_vec3 w, const gw_twist *rate)
{
    gw_vec3 at_com = gw_add(rate->v, gw_add(gw_cross(rate->w, com), gw_cross(w, gw_cross(w, com))));
    gw_vec3 f = gw_scale(mass, at_com);
    gw_vec3 t = gw_add(gw_sym3_mul(inertia, rate->w), gw_cross(w, gw_sym3_mul(inertia, w)));
    return (gw_wrench){f, gw_add(t, gw_cross(com, f))};
}

/* ---- passes over all links; `at` is an array of which the members of q and v are written --------
 */

/* Frames, centres of mass and inertias at q. */
void gw_chain_forward_kinematics(const gw_chain *chain, const double *q, gw_chain_link_state *at);

/* Twists at v. */
void gw_chain_twists(const gw_chain *chain, const double *v, gw_chain_link_state *at);

/* U and 1/D of all joints; with as much added to what each joint has to move. */
void gw_chain_articulated_inertias(const gw_chain *chain, gw_chain_link_state *at);
void gw_chain_articulated_inertias_with(const gw_chain *chain, const double *added,
                                        gw_chain_link_state *at);

/* All that a stage of the general recursion, or of the local model, needs at q and v. */
void gw_chain_configure(const gw_chain *chain, const double *q, const double *v,
                        gw_chain_link_state *at);

/* q and v into the chain's own joints and its energies: all, or but for the articulated inertias.
 */
void gw_chain_update(gw_chain *chain);
void gw_chain_update_kinematics(gw_chain *chain);

/* The wrenches that the links need so that no joint accelerates, for their weight and velocities.
 */
void gw_chain_bias_forces(const gw_chain *chain, const double *v, const gw_chain_link_state *at,
                          gw_wrench *bias);

/* Joints' accelerations: `force` of the joints in, accelerations out; `bias` (NULL: none) is used
 * up. */
void gw_chain_accelerations(const gw_chain *chain, const gw_chain_link_state *at, gw_wrench *bias,
                            double *force);

/* What motors, damping, friction and limits do to the joints; the powers of the first, and lost
 * (W). */
void gw_chain_joint_forces(const gw_chain *chain, const double *q, const double *v, double *force,
                           double *motors, double *lost);

/* A motor about the joint's state: force - damping dv - stiffness dq, from -most to most; where it
 * drives no more than drag (speed - |v|). */
typedef struct gw_motor_force_model {
    double force, damping, stiffness, most, speed, drag;
} gw_motor_force_model;

/* By how much a motor's force falls by the joint's speed where it fades out (N m s/rad, N s/m). */
double gw_motor_fade_slope(const gw_motor *m, double q, double v);

/* The same of all that acts at the joints: dampers, friction and limits, and motors beside them. */
typedef struct gw_joint_force_model {
    double force[GW_MAX_LINKS], damping[GW_MAX_LINKS], stiffness[GW_MAX_LINKS];
    gw_motor_force_model motor[GW_MAX_LINKS];
} gw_joint_force_model;

void gw_chain_linearise_joint_forces(const gw_chain *chain, const double *q, const double *v,
                                     gw_joint_force_model *law);

/* Sets the stiffness and damping of the limits' springs and of friction's bristles, which stand
 * upright; leaves the joints anywhere. */
void gw_chain_set_limit_stiffness(gw_chain *chain);

/* Of the bodies' twists, or of the local model (J). */
double gw_chain_kinetic(const gw_chain *chain);

/* Held by the limits' springs and friction's bristles (J). */
double gw_chain_joint_energy(const gw_chain *chain);

/* Bristles that are bent beyond what they bear move along; the energy that this takes (J). */
double gw_chain_update_friction(gw_chain *chain);

/* Of the held frame on the link as it is in `at`. */
void gw_chain_held_frame(const gw_chain *chain, const gw_chain_link_state *at, gw_pose *held,
                         gw_twist *twist);
void gw_chain_link_frame(const gw_chain *chain, const gw_chain_link_state *at, int index,
                         gw_pose *pose, gw_twist *twist);

/* Acceleration of a link's origin, as [v; w]-dot, by the joints' accelerations (NULL: none, which
 * leaves J-dot v) from the chain's own state. */
gw_twist gw_chain_link_acceleration(const gw_chain *chain, int link, const double *a);

/* lambda at the held frame: what the held link's neighbours pass on to it, where the joints
 * accelerate by `a` and `on` is the hand's and contacts' wrench at the link's origin. */
gw_wrench gw_chain_constraint_wrench(const gw_chain *chain, const double *a, const gw_wrench *on);

/* Powers of a stage (W), or their integrals (J). */
typedef struct gw_chain_work {
    double work, touched, motors, lost;
} gw_chain_work;

/* Cosines and sines of joints' angles. */
typedef struct gw_joint_sines {
    double c[GW_MAX_LINKS], s[GW_MAX_LINKS];
} gw_joint_sines;

void gw_chain_sines(int count, const double *q, gw_joint_sines *out);

/* What flows at a stage. */
typedef struct gw_chain_stage_load {
    gw_chain_work power;
    gw_wrench on_held; /* hand's and contacts' wrench on the held link, at its origin */
} gw_chain_stage_load;

/* What the hand and contacts exert where `at` is, taken from `bias`; the first one's power and
 * what both do to the held link into `flow`. */
void gw_chain_apply_hand(const gw_chain *chain, const gw_chain_link_state *at,
                         const gw_forces *forces, double t, gw_wrench *bias,
                         gw_chain_stage_load *flow);
void gw_chain_apply_contacts(const gw_chain *chain, const gw_chain_link_state *at,
                             const gw_forces *forces, double t, gw_wrench *bias,
                             gw_chain_stage_load *flow);

/* ---- joints that no explicit formula bears (chain_stiff.c) ------------------------------------
 */

/* Whether they are, for a step of dt: into chain->stiff. */
void gw_chain_detect_stiffness(gw_chain *chain, double dt);

/* Of a stiff chain: the accelerations of the coming step, less D^-1 of what the hand pushed last.
 */
void gw_chain_implicit_acceleration(const gw_chain *chain, double *a);

/* From the chain's state, h on, into q and v; what the hand pushed at last into `pushed`; lambda
 * at the step's start as gw_chain_step(). */
void gw_chain_implicit_substep(const gw_chain *chain, const gw_forces *forces, double t, double h,
                               double *q, double *v, double *pushed, gw_chain_work *sum,
                               gw_wrench *constraint);

/* What the motors can have given on the way from q0 to q1 (J). */
double gw_chain_motor_work_max(const gw_chain *chain, const double *q0, const double *q1);

/* Joints' accelerations at q and v, `t` seconds into the step, and what flows there: of a planar
 * chain, in chain_planar.c. `start` has cosines and sines of the chain's own q. */
void gw_chain_planar_stage(const gw_chain *chain, const gw_joint_sines *start, const double *q,
                           const double *v, const gw_forces *forces, double t, double *a,
                           gw_chain_stage_load *flow);
bool gw_chain_is_planar(const gw_chain *chain);

/* ---- of the local model (chain_local.c), for the exact ones of the same kind -------------------
 */

/* Joints' accelerations by D of the look: as gw_chain_accelerations(); weight is in it, where there
 * is a `bias`. */
void gw_chain_local_accelerations(const gw_chain *chain, const gw_chain_link_state *at,
                                  const gw_wrench *bias, double *force);
double gw_chain_local_kinetic(const gw_chain *chain);
double gw_chain_local_weight_energy(const gw_chain *chain);

void gw_chain_step(gw_model *model, const gw_forces *forces, double dt, gw_step *step);

GW_CHAIN_INLINE int gw_chain_held_link(const gw_chain_def *def)
{
    return def->held < 0 ? def->count - 1 : def->held;
}

#endif
