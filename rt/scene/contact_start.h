/*
 * Contacts between surfaces that an edit keeps go on from where they were followed before it, on
 * the branch that they were on. Not for use inside a tick.
 */
#ifndef GW_SCENE_CONTACT_START_H
#define GW_SCENE_CONTACT_START_H

#include "rt/dynamics/system.h"
#include "rt/scene/scene.h"

/* Where the contact with this key was followed. */
typedef struct gw_contact_start {
    uint64_t key;
    gw_contact_place place;
} gw_contact_start;

typedef struct gw_contact_starts {
    int count;
    const gw_contact_start *of;
} gw_contact_starts;

/* A hash of what stays while the parameters of a contact's surfaces mean the same: the constraint's
 * id and what it names, the kinds of surfaces, degrees and knots of free-form ones. Control points,
 * weights, trims and poses are not in it. `contact`: the constraint's closure. */
uint64_t gw_contact_key(const gw_scene_constraint *constraint, const gw_closure_contact *contact);

/* The start with this key, on the contact's surfaces as they are trimmed now; NULL: there is none.
 * `starts` may be NULL. */
const gw_contact_place *gw_contact_start_find(const gw_contact_starts *starts, uint64_t key,
                                              const gw_closure_contact *contact);

#endif
