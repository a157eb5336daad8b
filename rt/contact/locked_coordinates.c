/*
 * Joint limits for which no constant loads were found: their coordinates are locked in the substep.
 * A damper on each, so strong that the coordinate stays where it is whatever motors do,
 *
 *   c = S / (h (D^-1 P)_jj),   P = P_0 + c (g - (gap(h) - gap(0)) / h) / J_j^2
 *
 * makes its step implicit; g is the rate at which a violated limit is corrected, P the mean
 * reaction force of the limit, P_0 its constant part. A limit that would pull is released, and the
 * substep tried again; a limit that is violated after that is locked for the rest of the substep.
 * Beside the damper acts the last known P as a constant force; where the damper creeps beyond the
 * tolerance nevertheless, P of the trial in another one. RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/contact/world_private.h"

#define STRENGTH 1e7  /* S: of a free motion in the substep, this part is left */
#define BACK     0.1  /* of what a gap was passed by, brought back in a substep */
#define ALONE    1e-9 /* of the row's entry at its coordinate: others are rounding */

/* The coordinate of its system that the limit bounds; -1: not exactly one. *entry: its entry of J.
 */
static int coordinate_of(const gw_world *w, const gw_contact *c, double *entry)
{
    gw_contact_jacobian_row row;
    int at = 0;
    if (!gw_contact_is_rigid(c) || !gw_contact_bounds_coordinate(c) || c->spurious)
        return -1;
    gw_contact_jacobian(w, c, c->now.normal, true, true, &row);
    int m = row.system[0];
    if (m < 0 || row.system[1] >= 0 || !gw_model_takes_lock(gw_world_model(w, m)))
        return -1;
    int n = gw_model_dof(gw_world_model(w, m));
    for (int i = 1; i < n; i++)
        at = fabs(row.entry[0][i]) > fabs(row.entry[0][at]) ? i : at;
    *entry = row.entry[0][at];
    for (int i = 0; i < n; i++)
        if (i != at && fabs(row.entry[0][i]) > ALONE * fabs(*entry))
            return -1;
    return *entry == 0 ? -1 : at;
}

/* Locks coordinate `at`; false if no force moves it. */
static bool lock_coordinate(gw_world *w, gw_contact *c, int at, double entry, double h)
{
    int m = gw_contact_any_system(c);
    double *locks = w->locks + (size_t)m * GW_MODEL_MAX_DOF, unit[GW_MODEL_MAX_DOF] = {0};
    double *loads = w->load_rate + (size_t)m * GW_MODEL_MAX_DOF, answer[GW_MODEL_MAX_DOF];
    size_t n = (size_t)gw_model_dof(gw_world_model(w, m));
    unit[at] = 1;
    gw_model_apply_inverse(gw_world_model(w, m), unit, answer);
    if (!(answer[at] > 0))
        return false;
    if (!w->locked[m]) {
        memset(locks, 0, n * sizeof *locks);
        memset(loads, 0, n * sizeof *loads);
    }
    w->locked[m] = true;
    locks[at] = STRENGTH / (h * answer[at]);
    c->lock_rate = fmax(0, -BACK * (c->start.gap + c->rest_penetration) / h);
    c->lock = locks[at] / (entry * entry);
    c->lock_load = c->load, c->load_slope = 0;
    loads[at] = locks[at] * c->lock_rate / entry;
    c->locks = at;
    c->lock_is_relieved = false;
    c->lock_state = c->lock_state == GW_LOCK_RELEASED ? GW_LOCK_KEPT : GW_LOCKED;
    return true;
}

static void release_coordinate(gw_world *w, gw_contact *c)
{
    size_t at = (size_t)gw_contact_any_system(c) * GW_MODEL_MAX_DOF + (size_t)c->locks;
    w->locks[at] = w->load_rate[at] = 0;
    c->lock = c->load = 0;
    c->lock_state = GW_LOCK_RELEASED;
}

bool gw_lock_coordinates(gw_world *w, double h)
{
    bool any = false;
    assert(h > 0);
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (c->continuous && c->loaded && !gw_contact_is_rigid(c))
            return false;
    }
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        double entry;
        int at = c->continuous ? coordinate_of(w, c, &entry) : -1;
        any = (at >= 0 && lock_coordinate(w, c, at, entry, h)) || any;
    }
    return any;
}

bool gw_release_locks(gw_world *w, double h)
{
    bool any = false;
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        double entry;
        if (c->lock_state == GW_LOCK_RELEASED && gw_contact_is_violated(c)) {
            int at = coordinate_of(w, c, &entry);
            any = (at >= 0 && lock_coordinate(w, c, at, entry, h)) || any;
        } else if (c->lock > 0) {
            c->load = c->lock_load + c->lock * (c->lock_rate - (c->now.gap - c->start.gap) / h);
            if (c->lock_state == GW_LOCKED && c->load < 0) {
                release_coordinate(w, c);
                any = true;
            } else if (!c->lock_is_relieved && gw_contact_is_violated(c)) {
                c->lock_is_relieved = any = true;
            }
        }
    }
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (c->lock > 0)
            c->load = fmax(0, c->load);
        if (c->lock > 0 && any)
            c->lock_load = c->load;
    }
    return any;
}

bool gw_locks_may_hold(const gw_world *w)
{
    for (int i = 0; i < w->active.contact_count; i++) {
        const gw_contact *c = &w->contacts[w->active.contacts[i]];
        double entry;
        if (c->continuous && c->loaded && coordinate_of(w, c, &entry) < 0)
            return false;
    }
    return true;
}

bool gw_unlock_coordinates(gw_world *w)
{
    bool any = false, held = false;
    for (int i = 0; i < w->active.system_count; i++) {
        any = any || w->locked[w->active.systems[i]];
        w->locked[w->active.systems[i]] = false;
    }
    for (int i = 0; any && i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        held = held || (c->lock > 0 && c->load > 0);
        c->lock = 0;
        c->lock_state = GW_UNLOCKED;
    }
    return held;
}
