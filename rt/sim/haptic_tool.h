/*
 * A haptic tool: an object or a mechanism in a hand. It has the model that moves (the proxy), the
 * workspace map to its device, the control that joins both, and the operators that act on it. The
 * simulation has one per tool of the scene. On the loop's thread, RT safe.
 *
 * A tick calls, in this order, gw_haptic_tool_sense(), gw_haptic_tool_pre_step(), lets all models
 * step, then gw_haptic_tool_post_step() and gw_haptic_tool_actuate(). The simulation may do so
 * several times in a tick (substeps).
 */
#ifndef GW_SIM_HAPTIC_TOOL_H
#define GW_SIM_HAPTIC_TOOL_H

#include "rt/haptics/admittance.h"
#include "rt/haptics/desired_impedance.h"
#include "rt/haptics/impedance.h"
#include "rt/sim/motion_executor.h"
#include "rt/sim/scenario_private.h"
#include "rt/sim/scene_dynamics.h"

typedef struct gw_haptic_tool {
    const gw_scenario_tool *def;
    gw_guided body;   /* the held object; unused where `shared` is there */
    gw_model *shared; /* the mechanism or system of bodies that is held, of the scene's dynamics;
                         NULL: an object that moves on its own */
    gw_workspace_map map;
    gw_pid pid;                   /* admittance device */
    gw_virtual_coupling coupling; /* admittance device */
    gw_impedance_control control; /* impedance device */
    gw_desired_impedance desired;
    gw_pose desired_at; /* body_from_held whose motion its spring has from its rest */
    bool second_hold;   /* beside another tool at one system: its wrench holds for a step */
    gw_transition transition;
    gw_drag drag;
    gw_motion_executor motion;
    gw_wrench push;
    double felt_mass, felt_inertia; /* that the hand moves, at least (kg, kg m^2) */
    bool clutch_wanted;             /* by command; the device's button counts as well */
    bool clutched;
    gw_twist free_twist; /* of an admittance device that moves by itself, device space: while
                            clutched, and its turn about a point that is held */
    bool lost;           /* the device was silent, or sent values that are not finite */
    bool coasts;         /* the device was let go while the model did not move: it is braked */
    bool step_failed;    /* the step was not finite */
    bool command_failed; /* the command was not finite: the device got none */
    bool was_limited;    /* in the last tick */

    /* of this tick, task space, world axes */
    gw_device_reading reading; /* device space */
    gw_pose pose;              /* virtual tool: the held frame, displaced during a transition */
    gw_twist twist;
    gw_wrench wrench;          /* of the operator at the tool frame */
    gw_wrench beside;          /* of drag, push and guided motion: it acts beside the device */
    gw_wrench wrench_on_model; /* what control makes of it */
    gw_impedance_out output;
    gw_unilaterals_at unilaterals; /* of the held object, after the last step; at the tool frame */
    gw_wrench constraint;          /* lambda at the tool frame */
    bool limited;                  /* a limit acted on wrench, speed or command */
    bool arrived;                  /* a transition ended in this tick */
    bool singular;                 /* close to a singular point of its set */

    gw_pose start;                    /* of the body, before the step */
    double speed, spin;               /* of the model's held frame, before the step (m/s, rad/s) */
    double kinetic_before;            /* J */
    double impulse[GW_MODEL_MAX_DOF]; /* of contacts in the last step, generalised */
    bool had_impulse;
    bool control_active; /* control began a tick that it is to end */

    /* sums since tick 0 or the last switch of scenario (J) */
    double work, dissipated, motors, edits; /* motors: of the desired mass */
    double damped, withheld; /* by the passivity controller (J), by the device's limits (N s) */
} gw_haptic_tool;

/* A step as all tools have it. */
typedef struct gw_tick {
    uint64_t tick;
    double within; /* s into the tick, where control and devices step more often */
    double dt;     /* of this step (s) */
    int rate;      /* Hz */
    bool moving;   /* the model steps in this tick */
    bool paused;   /* it does not, and goes on later from where it is */
    bool engaged;  /* devices obey */
} gw_tick;

/* ---- taking hold ---------------------------------------------------------------------------- */

/* At the layout's pose with the scene's initial twist (a mechanism: where it is), device placed
 * there; sums at zero. `shared`: the held mechanism or system, NULL for an object on its own. */
void gw_haptic_tool_reset(gw_haptic_tool *tool, const gw_scenario_tool *def, gw_model *shared,
                          double dt);

/* The same as tick 0 begins, keeping drags, pushes, guided motion and clutch. */
void gw_haptic_tool_restart(gw_haptic_tool *tool, double dt);

/* Whether tick 0 begins with another velocity of a held object by itself than the scene states. */
bool gw_haptic_tool_is_projected(const gw_haptic_tool *tool);

/* Goes over to another scenario's tool without a bump. `old` is the tool that held the same object
 * or mechanism, NULL where none did. Sums begin at zero. */
void gw_haptic_tool_switch(gw_haptic_tool *tool, const gw_haptic_tool *old,
                           const gw_scenario_tool *def, gw_model *shared,
                           const gw_scenario *scenario);

/* The virtual tool (`pose`, `twist`) from the model: its held frame, displaced while a transition
 * lasts. */
void gw_haptic_tool_update_pose(gw_haptic_tool *tool);

/* ---- a tick --------------------------------------------------------------------------------- */

/* Operators, device read, wrench on the model. `dynamics` and `index` name the tool's model where
 * control asks for its resisted directions. */
void gw_haptic_tool_sense(gw_haptic_tool *tool, const gw_tick *tick,
                          const gw_scene_dynamics *dynamics, int index);

/* The tool's geometry moves in this tick of `dt` seconds (`kinematics`; NULL: none does): the body
 * rides to its moved set (moving_submanifold.h), the energy counts under edits. False where its
 * branch is gone. Between sense and pre-step. */
bool gw_haptic_tool_move_set(gw_haptic_tool *tool, gw_kinematics *kinematics, double dt);

void gw_haptic_tool_pre_step(gw_haptic_tool *tool, const gw_tick *tick, gw_world_system *system);
void gw_haptic_tool_post_step(gw_haptic_tool *tool, const gw_tick *tick,
                              const gw_world_system *system);

/* Takes the step of `dt` seconds back, but for the motion of the set itself: its followers cannot
 * go there. */
void gw_haptic_tool_undo_step(gw_haptic_tool *tool, double dt);

/* Commands the device, through the last gate (rt/haptics/limits.h). */
void gw_haptic_tool_actuate(gw_haptic_tool *tool, const gw_tick *tick);

/* Takes the velocity away (halt); its energy is booked as dissipated. */
void gw_haptic_tool_stop(gw_haptic_tool *tool);

/* ---- what it tells -------------------------------------------------------------------------- */

/* Pose of the held object or link as shown. */
gw_pose gw_haptic_tool_object_pose(const gw_haptic_tool *tool);

/* Mass and inertia that a hand at the held frame moves: a held object's, or of a mechanism a lower
 * bound along any direction. */
gw_mass gw_haptic_tool_mass(const gw_haptic_tool *tool);

/* Energy of the held object (J); 0 for a mechanism, which the scene's dynamics counts. */
void gw_haptic_tool_energy(const gw_haptic_tool *tool, double *kinetic, double *potential);

/* Into the snapshot: the state before the step, between sense and pre-step; and what the step adds,
 * after gw_haptic_tool_actuate(). */
void gw_haptic_tool_publish_state(const gw_haptic_tool *tool, gw_tool_state *state);
void gw_haptic_tool_publish_step(const gw_haptic_tool *tool, gw_tool_state *state);

#endif
