/*
 * One tool in hand: the model, the map to its device, the control that makes the device follow,
 * and what is done to it between two ticks. The simulation has one per tool. On the loop's thread,
 * RT safe.
 *
 * A tick calls gw_haptic_tool_sense(), gw_haptic_tool_pre_step(), lets the models step, then
 * gw_haptic_tool_post_step() and gw_haptic_tool_actuate(), in this order.
 */
#ifndef GW_SIM_HAPTIC_TOOL_H
#define GW_SIM_HAPTIC_TOOL_H

#include "rt/haptics/admittance.h"
#include "rt/haptics/impedance.h"
#include "rt/sim/scene_dynamics.h"
#include "rt/sim/motion_executor.h"
#include "rt/sim/scenario_private.h"

/*
 * A step near a wall: what the springs do not give back went into their damping, so
 *
 *   dissipated = W - d(kinetic + potential + springs),   W = f . dp + tau . dtheta
 *
 * of the operator, whose wrench is constant during the step. Force and motion have kinks there that
 * a quadrature over the step would miss. While it travels, the walls' damping counts as an
 * operator's work. What moves a wall works as well, by its damping: its power as the step begins
 * and as it ends, booked under edits.
 */
typedef struct gw_tool_unilateral_step {
    bool near, travels;
    double before; /* all energy (J) */
    double power;  /* of what moves walls (W) */
    gw_pose held;
} gw_tool_unilateral_step;

typedef struct gw_haptic_tool {
    const gw_scenario_tool *tool;
    gw_guided body;  /* the held object; of no use where a mechanism is held */
    gw_chain *chain; /* the held mechanism, of the scenario's movers; NULL: an object is held */
    gw_workspace_map map;
    gw_pid pid;
    gw_impedance_control
        rendering; /* control of an impedance device, in place of pid and coupling */
    gw_virtual_coupling coupling;
    gw_transition travel;
    gw_drag drag;
    gw_motion_executor robot;
    gw_unilaterals walls;
    gw_wrench push;
    bool clutch_wanted; /* by command; the device's button counts as well */
    bool clutched;
    gw_twist free;                   /* of the device while clutched, device space */
    bool lost, held_still, limiting; /* the device was silent, the step failed, a clamp acted */

    /* of this tick */
    gw_device_reading sensed;
    gw_pose shown; /* virtual tool */
    gw_twist shown_twist;
    gw_wrench wrench; /* of the operator at the tool frame */
    gw_wrench acting; /* on the model there: what control makes of it */
    gw_impedance_out rendered;
    gw_wrench contact; /* of the walls, at the tool frame */
    gw_wrench constraint;
    bool limited;
    bool settled;  /* a travel ended in this tick */
    bool singular; /* close to a singular point of its set */

    gw_pose start; /* of the body, before the step */
    double before; /* all its energy then (J) */
    gw_tool_unilateral_step wall;
    double hit[GW_MODEL_MAX_DOF]; /* impulse of contacts in the last step, generalised */
    bool was_hit;
    bool answers; /* the device's control has begun a tick that it is to end */

    /* sums since tick 0 or the last switch of scenario (J) */
    double work, dissipated, edits;
    double damped, withheld; /* by the passivity controller (J), by the device's limits (N s) */
} gw_haptic_tool;

/* What it moves. */
static inline gw_model *gw_haptic_tool_model(gw_haptic_tool *hold)
{
    return hold->chain ? &hold->chain->model : &hold->body.model;
}

static inline const gw_model *gw_haptic_tool_model_const(const gw_haptic_tool *hold)
{
    return hold->chain ? &hold->chain->model : &hold->body.model;
}

/* What a tick is like for all tools. */
typedef struct gw_tick {
    uint64_t tick;
    double within; /* s into the tick, where control and devices step more often */
    double dt;     /* of this step */
    int rate;
    bool moving;  /* the model steps in this tick */
    bool engaged; /* devices obey */
} gw_tick;

/* Virtual tool: the model's held frame, displaced while a travel lasts. */
void gw_haptic_tool_update_pose(gw_haptic_tool *hold);

/* At the layout's pose with the scene's initial twist (a mechanism: where it is), device placed
 * there; sums at zero. */
void gw_haptic_tool_reset(gw_haptic_tool *hold, const gw_scenario_tool *tool, gw_chain *chain,
                          double dt);

/* So again as tick 0 begins, with the operators that it has by now. */
void gw_haptic_tool_restart(gw_haptic_tool *hold, double dt);

/* Goes over to another scenario's tool without a bump; `old` is the hold of the same object or
 * mechanism, or NULL where it was not held. Sums begin at zero. */
void gw_haptic_tool_switch(gw_haptic_tool *hold, const gw_haptic_tool *old,
                           const gw_scenario_tool *tool, gw_chain *chain,
                           const gw_scenario *scenario);

/* `movers` and `index` name the model to the contacts' side, which tells the load on it. */
void gw_haptic_tool_sense(gw_haptic_tool *hold, const gw_tick *tick,
                          const gw_scene_dynamics *movers, int index);
void gw_haptic_tool_pre_step(gw_haptic_tool *hold, const gw_tick *tick, gw_world_system *mover);
void gw_haptic_tool_post_step(gw_haptic_tool *hold, const gw_tick *tick,
                              const gw_world_system *mover);
void gw_haptic_tool_actuate(gw_haptic_tool *hold, const gw_tick *tick);

/* While the model is paused a simulated impedance device and its control stand still with it, so
 * that ticks one by one are those of a run. */
bool gw_haptic_tool_waits(const gw_haptic_tool *hold, const gw_tick *tick);

/* The device's control: what the model is to feel, a part of sense; and after its step what the
 * device is to exert, a part of act. Into hold->rendered. */
void gw_haptic_tool_control_pre_step(gw_haptic_tool *hold, const gw_tick *tick,
                                     const gw_scene_dynamics *movers, int index);
void gw_haptic_tool_control_post_step(gw_haptic_tool *hold);

/* Freezes the tool while wanted; at the end the map is centred anew. A part of sense. */
void gw_haptic_tool_clutch(gw_haptic_tool *hold);

/* Where the held object is shown. */
gw_pose gw_haptic_tool_object_pose(const gw_haptic_tool *hold);

/* Where geometry that it stands on moves in this tick of `dt` seconds (`network`; NULL: none does):
 * the body rides to its moved set (moved_set.h), the energy that this takes is booked. False where
 * its branch is gone. Between sense and open. */
bool gw_haptic_tool_move_set(gw_haptic_tool *hold, gw_kinematics *network, double dt);

/* Takes the step of `dt` seconds back, but for what its set rides on: where it would have gone
 * cannot be followed. */
void gw_haptic_tool_undo_step(gw_haptic_tool *hold, double dt);

/* Energy went (J): dissipated; or came, which only geometry that moves can do. */
void gw_haptic_tool_book_loss(gw_haptic_tool *hold, double lost);

/* Takes the velocity away (halt); its energy is booked as dissipated. */
void gw_haptic_tool_stop(gw_haptic_tool *hold);

/* Takes `1 - factor` of the model's velocity away; the kinetic energy that went (J). */
double gw_haptic_tool_slow(gw_haptic_tool *hold, double factor);

/* Masses that a hand at the held frame deals with, as of one body: a held object's, or those of a
 * mechanism's held point along its lightest direction. */
gw_mass gw_haptic_tool_mass(const gw_haptic_tool *hold);

/* Kinetic and potential energy of the held object, what the walls' springs hold included (J); a
 * mechanism's is not counted here. */
void gw_haptic_tool_energy(const gw_haptic_tool *hold, double *kinetic, double *potential);

/* Their sum. */
static inline double gw_haptic_tool_total_energy(const gw_haptic_tool *hold)
{
    double kinetic, potential;
    gw_haptic_tool_energy(hold, &kinetic, &potential);
    return kinetic + potential;
}

/* The state before the step: call between sense and step. */
void gw_haptic_tool_publish_state(const gw_haptic_tool *hold, gw_tool_state *state);

/* What the step adds to it: call after gw_haptic_tool_actuate(). */
void gw_haptic_tool_publish_step(const gw_haptic_tool *hold, gw_tool_state *state);

#endif
