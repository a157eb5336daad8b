/*
 * Unilateral contacts among the closures of a system: the active set of rows.
 *
 *   gap >= 0,   lambda >= 0,   lambda gap = 0
 *
 * with lambda the multiplier of the row along the normal, the first of a contact. An active contact
 * has all its rows, an inactive one none. The caller activates a contact where it closes (an impact
 * is the caller's); a step deactivates it at the time at which lambda becomes negative, or at which
 * the contact point passes the edge of a free-form surface. The rows of rolling need no condition
 * of their own: a rolling contact has traction without Coulomb's limit while it is pressed. RT
 * safe.
 */
#include "rt/dynamics/system_unilateral.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/surface_contact.h"

#define PROJECTIONS 8     /* Newton steps onto the rows of a contact that becomes active */
#define ON_ROWS     1e-10 /* of the length: residual after them, */
#define NEAR_ROWS   1e-3  /* and the largest motion of a joint (rad, or shares of the length) */
#define PULLS       1e-12 /* N, and of the largest force: rounding */
#define CONVERGED   1e-11 /* of the value at the substep's start: it is zero */
#define NARROW      1e-9  /* sixteenths: width of a bracket whose ends are the same time */
#define TRIALS      16
#define MARGIN      1e-3 /* of a bracket: a trial is no nearer to its ends */

static unsigned all_rows(const gw_closure_block *k)
{
    return (1u << k->rows) - 1;
}

void gw_unilateral_apply(gw_system *s)
{
    for (int i = 0; i < s->closure_count && s->unilateral->count > 0; i++) {
        gw_closure_block *k = &s->blocks[i];
        if (!s->closures[i].unilateral)
            continue;
        k->aside = s->unilateral->active[i] ? 0 : all_rows(k);
        k->idle = (k->idle & ~all_rows(k)) | k->aside;
        for (int n = 0; n < k->rows && k->aside; n++)
            s->rows[k->first + n] = (gw_closure_row){.a = k->a, .b = k->b, .scale = 1};
    }
}

bool gw_unilateral_init(gw_system *s)
{
    size_t n = (size_t)s->closure_count + 1;
    gw_unilateral_contacts *u = s->unilateral = calloc(1, sizeof *u);
    if (!u)
        return false;
    u->active = calloc(n, sizeof *u->active);
    u->begin = calloc(n, sizeof *u->begin);
    u->force = calloc(n, sizeof *u->force);
    for (int i = 0; i < s->closure_count; i++)
        u->count += s->closures[i].unilateral;
    if (!u->active || !u->begin || !u->force)
        return false;
    gw_unilateral_apply(s);
    return true;
}

void gw_unilateral_free(gw_system *s)
{
    if (!s->unilateral)
        return;
    free(s->unilateral->active);
    free(s->unilateral->begin);
    free(s->unilateral->force);
    free(s->unilateral);
}

void gw_unilateral_release(gw_system *s)
{
    memset(s->unilateral->active, 0, (size_t)s->closure_count * sizeof *s->unilateral->active);
    gw_unilateral_apply(s);
}

static void set_active(gw_system *s, int closure, bool active)
{
    s->unilateral->active[closure] = active;
    gw_unilateral_apply(s);
    gw_system_update(s);
}

bool gw_system_contact_is_active(const gw_system *s, int closure)
{
    assert(s && closure >= 0 && closure < s->closure_count);
    return gw_system_active_contacts(s->model)[closure];
}

void gw_system_deactivate_contact(gw_system *s, int closure)
{
    assert(s && closure >= 0 && closure < s->closure_count && s->closures[closure].unilateral);
    gw_system_update_all(s);
    set_active(s, closure, false);
    gw_system_take_state(s);
}

gw_wrench gw_system_contact_force(const gw_system *s, int closure)
{
    assert(s && closure >= 0 && closure < s->closure_count);
    return s->unilateral->force[closure];
}

bool gw_system_activate_contact(gw_system *s, int closure, const gw_contact_place *place)
{
    assert(s && closure >= 0 && closure < s->closure_count && s->closures[closure].unilateral);
    gw_system_update_all(s);
    if (s->local || s->is_offset)
        return false;
    for (int i = 0; i < s->body_count; i++)
        gw_joint_copy(&s->bodies[i], &s->bodies[i].joint, &s->home[i]);
    if (place)
        gw_system_continue_contact(s, closure, place);
    s->corrected = 0;
    s->unilateral->force[closure] = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    set_active(s, closure, true);
    double left = gw_closures_project(s, PROJECTIONS);
    bool holds = left <= ON_ROWS * s->length && s->corrected <= NEAR_ROWS;
    for (int i = 0; i < s->body_count && !holds; i++)
        gw_joint_copy(&s->bodies[i], &s->home[i], &s->bodies[i].joint);
    if (!holds)
        set_active(s, closure, false);
    gw_system_take_state(s);
    return holds;
}

/* ---- what ends a contact --------------------------------------------------------------------
 *
 * Two functions of time, of which the first that becomes negative ends it: the normal force (N) and
 * the distance of the contact point from an edge of a free-form surface (m).
 */

static bool any_active(const gw_system *s)
{
    for (int i = 0; i < s->closure_count && s->unilateral->count > 0; i++)
        if (s->unilateral->active[i])
            return true;
    return false;
}

/* The multiplier along the normal of a contact at the present accelerations (N); 0 for a row that
 * depends on others. */
static double normal_force(const gw_system *s, int closure)
{
    const gw_closure_block *k = &s->blocks[closure];
    for (int n = 0; n < k->active; n++)
        if (s->live[k->first + n] == 0)
            return s->rows[k->first].scale * s->solution[k->first + n];
    return 0;
}

/* Distance of the contact point from the nearest edge (m), < 0 beyond it; infinite without
 * edges. */
static double edge_distance(const gw_system *s, int closure)
{
    const gw_closure_contact *k = &s->closures[closure].contact;
    double least = INFINITY;
    for (int side = 0; side < 2; side++) {
        const gw_nurbs *shape = (side ? &k->on_b : &k->on_a)->nurbs;
        for (int i = 0; shape && i < shape->dimension; i++) {
            gw_edge edge;
            if (gw_edge_at(shape, side, i, (side ? k->place.b : k->place.a)[i], true, &edge))
                least = fmin(least, fmin(edge.within[0], edge.within[1]));
        }
    }
    return least;
}

static double ending_function(const gw_system *s, int closure, gw_contact_ending which)
{
    return which == GW_ENDS_BY_FORCE ? normal_force(s, closure) : edge_distance(s, closure);
}

/* Accelerations and multipliers where the bodies are; returns the force that counts as zero (N). */
static double find_forces(gw_system *s, const gw_forces *forces, double t)
{
    gw_system_work power = {0};
    double most = 1;
    gw_system_evaluate_forces(s, forces, t);
    gw_system_outer_power(s, forces, &power);
    gw_system_accelerate(s, &power);
    for (int i = 0; i < s->closure_count; i++)
        if (s->unilateral->active[i])
            most = fmax(most, fabs(normal_force(s, i)));
    return PULLS * most;
}

void gw_unilateral_begin_substep(gw_system *s, const gw_forces *forces, double t)
{
    while (any_active(s)) {
        double least = -find_forces(s, forces, t);
        int ends = -1;
        for (int i = 0; i < s->closure_count; i++) {
            double *begin = s->unilateral->begin[i];
            if (!s->unilateral->active[i])
                continue;
            begin[GW_ENDS_BY_FORCE] = normal_force(s, i);
            begin[GW_ENDS_AT_EDGE] = edge_distance(s, i);
            if (begin[GW_ENDS_AT_EDGE] < 0)
                ends = i, least = -INFINITY;
            if (begin[GW_ENDS_BY_FORCE] < least)
                ends = i, least = begin[GW_ENDS_BY_FORCE];
        }
        if (ends < 0)
            return;
        set_active(s, ends, false);
    }
}

/* ---- the time of lift-off ------------------------------------------------------------------- */

/* The value at the substep's start, at least 0. */
static double begin_value(const gw_system *s, int closure, gw_contact_ending which)
{
    return fmax(s->unilateral->begin[closure][which], 0);
}

/* The contact that, by linear interpolation, ends first; false: none ends. */
static bool first_to_end(const gw_system *s, double zero, gw_lift_off *x)
{
    double first = INFINITY;
    for (int i = 0; i < s->closure_count; i++)
        for (int which = 0; which < 2 && s->unilateral->active[i]; which++) {
            double end = ending_function(s, i, which), begin = begin_value(s, i, which);
            double least = which == GW_ENDS_BY_FORCE ? -zero : 0;
            if (!(end < least) || begin / (begin - end) >= first)
                continue;
            first = begin / (begin - end);
            x->closure = i, x->which = which;
        }
    return isfinite(first);
}

/* The next trial: by the secant through both ends of the bracket or, every third time, its
 * middle. */
static double next_trial(const gw_lift_off *x)
{
    double wide = x->high - x->low, share = x->value_low / (x->value_low - x->value_high);
    if (x->trials % 3 == 2)
        share = 0.5;
    return x->low + wide * fmin(fmax(share, MARGIN), 1 - MARGIN);
}

static bool has_converged(const gw_system *s, const gw_lift_off *x, double value)
{
    return fabs(value) <= CONVERGED * begin_value(s, x->closure, x->which) ||
           x->high - x->low < NARROW || x->trials >= TRIALS;
}

/* Keeps the wrenches of all active contacts, by the multipliers that find_forces() left. */
static void keep_forces(gw_system *s)
{
    const double *multipliers = gw_closures_least_multipliers(s);
    for (int i = 0; i < s->closure_count; i++) {
        gw_wrench *w = &s->unilateral->force[i];
        *w = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
        for (int n = 0; n < s->blocks[i].active && s->unilateral->active[i]; n++) {
            const gw_closure_row *r = gw_active_row(s, &s->blocks[i], n);
            double by = r->scale * multipliers[s->blocks[i].first + n];
            w->f = gw_mul_add(w->f, by, gw_linear_part(r->on_a));
            w->t = gw_mul_add(w->t, by, gw_angular_part(r->on_a));
        }
    }
}

bool gw_unilateral_detect(gw_system *s, const gw_forces *forces, double t, double wide,
                          gw_lift_off *x)
{
    gw_lift_off found = {.active = true, .high = wide};
    if (!any_active(s))
        return false;
    bool ends = first_to_end(s, find_forces(s, forces, t), &found);
    if (!x->active && !ends) {
        keep_forces(s);
        return false;
    }
    bool other = ends && (found.closure != x->closure || found.which != x->which);
    if (!x->active || (other && ending_function(s, x->closure, x->which) >= 0)) {
        found.value_low = begin_value(s, found.closure, found.which);
        *x = found;
    }
    double value = ending_function(s, x->closure, x->which);
    if (wide == x->met && has_converged(s, x, value)) {
        keep_forces(s);
        return false;
    }
    if (value < 0)
        x->high = wide, x->value_high = value;
    else if (wide == x->met)
        x->low = wide, x->value_low = value;
    else
        return false; /* the substep ends earlier for another reason */
    x->met = x->high < NARROW ? 0 : next_trial(x);
    x->trials++;
    return true;
}

void gw_unilateral_lift_off(gw_system *s, double wide, gw_lift_off *x)
{
    if (x->active && wide == x->met)
        set_active(s, x->closure, false);
    *x = (gw_lift_off){.met = INFINITY};
}
