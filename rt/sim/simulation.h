/*
 * The simulation: a state, commands that change it, and a tick that advances it. Deterministic: the
 * same scenario, commands and device samples give bitwise the same results. It creates no thread:
 * loop.h runs it at its rate on a thread of its own, the command `run` as fast as possible.
 *
 * Once created, one thread at a time calls everything here. gw_simulation_apply() and
 * gw_simulation_tick() are RT safe.
 */
#ifndef GW_SIM_SIMULATION_H
#define GW_SIM_SIMULATION_H

#include <stdint.h>

#include "rt/contact/world.h"
#include "rt/haptics/impedance.h"
#include "rt/sim/halt_latch.h"
#include "rt/sim/histogram.h"
#include "rt/sim/kinematics.h"
#include "rt/sim/lease.h"
#include "rt/sim/scenario.h"
#include "rt/sim/stages.h"

struct gw_detection;

typedef enum gw_run_state { GW_STOPPED, GW_RUNNING, GW_PAUSED } gw_run_state;

/* ---- commands in --------------------------------------------------------------------------- */

typedef enum gw_command_kind {
    GW_COMMAND_SCENARIO, /* replaces the scenario, by bumpless transitions */
    GW_COMMAND_STATE,    /* run, pause, stop (tick 0 and the scenario's poses) */
    GW_COMMAND_STEP,     /* makes `ticks` ticks while paused; 0: cancels those left */
    GW_COMMAND_OPERATOR, /* replaces the operator at a device; its t is 0 in this tick */
    GW_COMMAND_DRAG,     /* spring from a point of the held or a free object to a target */
    GW_COMMAND_RELEASE,  /* ends the drag or, if there is none, the guided motion */
    GW_COMMAND_PUSH,     /* a wrench at the tool frame, or a free object's origin, until the next
                            push (keys, scripts) */
    GW_COMMAND_CLUTCH,   /* freezes the tool and re-centres the workspace map on release */
    GW_COMMAND_MOTION,   /* guided motion of the tool along its degrees of freedom, or its end */
    GW_COMMAND_CONTROL,  /* replaces the control of an impedance device, without a bump */
    GW_COMMAND_MOTOR,    /* a motor of a mechanism's joint, or of a joint of the scene */
    GW_COMMAND_GEOMETRY, /* moves a feature or a fixed object, with all that depends on it */
    GW_COMMAND_REPORT_LINKS, /* publishes wrenches of links from the next tick on, also in later
                                scenarios */
    GW_COMMAND_HALT,         /* devices to their safe state; nothing moves until armed */
    GW_COMMAND_ARM
} gw_command_kind;

/* A target of guided motion along the parameters of the present branch (submanifold.h). All entries
 * NAN: holds the tool at its present pose. */
typedef struct gw_motion_target {
    bool on;            /* false: releases the tool */
    double to[6];       /* target parameters, NAN: unchanged; periodic ones by the shorter way */
    double by[6];       /* relative change, NAN: none; may exceed a full turn */
    double speed, spin; /* bounds for the tool frame (m/s, rad/s) */
    double force,
        torque;   /* guards: ends at this reaction along a slide, about a turn (N, N m); 0: none */
    bool contact; /* guard: ends when a bound touches that did not at the start */
} gw_motion_target;

/* How a guided motion ended. */
typedef enum gw_motion_outcome {
    GW_MOTION_NONE,
    GW_MOTION_REACHED,  /* the end, to 5e-5 m and 5e-4 rad */
    GW_MOTION_REACTION, /* the reaction reached the guard's value */
    GW_MOTION_CONTACT,  /* a bound touched */
    GW_MOTION_BLOCKED,  /* no progress for half a second */
    GW_MOTION_LOST      /* released, halted, another command or another set */
} gw_motion_outcome;

typedef struct gw_command {
    gw_command_kind kind;
    int tool; /* index, for drag, release, push, clutch, guide */
    char object[GW_MAX_LINK_NAME +
                1]; /* for drag, release, push: a free object or a link; empty: the tool */
    uint64_t tag;   /* returned in the event that reports the command as active */
    union {
        gw_scenario *scenario; /* ownership passes */
        gw_run_state state;
        uint64_t ticks;
        struct {
            const char *device;           /* compared by pointer with gw_device_slot_id() */
            gw_operator_program *program; /* ownership passes; NULL: none */
        } operator;
        struct {
            gw_vec3 point;                        /* grabbed, in the object's frame (m) */
            gw_vec3 target;                       /* world (m) */
            double stiffness, damping, force_max; /* N/m, N s/m, N; 0: 500, critical, 30 */
            bool turn; /* `target` drives the rotation about the object's centre instead */
        } drag;
        gw_wrench push;
        bool clutch;
        gw_motion_target guide;
        gw_impedance_def rendering; /* of tool `tool` */
        struct {
            int mechanism, joint; /* mechanism -1: of the scene */
            int coordinate;
            gw_motor motor;
        } motor;
        struct {
            gw_moved_geometry moved;
            uint64_t revision; /* revision of the scene with these values */
        } geometry;
    };
} gw_command;

/* ---- state out ----------------------------------------------------------------------------- */

/* Guided motion at a tool. */
typedef struct gw_motion_state {
    bool active, moving;       /* holds the tool; runs along a path */
    uint64_t tag;              /* of the newest GW_COMMAND_MOTION */
    gw_motion_outcome outcome; /* of the last path, NONE while moving */
    double reaction;           /* along the path (N, N m) */
    int parameter_count;
    double parameters[6]; /* of the tool on its branch, where active */
} gw_motion_state;

typedef struct gw_tool_state {
    int object; /* index in the scene */
    gw_pose world_from_object;
    gw_pose world_from_tool; /* virtual tool */
    gw_twist twist;          /* of the tool frame's origin, world axes */
    gw_pose device;          /* as measured, in task space */
    gw_pose device_true;     /* simulated device's true pose, in task space; else `device` */
    gw_wrench operator;      /* of the operator at the tool frame, world axes */
    gw_wrench constraint;    /* lambda: constraint wrench at the tool frame, world axes */
    gw_wrench contact;       /* of the bounds at the tool frame, world axes */
    uint64_t walls;          /* bit i: bound i of the object touches (gw_scene_unilateral()) */
    double depth;            /* largest penetration of a bound (m) */
    gw_motion_state guide;
    double force_normal, force_tangential; /* of the operator's force against the set (N) */
    double error_p, error_r;               /* virtual tool and device (m, rad) */
    double residual;                       /* of the set's rows (m) */
    bool travelling;                       /* in a transition to a new set */
    bool clutched;
    bool limited; /* a clamp acted in this tick */
    bool dragging;
    double map_scale;               /* device metres per metre of the task */
    gw_vec3 map_centre;             /* task point at the device's origin (m) */
    double felt_mass, felt_inertia; /* lower bounds of what the hand moves (kg, kg m^2) */
    int couplings;                  /* virtual couplings at the model that the tool holds */
    int mechanism, link;            /* held instead of an object, else -1 */
    int too_light; /* directions that feel heavier than the desired mass (desired_impedance.h) */
    bool renders;  /* at an impedance device; else the members below are zeros */
    gw_wrench command;               /* u: exerted by an impedance device, task space */
    gw_wrench hand;                  /* F_h as used by control */
    gw_wrench impulse;               /* the impulsive part of `command` */
    gw_resisted_directions resisted; /* resisted directions, if control needs them */
    double port;                     /* energy output at the device's port so far (J) */
    double damped;                   /* by the passivity controller so far (J) */
    double withheld;                 /* impulse dropped by the device's limits so far (N s) */
} gw_tool_state;

/* One of two bodies in contact: an object's index, or -1 - n for link n of all mechanisms' links in
 * scene order. */
typedef int gw_contact_body;

/* A contact that touched or collided in the last tick; b may be fixed. */
typedef struct gw_snapshot_contact {
    gw_contact_body a, b;
    gw_contact_data at;
    int constraint; /* 1 + index of its constraint in the scene; 0: none */
    bool kept;      /* by a bilateral constraint */
} gw_snapshot_contact;

/* A recent collision: it lasts one tick, and clients read less often. */
typedef struct gw_snapshot_collision {
    gw_snapshot_contact contact;
    uint64_t tick;
} gw_snapshot_collision;

/* Simultaneous collisions, resolved together. */
typedef struct gw_snapshot_collision_state {
    uint64_t tick;
    gw_world_collision of;
} gw_snapshot_collision_state;

typedef struct gw_free_body {
    int object;
    gw_pose pose;
    gw_twist twist;       /* of the object's origin */
    gw_wrench constraint; /* lambda of this tick's step, at the object's origin, world axes; of the
                             last step while stopped or paused */
    gw_wrench operator; /* of a drag or push in the last step, at the object's origin, world axes */
    bool dragging, travelling; /* by a person; in a transition to a new set */
    uint64_t walls;            /* bit i: bound i of the object touches (gw_scene_unilateral()) */
} gw_free_body;

/* Statistics of the world's contacts: present numbers, and sums since tick 0. */
typedef struct gw_contact_statistics {
    int near, touching;
    uint64_t collisions;                     /* met */
    uint64_t deferred, redetections_skipped; /* collisions, queries: see gw_world_step_result */
    double dissipated, generated, spring;    /* J, see gw_world_step_result */
    double impulse; /* sum of the impulses' magnitudes in the last tick (N s) */
} gw_contact_statistics;

/* Sums since tick 0 (J). */
typedef struct gw_energy {
    double kinetic, potential; /* now; potential zero at the world's origin height */
    double initial;            /* kinetic + potential at tick 0 */
    double work_in;            /* of operators */
    double dissipated;         /* by damping */
    double edits;              /* added or removed by changes of scenario and moved geometry */
    double motors;             /* of mechanisms' motors */
} gw_energy;

/* The state before a tick's step and the wrenches acting in it. Scalars and array counts come
 * first, then the arrays in the order of how often scenes use them, so that the data of a small
 * scene lie in one or two pages. */
typedef struct gw_snapshot {
    uint64_t tick;
    double time;       /* tick / rate (s) */
    uint64_t scenario; /* revision that the active scenario was built from */
    uint64_t revision; /* of the present scene: increased by moved geometry */
    gw_run_state state;
    bool halted;
    bool moving; /* this tick makes a step */
    gw_energy energy;
    uint64_t steps_left; /* ticks left to make while paused */
    uint64_t step_tag;   /* of the newest GW_COMMAND_STEP */
    uint64_t limited_ticks;
    uint64_t overruns; /* ticks that took longer than a period, or began a period late */
    uint64_t missed;   /* due ticks that were skipped */
    double tick_us, tick_us_p50, tick_us_p99, tick_us_max; /* cost of a tick (us) */
    double late_us_p50, late_us_p99, late_us_max;          /* lateness of waking (us), 0 in `run` */
    bool real_time;                                        /* SCHED_FIFO was granted */
    gw_contact_statistics contact;
    int tool_count;
    int joint_count; /* of all mechanisms, in scene order */
    int follower_count;
    int coordinate_count;  /* of the scene's joints, in scene order */
    int scene_joint_count; /* the scene's joints themselves */
    int free_count, contact_count;
    int followed_count; /* bilateral contacts without a closed form */
    uint64_t
        hit_count; /* collisions recorded so far: number n is hits[n % GW_MAX_SHOWN_COLLISIONS] */
    uint64_t collision_count; /* collision states recorded so far, likewise */
    uint64_t hits_of;         /* revision of the scenario of these */
    gw_halt_record halt;      /* the halt, while halted; filled in by gw_loop_snapshot() */
    bool operated;            /* `holder` holds the operator's lease; filled in there as well */
    gw_lease_holder holder;

    gw_tool_state tools[GW_MAX_TOOLS];
    double q[GW_MAX_JOINTS], v[GW_MAX_JOINTS];
    gw_follower followers[GW_MAX_FOLLOWERS]; /* records of every tick end before this member */
    gw_pose links[GW_MAX_JOINTS];            /* world_from_link, joint_count of them */
    gw_twist link_twists[GW_MAX_JOINTS];     /* of their origins */
    gw_wrench link_wrenches[GW_MAX_JOINTS];  /* of the parent on it at its frame, world axes; once
                                                GW_COMMAND_REPORT_LINKS asked for them */
    bool link_dragged[GW_MAX_JOINTS];        /* by a hand at the link */
    double coordinates[GW_MAX_COORDINATES];  /* m, rad; turns count on beyond pi */
    double rates[GW_MAX_COORDINATES];
    gw_wrench joint_wrenches[GW_MAX_SCENE_JOINTS]; /* of b on a, at a's frame, world axes */
    gw_free_body free[GW_MAX_MOVING];
    gw_snapshot_contact contacts[GW_MAX_SHOWN_CONTACTS];
    gw_snapshot_collision hits[GW_MAX_SHOWN_COLLISIONS]; /* none older than tick 0 */
    gw_snapshot_collision_state collisions[GW_MAX_SHOWN_COLLISION_STATES];
    gw_contact_start
        followed[GW_MAX_SHOWN_CONTACTS]; /* their contact points, from which edits continue */
} gw_snapshot;

typedef enum gw_event_kind {
    GW_EVENT_ACTIVE,  /* a scenario or operator is active; tag, revision */
    GW_EVENT_STATE,   /* run state changed */
    GW_EVENT_SETTLED, /* a transition ended; tool, object */
    GW_EVENT_LIMITED, /* a clamp began to act; tool */
    GW_EVENT_HALTED,
    GW_EVENT_ARMED,
    GW_EVENT_OVERRUN,      /* value: us over */
    GW_EVENT_DEVICE_LOST,  /* silent or garbage; tool */
    GW_EVENT_NOT_FINITE,   /* the step failed: its tool, or its bodies, stop; tool, object */
    GW_EVENT_MOTION_ENDED, /* the robot's path ended; tool, tag, outcome, value: the reaction */
    GW_EVENT_MOVED, /* new values of geometry, control or motors, `value` of them; tag, revision of
                       the newest */
    GW_EVENT_BOUND, /* followers cannot follow: the hands' step was reverted */
    GW_EVENT_SINGULAR,    /* the tool passes a singular point of its set; tool */
    GW_EVENT_LEFT_BEHIND, /* moved geometry took the branch away from under the tool, or a free
                             object; tool, object */
    GW_EVENT_JAMMED,      /* a contact at which its body cannot move along the normal */
    GW_EVENT_WITHHELD,    /* the device's limits dropped an impulse; tool, value: N s */
    GW_EVENT_CROWDED,     /* more collisions than a step resolves: `value` of them are deferred */
    GW_EVENT_UNBOOKED, /* the energy balance of a step of a system of bodies has an error of `value`
                          J */
    GW_EVENT_UNRENDERED, /* the desired mass could not be rendered passively; tool, value: J that
                            bodies gained, negative: that was taken from them */
    GW_EVENT_STRAINED,  /* a mechanism left its local model's range of validity, or the model is too
                           old; value: strain (1) */
    GW_EVENT_OVERDUE,   /* detection is late: a tick was made without results that were due */
    GW_EVENT_PROJECTED, /* `object` (links after objects) begins at tick 0 with another velocity
                           than it, or its joint, states, or with its joint elsewhere: its
                           relations do not allow that */
    GW_EVENT_EDGE,      /* a body has reached the edge of a surface, or the end of a curve */
    GW_EVENT_DEGENERATE /* the relative curvature of a contact vanishes, or its branch has ended */
} gw_event_kind;

typedef struct gw_event {
    gw_event_kind kind;
    uint64_t tick;
    uint64_t tag;
    uint64_t revision;
    int tool;       /* -1: it is about `object` */
    int object;     /* a free one; -1: not known */
    int constraint; /* 1 + its index in the scene; 0: none */
    int joint;      /* the same; one whose position is `value` instead of `stated` (m, rad) */
    gw_stage stage; /* of an overrun: the one that took longest */
    gw_run_state state;
    gw_motion_outcome outcome;
    double value, stated;
} gw_event;

/* ---- the simulation ------------------------------------------------------------------------ */

typedef struct gw_simulation gw_simulation;

/* Takes all memory that it will need. The scenario's ownership passes. NULL: memory. */
gw_simulation *gw_simulation_create(gw_scenario *scenario, gw_error *error);
/* The same for a rehearsal: pages come in as its first ticks touch them, others never. */
gw_simulation *gw_simulation_create_sparse(gw_scenario *scenario);
/* Destroys its scenario too; devices stay open. */
void gw_simulation_destroy(gw_simulation *simulation);

/* Applies a command at once. What it replaces (a scenario, an operator's program) comes back in
 * `retired` as a command of the same kind, kind GW_COMMAND_STATE where there is nothing to free.
 * RT safe. */
void gw_simulation_apply(gw_simulation *simulation, const gw_command *command, gw_command *retired);

/* One tick: device read, map, wrench, step, control, clamps, device write, snapshot. The device is
 * serviced also when stopped or paused. RT safe. */
void gw_simulation_tick(gw_simulation *simulation);

/* True where a tick found a reason to halt by itself, a latched device silent or a command that is
 * not finite, and nothing has armed since. */
bool gw_simulation_forced_off(const gw_simulation *simulation, gw_halt_cause *cause);

/* Latched devices are engaged softly, with small limits that grow: those that it has, unless they
 * were before, those that come, and all of them after arming. Not called: they are engaged at once.
 * RT safe. */
void gw_simulation_engage_softly(gw_simulation *simulation);

/* Nobody drags or pushes what a latched device holds, or what is joined to that, any more. RT safe.
 */
void gw_simulation_end_drags(gw_simulation *simulation);

/* True where it is paused and has ticks to make, which nothing real waits for: all devices are
 * simulated, so they may follow one another as fast as they are computed. */
bool gw_simulation_steps_ahead(const gw_simulation *simulation);

/* Brings what a tick reads and writes of held bodies back into the processor's caches, which other
 * programs have used since the last tick. Changes nothing. RT safe. */
void gw_simulation_fetch(const gw_simulation *simulation);

/* The scenario that it runs: until the next command. */
const gw_scenario *gw_simulation_scenario(const gw_simulation *simulation);

/* Detection of what is near, NULL where nothing touches: whoever owns the clock has it looked at
 * its own period, never inside a tick (detection.h). It lives as long as the scenario. */
struct gw_detection *gw_simulation_detection(gw_simulation *simulation);

/* The state of the last tick, valid until the next one: always in the same place. */
const gw_snapshot *gw_simulation_snapshot(const gw_simulation *simulation);

/* How a tick was made. */
typedef struct gw_tick_timing {
    double tick_us;  /* what it cost (us) */
    double late_us;  /* lateness of waking (us); 0 where nothing waits */
    uint64_t missed; /* ticks that became due before it ended */
    bool overrun;    /* took longer than the period, or began one late */
    bool real_time;  /* SCHED_FIFO */
} gw_tick_timing;

/* The stages of the tick that is to be made, or was made last: begun by the owner of the clock, who
 * ends its own ones. Not begun: nothing is counted. Always in the same place. */
gw_stages *gw_simulation_stages(gw_simulation *simulation);

/* True where every tool's device gave a valid sample in the last tick. */
bool gw_simulation_sampled(const gw_simulation *simulation);

/* For the owner of the clock: figures that go into the snapshot. */
void gw_simulation_timing(gw_simulation *simulation, const gw_tick_timing *timing);

/* Of all ticks so far (us); quantiles within 4.5 %. */
typedef struct gw_quantiles {
    double p50, p90, p99, p999, max;
} gw_quantiles;

/* Of all ticks so far: how many were below this and not below half of it. */
typedef struct gw_octave {
    double below_us; /* of the last one: and all above */
    uint64_t count;
} gw_octave;

typedef struct gw_octaves {
    int count; /* GW_HISTOGRAM_OCTAVES, ascending */
    gw_octave at[GW_HISTOGRAM_OCTAVES];
    double sum_us;
} gw_octaves;

#define GW_WORST_TICKS 8

/* A tick that was late or took long. */
typedef struct gw_worst_tick {
    uint64_t tick;
    double late_us, tick_us;
    gw_stage stage; /* that took longest */
    int64_t at_ns;  /* CLOCK_REALTIME */
} gw_worst_tick;

typedef struct gw_tick_figures {
    uint64_t ticks, missed, overruns; /* moving or not, since the simulation was created */
    gw_quantiles late_us, tick_us;    /* lateness of waking; what a tick took */
    gw_octaves late, tick;            /* their histograms */
    int worst_count;
    gw_quantiles stage_us[GW_STAGE_COUNT];
    uint64_t overruns_by[GW_STAGE_COUNT]; /* overruns by the stage that took longest */
    gw_worst_tick worst[GW_WORST_TICKS];  /* by lateness and what it took, the worst first */
} gw_tick_figures;

/* RT safe, a microsecond. */
void gw_simulation_figures(const gw_simulation *simulation, gw_tick_figures *figures);

/* Moves at most `capacity` events that happened since the last call to `events`. RT safe. */
int gw_simulation_events(gw_simulation *simulation, gw_event *events, int capacity);

#endif
