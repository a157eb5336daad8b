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
#ifndef GW_CONTACT_PRESSING_H
#define GW_CONTACT_PRESSING_H

#include "rt/base/lanes.h"
#include "rt/base/space.h"
#include "rt/collision/near.h"

typedef struct gw_lanes3 {
    gw_lanes x, y, z;
} gw_lanes3;

/* A body as one that touches it sees it. */
typedef struct gw_sight {
    gw_mat3 turned; /* world_from_body */
    gw_vec3 p;
    gw_twist twist;
} gw_sight;

/* One contact as the body that asks feels it. */
typedef struct gw_press {
    const gw_near *near;
    bool is_a;                          /* it asks for `a` of the pair */
    double stiffness, damping, slack;   /* K, B, and the depth from which K acts */
    double friction, viscous;           /* mu, and the most of F_t / v_t that a step bears */
    double hold, hold_damping;          /* k, d of a grip that sticks; 0: it creeps */
    gw_vec3 slip;                       /* x as the piece began (of a against b) */
    gw_vec3 mark_a, mark_b, mark_apart; /* points that touched then, and x_a - x_b of them */
} gw_press;

/* GW_LANES of them; lanes that are not used press nothing. */
typedef struct gw_pressing {
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
} gw_pressing;

gw_sight gw_sight_of(const gw_pose *pose, const gw_twist *twist);

/* Empty, of that body of the model. */
void gw_pressing_open(gw_pressing *f, int body);

/* A contact more; `its`: whom gw_pressing_see() is told of. */
void gw_pressing_add(gw_pressing *f, const gw_press *c, int its);

/* The other body of a lane is there now. */
void gw_pressing_see(gw_pressing *f, int lane, const gw_sight *its);

/* Adds what presses the body that is there: force and torque about its origin. */
void gw_pressing_act(const gw_pressing *f, const gw_sight *mine, double slip_speed, gw_wrench *on);

#endif
