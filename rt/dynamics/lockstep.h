/*
 * Free bodies that step together: the states of all bodies at one stage of the integrator, then the
 * forces on all, then the next stage. The contact force between two bodies is computed once per
 * stage, so momentum is conserved to the last bit.
 *
 * The equations are those of a single body (guided_floating.c), by the classic Runge-Kutta formula,
 * one body in each SIMD lane. Belongs to one thread at a time; RT safe.
 */
#ifndef GW_DYNAMICS_LOCKSTEP_H
#define GW_DYNAMICS_LOCKSTEP_H

#include "rt/base/limits.h"
#include "rt/base/simd.h"
#include "rt/base/space.h"
#include "rt/dynamics/model.h"

/* Motion of a body as contacts need it. */
typedef struct gw_body_motion {
    gw_mat3 rotation; /* world_from_body */
    gw_vec3 p;
    gw_twist twist; /* of its origin, world axes */
} gw_body_motion;

static inline gw_body_motion gw_body_motion_of(const gw_pose *pose, const gw_twist *twist)
{
    return (gw_body_motion){gw_quat_to_mat3(pose->q), pose->p, *twist};
}

#define GW_LOCKSTEP_BODIES ((GW_MAX_MODELS + GW_LANES - 1) / GW_LANES * GW_LANES)

/* State of GW_LANES bodies during a step: world axes, but angular velocities, inertias and rotation
 * vectors are in body axes. */
typedef struct gw_lockstep_lanes {
    gw_lanes inverse_mass, inertia[3][3], inverse[3][3]; /* about the centre of mass */
    gw_lanes3 com, gravity;                              /* in the body; m/s^2 */
    gw_lanes q[4];                                       /* at the step's start: w, x, y, z */
    gw_lanes3 c, v, w;       /* the centre of mass, its velocity, and the spin at the start */
    gw_lanes3 rotated_com;   /* at the stage */
    gw_lanes rotation[3][3]; /* at the stage */
    gw_lanes3 theta, spin;   /* the turn since the step's start, and the spin, at the stage */
    struct {
        gw_lanes3 c_ddot, theta_dot, w_dot;
    } k[4]; /* rates at the stages */
} gw_lockstep_lanes;

typedef struct gw_lockstep {
    int count;
    gw_model *bodies[GW_LOCKSTEP_BODIES];
    gw_body_motion motion[GW_LOCKSTEP_BODIES]; /* at the stage that forces are asked for */
    gw_wrench on[GW_LOCKSTEP_BODIES];          /* to be filled in: at the bodies' origins */
    gw_lockstep_lanes lanes[GW_LOCKSTEP_BODIES / GW_LANES];
} gw_lockstep;

/* True for a body without constraints that can be stepped here: it is not damped, and it rotates
 * little in a step of h. The hand is not considered. */
bool gw_lockstep_takes(const gw_model *model, double h);

/* Steps s->bodies by h. `touch` writes the wrenches on all bodies, t seconds into the step, to
 * s->on, which is zeroed before. finite[i] as gw_step.finite: false leaves body i where it was, at
 * rest. */
void gw_lockstep_step(gw_lockstep *s, void (*touch)(void *context, double t), void *context,
                      double h, bool *finite);

#endif
