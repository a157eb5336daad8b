/*
 * Warm start of contacts between surfaces after an edit: a contact continues from the surface
 * parameters at which it was followed before, on the same branch. Not for use inside a tick.
 */
#ifndef GW_SCENE_CONTACT_START_H
#define GW_SCENE_CONTACT_START_H

#include "rt/dynamics/system.h"
#include "rt/scene/scene.h"

/* Surface parameters of the contact with this key. */
typedef struct gw_contact_start {
    uint64_t key;
    gw_contact_point point;
} gw_contact_start;

typedef struct gw_contact_starts {
    int count;
    const gw_contact_start *of;
} gw_contact_starts;

/* Hash of a contact that changes when the parameters of its surfaces change their meaning: of the
 * constraint's id and its two references, the kinds of surfaces, degrees and knots of free-form
 * surfaces. Control points, weights, trims and poses do not count. `contact`: the constraint's
 * closure. */
uint64_t gw_contact_key(const gw_scene_constraint *constraint, const gw_closure_contact *contact);

/* The start with this key, if it is within the present trims of the contact's surfaces; NULL: none.
 * `starts` may be NULL. */
const gw_contact_point *gw_contact_start_find(const gw_contact_starts *starts, uint64_t key,
                                              const gw_closure_contact *contact);

#endif
