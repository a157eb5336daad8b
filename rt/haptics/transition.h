/*
 * Bumpless transition to a new submanifold: at a switch the model is put on the new set at once;
 * the tool is shown displaced from the model by an offset that starts as the jump and decays
 * smoothly, so that pose and twist are continuous, the speed is bounded, and the model keeps moving
 * along the new set.
 *
 *   shown = model + offset(t),   offset(t) = s(t) offset0 + g(t) rate0
 *
 * s falls from 1 to 0 with a trapezoidal speed profile whose ramps are raised cosines; g absorbs
 * the part of the old twist that the new set forbids. On the loop's thread, RT safe.
 */
#ifndef GW_HAPTICS_TRANSITION_H
#define GW_HAPTICS_TRANSITION_H

#include "rt/base/space.h"

/* Bounds of a transition: speeds, and where a hand with stiffness, damping and mass is known to
 * hold the tool, the rate at which its force may change. 0: no such bound. */
typedef struct gw_transition_limits {
    double speed, spin;     /* m/s, rad/s */
    double acceleration;    /* m/s^2 in the ramps; a turn counts as 0.1 m a radian */
    double hand_stiffness;  /* N/m */
    double hand_damping;    /* N s/m */
    double hand_mass;       /* kg */
    double hand_force_rate; /* N/s */
} gw_transition_limits;

typedef struct gw_transition {
    bool active;
    gw_twist offset0; /* displacement from model to shown tool at the start */
    gw_twist rate0;   /* and its rate beyond that of the profile */
    double time;      /* since the start, slowed by pace (s) */
    double pace;      /* of the last advance, 0 .. 1 */
    double duration, ramp;
    double fading; /* duration of g (s) */
} gw_transition;

/* Starts a transition from the shown tool's pose `from` and twist to the model's pose `to` and
 * `to_twist`. Not active if both agree. */
void gw_transition_start(gw_transition *transition, const gw_pose *from, const gw_twist *twist,
                         const gw_pose *to, const gw_twist *to_twist,
                         const gw_transition_limits *limits);

/* Advances time by dt (s), slowed by `pace` (0 .. 1, as the operator resists). True when it
 * ends. */
bool gw_transition_advance(gw_transition *transition, double dt, double pace);

/* The shown pose and twist of a model at `pose` with `twist`. */
void gw_transition_apply(const gw_transition *transition, gw_pose *pose, gw_twist *twist);

#endif
