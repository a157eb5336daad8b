/*
 * Unilateral constraints: one-sided distances at a held or a free object (framework IV-C.3,
 * inequalities; on the wire: walls).
 *
 * With h the row of the distance and `sign` its forbidden side, depth = sign h is how far the
 * object is beyond. Where depth exceeds `slack`, a spring with damping pushes back along the row's
 * gradient and never pulls:
 *
 *   F = max(0, k (depth - slack) + d depth-dot),    wrench on the body = -sign A^T F
 *
 * Where geometry moves, a constraint steps to its new place as the tick begins, stands there during
 * the tick, and damps against its speed.
 *
 * What is built is part of a scenario; what changes belongs to one body. On the loop's thread, RT
 * safe, but for gw_unilaterals_build().
 */
#ifndef GW_SIM_UNILATERAL_H
#define GW_SIM_UNILATERAL_H

#include <stdint.h>

#include "rt/sim/kinematics.h"
#include "rt/dynamics/model.h"

/* As it is built. */
typedef struct gw_unilateral {
    gw_row row;  /* of the distance: its value is the bound's */
    double sign; /* 1: more than the value is beyond (at-most); -1: less is (at-least) */
    gw_geometry_feature own, other; /* what it keeps apart */
} gw_unilateral;

/* The constraints of an object in scene order, the other objects standing at `poses`: at most
 * GW_MAX_UNILATERALS, returns how many. Outside the loop. */
int gw_unilaterals_build(const gw_scene *scene, const gw_pose *poses, int object,
                         gw_unilateral *out);

/* The constraints of one body, and their state from tick to tick. */
typedef struct gw_unilaterals {
    int count;
    const gw_unilateral *wall;         /* of the scenario */
    gw_row row[GW_MAX_UNILATERALS];    /* where each is now, and */
    double coming[GW_MAX_UNILATERALS]; /* how fast the depth grows as geometry moves (m/s) */
    bool moving;                       /* one of them does */
    double stiffness[GW_MAX_UNILATERALS],
        damping[GW_MAX_UNILATERALS];  /* N/m, N s/m; 0: it is far */
    double slack[GW_MAX_UNILATERALS]; /* depth at which it found the object, at most (m) */
    uint64_t near;                    /* bit i: constraint i has a stiffness */
    uint64_t touching;                /* bit i: it touched when the tick began, and damps */
    double depth;                     /* the deepest when the tick began (m), 0: none is passed */
} gw_unilaterals;

/* Other constraints from now on, with geometry as `kinematics` has it (NULL: as they are built).
 * One that is as it was before keeps what it remembers; any other takes the object as it finds it:
 * beyond it, it lets it come back but not go further. Bit i of the result: constraint i was one of
 * `mask`.
 */
uint64_t gw_unilaterals_switch(gw_unilaterals *set, const gw_unilateral *wall, int count,
                               const gw_kinematics *kinematics, uint64_t mask);

/* Once a tick, before anything else asks: who is near, who touches, how stiff. The model tells the
 * effective mass along a constraint that is about to touch, at most `mass` counts, for the body may
 * turn while it touches; `pose` and `twist` are the body's (origin), with the model's held frame in
 * it.
 */
void gw_unilaterals_detect(gw_unilaterals *set, const gw_model *model, double mass,
                           const gw_pose *body_from_held, const gw_pose *pose,
                           const gw_twist *twist, double dt);

/* Geometry moves in this tick of `dt` seconds, the body being there: constraints stand where it
 * takes them to. `kinematics`: NULL where none moves. */
void gw_unilaterals_move(gw_unilaterals *set, const gw_kinematics *kinematics, const gw_pose *pose,
                         double dt);

/* Power (W) of what moves them, by the damping of a body there that moves so; what it does to the
 * springs is in their energy. */
double gw_unilaterals_power(const gw_unilaterals *set, const gw_pose *pose, const gw_twist *twist);

/* The body was taken from one pose to another by what constraints do not resist: they yield, each
 * spring stays as it is. */
void gw_unilaterals_yield(gw_unilaterals *set, const gw_pose *from, const gw_pose *to);

/* The wrench at the body's origin, world axes, of a body there that moves so. */
gw_wrench gw_unilaterals_wrench(const gw_unilaterals *set, const gw_pose *pose,
                                const gw_twist *twist);

/* What the springs hold with the body there (J). */
double gw_unilaterals_energy(const gw_unilaterals *set, const gw_pose *pose);

#endif
