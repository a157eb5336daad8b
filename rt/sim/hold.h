/*
 * One tool in hand: the model, the map to its device, the control that makes the device follow,
 * and what is done to it between two ticks. The simulation has one per tool. On the loop's thread,
 * RT safe.
 *
 * A tick calls gw_hold_sense(), gw_hold_open(), lets the models step, then gw_hold_close() and
 * gw_hold_act(), in this order.
 */
#ifndef GW_SIM_HOLD_H
#define GW_SIM_HOLD_H

#include "rt/haptics/admittance.h"
#include "rt/haptics/rendering.h"
#include "rt/sim/movers.h"
#include "rt/sim/robot.h"
#include "rt/sim/scenario_data.h"

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
typedef struct gw_contact_step {
    bool near, travels;
    double before; /* all energy (J) */
    double power;  /* of what moves walls (W) */
    gw_pose held;
} gw_contact_step;

typedef struct gw_hold {
    const gw_scenario_tool *tool;
    gw_guided body;  /* the held object; of no use where a mechanism is held */
    gw_chain *chain; /* the held mechanism, of the scenario's movers; NULL: an object is held */
    gw_map map;
    gw_pid pid;
    gw_rendering rendering; /* control of an impedance device, in place of pid and coupling */
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
    gw_wrench wrench; /* of the operator at the tool frame */
    gw_wrench acting; /* on the model there: what control makes of it */
    gw_rendering_out rendered;
    gw_wrench contact; /* of the walls, at the tool frame */
    gw_wrench constraint;
    bool limited;
    bool settled;  /* a travel ended in this tick */
    bool singular; /* close to a singular point of its set */

    gw_pose start; /* of the body, before the step */
    double before; /* all its energy then (J) */
    gw_contact_step wall;
    double hit[GW_MODEL_MAX_DOF]; /* impulse of contacts in the last step, generalised */
    bool was_hit;
    bool answers; /* the device's control has begun a tick that it is to end */

    /* sums since tick 0 or the last switch of scenario (J) */
    double work, dissipated, edits;
    double damped, withheld; /* by the passivity controller (J), by the device's limits (N s) */
} gw_hold;

/* What it moves. */
static inline gw_model *gw_hold_model(gw_hold *hold)
{
    return hold->chain ? &hold->chain->model : &hold->body.model;
}

static inline const gw_model *gw_hold_model_of(const gw_hold *hold)
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
void gw_hold_show(gw_hold *hold);

/* At the layout's pose with the scene's initial twist (a mechanism: where it is), device placed
 * there; sums at zero. */
void gw_hold_reset(gw_hold *hold, const gw_scenario_tool *tool, gw_chain *chain, double dt);

/* So again as tick 0 begins, with the operators that it has by now. */
void gw_hold_begin(gw_hold *hold, double dt);

/* Goes over to another scenario's tool without a bump; `old` is the hold of the same object or
 * mechanism, or NULL where it was not held. Sums begin at zero. */
void gw_hold_switch(gw_hold *hold, const gw_hold *old, const gw_scenario_tool *tool,
                    gw_chain *chain, const gw_scenario *scenario);

/* `movers` and `index` name the model to the contacts' side, which tells the load on it. */
void gw_hold_sense(gw_hold *hold, const gw_tick *tick, const gw_movers *movers, int index);
void gw_hold_open(gw_hold *hold, const gw_tick *tick, gw_mover *mover);
void gw_hold_close(gw_hold *hold, const gw_tick *tick, const gw_mover *mover);
void gw_hold_act(gw_hold *hold, const gw_tick *tick);

/* While the model is paused a simulated impedance device and its control stand still with it, so
 * that ticks one by one are those of a run. */
bool gw_hold_waits(const gw_hold *hold, const gw_tick *tick);

/* The device's control: what the model is to feel, a part of sense; and after its step what the
 * device is to exert, a part of act. Into hold->rendered. */
void gw_hold_feel(gw_hold *hold, const gw_tick *tick, const gw_movers *movers, int index);
void gw_hold_answer(gw_hold *hold);

/* Freezes the tool while wanted; at the end the map is centred anew. A part of sense. */
void gw_hold_clutch(gw_hold *hold);

/* Where the held object is shown. */
gw_pose gw_hold_object(const gw_hold *hold);

/* Where geometry that it stands on moves in this tick of `dt` seconds (`network`; NULL: none does):
 * the body rides to its moved set (moved_set.h), the energy that this takes is booked. False where
 * its branch is gone. Between sense and open. */
bool gw_hold_move_set(gw_hold *hold, gw_network *network, double dt);

/* Takes the step of `dt` seconds back, but for what its set rides on: where it would have gone
 * cannot be followed. */
void gw_hold_undo(gw_hold *hold, double dt);

/* Energy went (J): dissipated; or came, which only geometry that moves can do. */
void gw_hold_lose(gw_hold *hold, double lost);

/* Takes the velocity away (halt); its energy is booked as dissipated. */
void gw_hold_rest(gw_hold *hold);

/* Takes `1 - factor` of the model's velocity away; the kinetic energy that went (J). */
double gw_hold_slow(gw_hold *hold, double factor);

/* Masses that a hand at the held frame deals with, as of one body: a held object's, or those of a
 * mechanism's held point along its lightest direction. */
gw_mass gw_hold_mass(const gw_hold *hold);

/* Kinetic and potential energy of the held object, what the walls' springs hold included (J); a
 * mechanism's is not counted here. */
void gw_hold_energy(const gw_hold *hold, double *kinetic, double *potential);

/* Their sum. */
static inline double gw_hold_whole_energy(const gw_hold *hold)
{
    double kinetic, potential;
    gw_hold_energy(hold, &kinetic, &potential);
    return kinetic + potential;
}

/* The state before the step: call between sense and step. */
void gw_hold_before(const gw_hold *hold, gw_tool_state *state);

/* What the step adds to it: call after gw_hold_act(). */
void gw_hold_publish(const gw_hold *hold, gw_tool_state *state);

#endif
