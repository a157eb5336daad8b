/*
 * One tool in hand: the model, the map to its device, the control that makes the device follow,
 * and what is done to it between two ticks. The simulation has one per tool. On the loop's thread,
 * RT safe.
 *
 * A tick calls gw_hold_sense(), gw_hold_step() and gw_hold_act() in this order.
 */
#ifndef GW_LOOP_HOLD_H
#define GW_LOOP_HOLD_H

#include "rt/control/admittance.h"
#include "rt/loop/robot.h"
#include "rt/loop/scenario_data.h"

typedef struct gw_hold {
    const gw_scenario_tool *tool;
    gw_guided body;
    gw_map map;
    gw_pid pid;
    gw_coupling coupling;
    gw_travel travel;
    gw_drag drag;
    gw_robot robot;
    gw_walls walls;
    gw_wrench push;
    bool clutch_wanted; /* by command; the device's button counts as well */
    bool clutched;
    gw_twist free;                   /* of the device while clutched, device space */
    bool lost, held_still, limiting; /* the device was silent, the step failed, a clamp acted */

    /* of this tick */
    gw_sensed sensed;
    gw_pose shown; /* virtual tool */
    gw_twist shown_twist;
    gw_wrench wrench;  /* acting at the tool frame */
    gw_wrench contact; /* of the walls, at the tool frame */
    gw_wrench constraint;
    bool limited;
    bool settled;  /* a travel ended in this tick */
    bool singular; /* close to a singular point of its set */

    gw_pose start; /* of the body, before the step */

    /* sums since tick 0 or the last switch of scenario (J) */
    double work, dissipated, edits;
} gw_hold;

/* What a tick is like for all tools. */
typedef struct gw_tick {
    uint64_t tick;
    double dt;
    int rate;
    bool moving;  /* the model steps in this tick */
    bool engaged; /* devices obey */
} gw_tick;

/* At the layout's pose with the scene's initial twist, device placed there; sums at zero. */
void gw_hold_reset(gw_hold *hold, const gw_scenario_tool *tool, double dt);

/* Goes over to another scenario's tool without a bump; `old` is the hold of the same object, or
 * NULL where it was not held. Sums begin at zero. */
void gw_hold_switch(gw_hold *hold, const gw_hold *old, const gw_scenario_tool *tool,
                    const gw_scenario *scenario);

void gw_hold_sense(gw_hold *hold, const gw_tick *tick);
void gw_hold_step(gw_hold *hold, const gw_tick *tick);
void gw_hold_act(gw_hold *hold, const gw_tick *tick);

/* Where the held object is shown. */
gw_pose gw_hold_object(const gw_hold *hold);

/* Geometry that it stands on has moved: goes over to the same branch of the moved constraints, at
 * its nearest pose; the energy that this takes is booked. False where that branch is gone: then it
 * stays on the former set. After gw_hold_sense(), before gw_hold_step(). */
bool gw_hold_move_set(gw_hold *hold, const gw_constraint *constraints, int count);

/* Takes the step back: where it would have gone cannot be followed. */
void gw_hold_undo(gw_hold *hold);

/* Takes the velocity away (halt); its energy is booked as dissipated. */
void gw_hold_rest(gw_hold *hold);

/* Kinetic and potential energy of the held body, what the walls' springs hold included (J). */
void gw_hold_energy(const gw_hold *hold, double *kinetic, double *potential);

/* The state before the step: call between sense and step. */
void gw_hold_before(const gw_hold *hold, gw_tool_state *state);

/* What the step adds to it: call after gw_hold_act(). */
void gw_hold_publish(const gw_hold *hold, gw_tool_state *state);

#endif
