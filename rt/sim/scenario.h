/*
 * A scenario: everything that a tick needs of a scene, solved, checked and allocated outside the
 * loop. Built by a server thread (or by the command `run`), passed to the loop by pointer, used by
 * the loop's thread alone, and returned to be destroyed.
 */
#ifndef GW_SIM_SCENARIO_H
#define GW_SIM_SCENARIO_H

#include "drivers/driver.h"
#include "rt/scene/layout.h"

/*
 * An open device and its operator. Opened by the thread that builds scenarios; it outlives every
 * scenario that refers to it. Its operator is changed by command only.
 */
typedef struct gw_device_slot gw_device_slot;

/* Opens the scene's device `device` at the scene's rate, with its stated operator; NULL with an
 * error where the driver is unknown or refuses. */
gw_device_slot *gw_device_slot_open(const gw_device *device, int rate, gw_error *error);
void gw_device_slot_close(gw_device_slot *slot); /* NULL is fine; not while a scenario uses it */
const char *gw_device_slot_id(const gw_device_slot *slot);
const gw_device_info *gw_device_slot_info(const gw_device_slot *slot);

/* An operator's program for the loop, with a copy of samples or path. NULL: memory. */
typedef struct gw_operator_program gw_operator_program;
gw_operator_program *gw_operator_program_create(const gw_operator *operator);
void gw_operator_program_destroy(gw_operator_program *program); /* NULL is fine */

/* Initial state of a body in a scenario that replaces another one after tick 0. */
typedef enum gw_begin {
    GW_BEGIN_GO_ON, /* present pose and velocity */
    GW_BEGIN_POSE,  /* the layout's pose, the scene's velocity */
    GW_BEGIN_TWIST, /* present pose, the scene's velocity */
    GW_BEGIN_JOINT, /* its joint's position from the layout, velocity from the scene; descendants
                       are carried along */
    GW_BEGIN_RATE /* its joint's present position, velocity from the scene; descendants are carried
                     along */
} gw_begin;

typedef struct gw_scenario gw_scenario;

/* An entry of the scene that had another id in the former scenario. */
typedef struct gw_renamed {
    enum gw_renamed_kind { GW_RENAMED_OBJECT, GW_RENAMED_MECHANISM, GW_RENAMED_JOINT } kind;
    char from[GW_MAX_ID + 1], to[GW_MAX_ID + 1];
} gw_renamed;

typedef struct gw_scenario_def {
    const gw_scene *scene;   /* read only during the call */
    const gw_layout *layout; /* read only during the call; placements of all tools must be solved */
    gw_device_slot *const *slots; /* open devices, looked up by id */
    int slot_count;
    unsigned long long revision; /* of the scene, reported back in snapshots and events */
    /* False: while running, a held object moves by a transition from its present pose to the
     * nearest one of its new set. True: to the layout's pose (sliders, a branch chosen by name). */
    bool go_to_layout;
    /* Per object, then per link; used for free bodies and bodies of systems. NULL: all
     * GW_BEGIN_GO_ON. */
    const gw_begin *begins;
    /* Entries renamed since the former scenario. */
    const gw_renamed *renamed;
    int renamed_count;
    /* The detector of a scenario with the same solids (objects and links with the same shapes and
     * materials in the same order, the same ones fixed, held and free), which are then shared.
     * NULL: none. */
    const struct gw_detector *detector;
    /* The detector of the former scenario, of whose free-form surfaces a new detector reuses what
     * is the same. Read only during the call. NULL: none. */
    const struct gw_detector *reused;
    /* The scene of the former scenario if this one takes over after tick 0: unilateral contacts
     * then continue from their contact points without a complete search. Read only during the call.
     * NULL: it begins at tick 0. */
    const gw_scene *before;
    /* Bounds of a transition; 0: 0.25 m/s and 1 rad/s. */
    double transition_speed, transition_spin;
    /* For a loop: the scenario gets a rehearsal (rehearsal.h) of its own if memory allows; without
     * one it takes over that of the former scenario. */
    bool rehearsed;
} gw_scenario_def;

/* NULL with an error: memory, or a tool whose device is not open. */
gw_scenario *gw_scenario_create(const gw_scenario_def *def, gw_error *error);
void gw_scenario_destroy(gw_scenario *scenario); /* NULL is fine */

/* A reference to the detector, for the next scenario: it outlives this one and must be released.
 * NULL: no contacts, or memory. Call it before the scenario is passed to the loop. */
struct gw_detector *gw_scenario_share_detector(const gw_scenario *scenario);
void gw_scenario_release_detector(struct gw_detector *detector); /* NULL is fine */

#endif
