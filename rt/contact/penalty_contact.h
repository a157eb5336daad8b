#ifndef GW_CONTACT_PENALTY_CONTACT_H
#define GW_CONTACT_PENALTY_CONTACT_H

/*
 * A grip that sticks, from piece to piece: x is let go beyond mu F_n / k (pressing.h has the law).
 *
 * Pure functions of values, RT safe.
 */

#include "rt/base/space.h"
#include "rt/contact/world.h"

typedef struct gw_friction_spring {
    double stiffness, damping; /* of the spring that sticks (N/m, N s/m) */
    double viscous;            /* the most that a step bears of a force along -v (N s/m) */
    gw_vec3 slip;              /* x (m) */
} gw_friction_spring;

/* The slip after it moved on by so much (tangential), as far as the grip holds. `limit`: mu F_n. */
gw_vec3 gw_friction_spring_slip(const gw_friction_spring *grip, double limit, gw_vec3 moved);

/*
 * The continuous contacts of one body side by side: what its step asks at every stage.
 *
 * `mine` is the body that asks, `its` the other of the pair; n points from its to mine:
 *
 *   gap = n . (x_mine - x_its) - r_mine - r_its,   F = max(0, K p - B d(gap)/dt) n + friction
 *   p = -gap - slack
 *   creep:  F_t = -mu F_n min(1, |v_t|/v_th) v_t/|v_t|        (impulsive-forces eq. 4 as corrected)
 *   stick:  F_t = -(k x + d v_t), at most mu F_n; x: slip since it took hold
 *
 * Plain values, RT safe.
 */

#include "rt/base/simd.h"
#include "rt/collision/candidate.h"

typedef struct gw_lanes3 {
    gw_lanes x, y, z;
} gw_lanes3;

/* A body as one that touches it sees it. */
typedef struct gw_body_motion {
    gw_mat3 turned; /* world_from_body */
    gw_vec3 p;
    gw_twist twist;
} gw_body_motion;

/* One contact as the body that asks feels it. */
typedef struct gw_penalty_contact {
    const gw_contact_candidate *near;
    bool is_a;                          /* it asks for `a` of the pair */
    double stiffness, damping, slack;   /* K, B, and the depth from which K acts */
    double friction, viscous;           /* mu, and the most of F_t / v_t that a step bears */
    double hold, hold_damping;          /* k, d of a grip that sticks; 0: it creeps */
    gw_vec3 slip;                       /* x as the piece began (of a against b) */
    gw_vec3 mark_a, mark_b, mark_apart; /* points that touched then, and x_a - x_b of them */
} gw_penalty_contact;

/* GW_LANES of them; lanes that are not used press nothing. */
typedef struct gw_penalty_batch {
    int body;  /* of the model that asks, as its index there */
    int count; /* lanes used */
    int its[GW_LANES];
    gw_vec3 its_point[GW_LANES], its_normal[GW_LANES], its_mark[GW_LANES];
    bool any_between, sticks;
    bool turns[GW_LANES];          /* the normal is fixed to the other body */
    gw_lanes3 point, normal, mark; /* in the asking body's frame */
    gw_lanes between;              /* 1: the normal leads from point to point, 0 */
    gw_lanes mine_there, its_here; /* 1: the force acts at the other's point; its speed is here */
    gw_lanes radius, its_radius;
    gw_lanes stiffness, damping, slack, friction, viscous, hold, hold_damping;
    gw_lanes3 slip, mark_apart;
    gw_lanes3 x, n, p, v, w, marked; /* of the other: point, normal, origin, twist, mark */
} gw_penalty_batch;

gw_body_motion gw_body_motion_of(const gw_pose *pose, const gw_twist *twist);

/* Empty, of that body of the model. */
void gw_penalty_batch_init(gw_penalty_batch *f, int body);

/* A contact more; `its`: whom gw_penalty_batch_set_other() is told of. */
void gw_penalty_batch_add(gw_penalty_batch *f, const gw_penalty_contact *c, int its);

/* The other body of a lane is there now. */
void gw_penalty_batch_set_other(gw_penalty_batch *f, int lane, const gw_body_motion *its);

/* Adds what presses the body that is there: force and torque about its origin. */
void gw_penalty_batch_apply(const gw_penalty_batch *f, const gw_body_motion *mine,
                            double slip_speed, gw_wrench *on);

#endif
