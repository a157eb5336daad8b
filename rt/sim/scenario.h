/*
 * A scenario: everything that a tick needs of a scene, solved, checked and allocated outside the
 * loop, and swapped in whole. Built by a server thread (or by `run`), handed over by pointer, used
 * by the loop's thread alone, and handed back to be destroyed.
 */
#ifndef GW_SIM_SCENARIO_H
#define GW_SIM_SCENARIO_H

#include "drivers/driver.h"
#include "rt/scene/layout.h"

/*
 * A device that is open, and who operates it. Opened by the thread that builds scenarios; it
 * outlives every scenario that refers to it. Its operator is changed by command only.
 */
typedef struct gw_device_slot gw_device_slot;

/* Opens the scene's device `device` at the scene's rate, with its stated operator; NULL with an
 * error where the driver is unknown or refuses. */
gw_device_slot *gw_device_slot_open(const gw_device *device, int rate, gw_error *error);
void gw_device_slot_close(gw_device_slot *slot); /* NULL is fine; not while a scenario uses it */
const char *gw_device_slot_id(const gw_device_slot *slot);
const gw_device_info *gw_device_slot_info(const gw_device_slot *slot);

/* An operator in the loop's own form (owned copy of samples or path); NULL when memory is short. */
typedef struct gw_operator_program gw_operator_program;
gw_operator_program *gw_operator_program_create(const gw_operator *operator);
void gw_operator_program_destroy(gw_operator_program *program); /* NULL is fine */

/* How a body begins in a scenario that takes over while the simulation does not stand at tick 0. */
typedef enum gw_begin {
    GW_BEGIN_GO_ON, /* where it is, as it moves */
    GW_BEGIN_POSE,  /* where the layout has it, with the scene's velocity */
    GW_BEGIN_TWIST, /* where it is, with the scene's velocity */
    GW_BEGIN_JOINT, /* its joint where the layout has it, with the scene's velocity, */
    GW_BEGIN_RATE   /* or where it is: what hangs on the joint is carried along */
} gw_begin;

typedef struct gw_scenario gw_scenario;

/* An entry of the scene that had another id in the scenario before. */
typedef struct gw_renamed {
    enum gw_renamed_kind { GW_RENAMED_OBJECT, GW_RENAMED_MECHANISM, GW_RENAMED_JOINT } kind;
    char from[GW_MAX_ID + 1], to[GW_MAX_ID + 1];
} gw_renamed;

typedef struct gw_scenario_def {
    const gw_scene *scene;   /* read only during the call */
    const gw_layout *layout; /* read only during the call; every placement of a tool is solved */
    gw_device_slot *const *slots; /* open devices, looked up by id */
    int slot_count;
    unsigned long long revision; /* of the scene, reported back in snapshots and events */
    /* While running, a held object goes by a transition to the nearest pose of its new set from
     * where the hand has it. Set: it goes to the layout's pose instead (sliders, a branch by name).
     */
    bool go_to_layout;
    /* By object, then by link, of those that are free or in a system of bodies: what an edit says
     * of them. NULL: all go on. */
    const gw_begin *begins;
    /* Entries that go on under another id than in the scenario that this one comes after. */
    const gw_renamed *renamed;
    int renamed_count;
    /* Of a scenario whose scene has the same solids: objects and links of the same shapes and
     * materials in the same order, the same ones fixed, held and free. They are not built again.
     * NULL: none. */
    const struct gw_detector *detector;
    /* The scene of the scenario that it takes over from where the simulation does not stand at tick
     * 0: contacts that may part go on from their places, and are not searched for from all starts.
     * Read only during the call. NULL: it begins at tick 0. */
    const gw_scene *before;
    /* Bounds of a transition; 0: 0.25 m/s and 1 rad/s. */
    double transition_speed, transition_spin;
    /* For a loop: the scenario has a rehearsal (rehearsal.h) of its own, where there is memory for
     * it; without one it takes over that of the scenario that it comes after. */
    bool rehearsed;
} gw_scenario_def;

/* NULL with an error: memory, or a tool whose device is not open. */
gw_scenario *gw_scenario_create(const gw_scenario_def *def, gw_error *error);
void gw_scenario_destroy(gw_scenario *scenario); /* NULL is fine */

/* The detector, for the next scenario: it outlives this one, and is to be
 * given back. NULL where nothing touches, or memory is short. Before the scenario is handed over.
 */
struct gw_detector *gw_scenario_share_detector(const gw_scenario *scenario);
void gw_scenario_release_detector(struct gw_detector *detector); /* NULL is fine */

#endif
