/*
 * Penalty and friction forces of contacts at every stage of an integrator, several contacts of one
 * body at once in SIMD lanes.
 *
 * `mine` is the body on which the force is evaluated, `other` the second body of the pair; n points
 * from other to mine:
 *
 *   gap = n . (x_mine - x_other) - r_mine - r_other
 *   F   = max(0, K p - B d(gap)/dt) n + F_t,     p = -gap - rest penetration
 *   creep:  F_t = -mu F_n min(1, |v_t|/v_th) v_t/|v_t|      (impulsive-forces eq. 4 as corrected)
 *   stick:  F_t = -(k x + d v_t), at most mu F_n;  x: slip of the anchor points
 *
 * Plain values, RT safe.
 */
#ifndef GW_CONTACT_PENALTY_CONTACT_H
#define GW_CONTACT_PENALTY_CONTACT_H

#include "rt/base/simd.h"
#include "rt/base/space.h"
#include "rt/collision/candidate.h"
#include "rt/dynamics/lockstep.h"

/* Tangential spring of a contact that sticks. */
typedef struct gw_friction_spring {
    double stiffness, damping;           /* k, d (N/m, N s/m) */
    double viscous;                      /* bound of F_t / v_t for stability, for creep (N s/m) */
    gw_vec3 slip;                        /* x, of a against b (m) */
    double spin_stiffness, spin_damping; /* of what rolls purely: N m/rad, N m s/rad */
    double spin;                         /* about the normal, of a against b (rad) */
} gw_friction_spring;

/* Parameters of one contact. */
typedef struct gw_penalty_contact {
    const gw_contact_candidate *candidate;
    bool is_a;                                       /* `mine` is a of the pair */
    double stiffness, damping, rest_penetration;     /* K, B (N/m, N s/m), m */
    double friction, viscous;                        /* mu; bound of F_t / v_t (N s/m) */
    double tangential_stiffness, tangential_damping; /* k, d of stick; k = 0: creep */
    gw_vec3 slip;                                    /* x at the substep's start, a against b */
    gw_vec3 anchor_a, anchor_b; /* points that touched then, in the bodies' frames */
    gw_vec3 anchor_offset;      /* x_a - x_b of them then, world axes */
} gw_penalty_contact;

/* Up to GW_LANES contacts of one body; unused lanes give no force. */
typedef struct gw_penalty_batch {
    int body;           /* index among its model's bodies */
    int count;          /* lanes used */
    int mine[GW_LANES]; /* of several bodies: numbers of each lane's, for the caller */
    int other[GW_LANES];
    const gw_body_motion *motion[GW_LANES]; /* of the other bodies; not owned */
    bool moved;                             /* what follows from these is not up to date */
    bool any_between, any_across, any_bowed, any_tapered, any_bent, any_tilts, sticks;
    gw_lanes3 other_point, other_normal, other_anchor, other_edge; /* in the other's frame, and */
    gw_lanes3 point, normal, anchor, edge; /* in that of mine; 0 where the normal does not follow */
    gw_lanes between;                      /* 1: the normal leads from point to point; else 0 */
    gw_mask across_edges;                  /* it is across both edges; */
    gw_mask bowed, tapered;                /* one of them is a rim, or the axis of a cone, */
    gw_lanes3 bow, other_bow;              /* and their curvature vectors and tapers */
    gw_lanes taper, other_taper;
    gw_lanes curvature[2];  /* of bent surfaces (candidate.h), and their directions, in the frame */
    gw_lanes3 direction[2]; /* that the normal is fixed to, */
    gw_mask bent_in_other;  /* which is the other's, or mine where this is 0 */
    gw_lanes3 tilting;      /* the normal in the frame of the other one of these two, T and W */
    gw_lanes across[2][2], tilt[2][2];
    gw_lanes mine_at_other; /* 1: forces act at the other's contact point; else at that of mine */
    gw_lanes radius, other_radius;
    gw_lanes stiffness, damping, rest_penetration, friction, viscous;
    gw_lanes tangential_stiffness, tangential_damping;
    gw_lanes3 slip, anchor_offset; /* of mine against other */
    /* of the other body, in world axes: point, normal, origin, twist, anchor */
    gw_lanes3 other_x, other_n, other_p, other_v, other_w, other_anchor_x, other_direction[2];
    gw_lanes3 other_tilting, other_edge_x, other_bow_x;
} gw_penalty_batch;

/* An empty batch of body `body` of its model. */
void gw_penalty_batch_init(gw_penalty_batch *batch, int body);

/* Adds a contact; there must be a free lane. `other`: number of the other body, for the caller. */
void gw_penalty_batch_add(gw_penalty_batch *batch, const gw_penalty_contact *contact, int other);

/* Sets the motion of the other body of a lane; *other must stay valid until the forces are found.
 */
void gw_penalty_batch_set_other(gw_penalty_batch *batch, int lane, const gw_body_motion *other);

/* Forces of each lane on `mine`, and the torques about the origins of mine and of other (N, N m,
 * world axes). */
typedef struct gw_penalty_forces {
    gw_lanes3 force, torque, other_torque; /* the force on the other is the opposite */
} gw_penalty_forces;

/* The forces where each lane has a body `mine` of its own, which moves as mine[lane]; unused lanes
 * may have the motion of any body. */
void gw_penalty_batch_apply_between(gw_penalty_batch *batch,
                                    const gw_body_motion *const mine[GW_LANES], double slip_speed,
                                    gw_penalty_forces *out);

/* Adds the force and the torque about its origin on the body that moves as *mine to *on (N, N m,
 * world axes). `slip_speed`: v_th (m/s). */
void gw_penalty_batch_apply(gw_penalty_batch *batch, const gw_body_motion *mine, double slip_speed,
                            gw_wrench *on);

#endif
