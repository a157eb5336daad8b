/*
 * Unilateral contacts that are constraints of their system: while such a contact rests, its rows
 * are active closures of the system of bodies (rt/dynamics/system.h), which keep the gap closed
 * and, of rolling contacts, the slip at zero at every stage of the integrator. The system
 * deactivates them where the contact lifts off. RT safe.
 *
 *   open         the gap is followed; an impact is resolved by impulses
 *   constrained  the rows are active: no force of this folder acts
 *
 * A contact becomes constrained at the start of a substep, where it is closed and does not
 * separate; a rim that comes to lie flat on a curved surface becomes continuous. All contacts of a
 * group are open again while a collision of the group is resolved.
 */
#include <assert.h>

#include "rt/contact/world_private.h"

#define STILL 1e-9 /* m/s: a contact that opens faster has lifted off */
/* Sine of the angle between a rim's axis and the normal: from TILTED on it may be constrained,
 * below FLAT no longer. */
#define TILTED 0.4
#define FLAT   0.2

/* Sine of the angle between a rim's axis and the normal of a curved surface: of one that lies flat
 * the contact point is arbitrary. 1 for other surfaces. */
static double tilt_of(const gw_world *w, const gw_contact *c)
{
    const gw_surface *on_a = &c->candidate.row->surfaces.on_a;
    gw_vec3 axis = gw_rotate(w->bodies[c->candidate.a].pose.q, on_a->axis);
    if (c->candidate.row->surfaces.on_b.kind == GW_SURFACE_PLANE)
        return 1;
    return on_a->kind == GW_SURFACE_RIM ? gw_norm(gw_cross(axis, c->now.normal)) : 1;
}

/* True for a contact point of surfaces that touch nearly along a line: its supporting points hold
 * them. */
static bool is_on_line(const gw_contact *c)
{
    const gw_closure_contact *contact = &c->candidate.row->surfaces;
    return contact->on_a.kind != GW_SURFACE_RIM && contact->point.pinned;
}

bool gw_contact_may_be_constrained(const gw_world *w, const gw_contact *c)
{
    const gw_unilateral_row *row = c->candidate.row;
    return row && row->kind == GW_UNILATERAL_SURFACES && row->system && !c->unconstrained &&
           c->now.gap >= -GW_CONTACT_HELD_SLACK && tilt_of(w, c) > TILTED && !is_on_line(c);
}

/* True if two contacts are contact points of the same surfaces. */
static bool same_surfaces(const gw_contact *x, const gw_contact *y)
{
    const gw_unilateral_row *a = x->candidate.row, *b = y->candidate.row;
    return a && b && a->kind == GW_UNILATERAL_SURFACES && b->kind == GW_UNILATERAL_SURFACES &&
           a->surfaces.on_a.nurbs == b->surfaces.on_a.nurbs &&
           a->surfaces.on_b.nurbs == b->surfaces.on_b.nurbs;
}

bool gw_contact_lies_beside_constrained(const gw_world *w, const gw_contact *c)
{
    if (!c->candidate.row || c->candidate.row->kind != GW_UNILATERAL_SURFACES || !is_on_line(c))
        return false;
    for (int i = w->pairs[c->pair].first_contact; i >= 0; i = w->contacts[i].next_in_pair) {
        const gw_contact *other = &w->contacts[i];
        bool rests = other->constrained || (gw_contact_may_be_constrained(w, other) &&
                                            other->now.gap <= GW_CONTACT_CLOSED_GAP &&
                                            fabs(other->gap_rate) < w->rules.rest_speed);
        if (rests && same_surfaces(c, other))
            return true;
    }
    return false;
}

/* True if the contact is closed, and stays so or closes again before it counts as open. */
static bool comes_to_rest(const gw_world *w, const gw_contact *c)
{
    if (c->constrained || c->continuous || c->immovable || c->spurious || c->deferred ||
        c->now.gap > GW_CONTACT_CLOSED_GAP || !(fabs(c->gap_rate) < w->rules.rest_speed))
        return false;
    return c->gap_rate <= STILL || c->collided || gw_contact_rebounds_low(c);
}

static void constrain(gw_world *w, gw_contact *c, double t)
{
    const gw_unilateral_row *row = c->candidate.row;
    const gw_contact_point *point = &row->surfaces.point;
    int m = gw_contact_any_system(c);
    bool overlaps = c->now.gap < -GW_CONTACT_CLOSED_GAP;
    c->constrained =
        gw_system_activate_contact(row->system, row->closure, point->known ? point : NULL);
    c->unconstrained = !c->constrained;
    if (!c->constrained)
        return;
    if (overlaps) /* the energy of moving the bodies apart is taken from their motion */
        w->in_contact[m] = w->any_contact = true;
    gw_world_update_gaps(w, t);
}

void gw_contact_open(gw_contact *c)
{
    assert(c->constrained);
    gw_system_deactivate_contact(c->candidate.row->system, c->candidate.row->closure);
    c->constrained = false;
}

void gw_constrain_contacts(gw_world *w)
{
    double t = gw_substep_latest_start(w);
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        int m = gw_contact_any_system(c);
        if (c->constrained && (tilt_of(w, c) < FLAT || is_on_line(c)))
            gw_contact_open(c);
        if (gw_contact_may_be_constrained(w, c) && !w->systems[m].still &&
            !w->frozen[w->group[m]] && comes_to_rest(w, c) &&
            !gw_system_contact_waits_at_edge(c->candidate.row->system, c->candidate.row->closure))
            constrain(w, c, t);
    }
}

void gw_open_contacts(gw_world *w)
{
    for (int i = 0; i < w->active.contact_count; i++)
        if (w->contacts[w->active.contacts[i]].constrained)
            gw_contact_open(&w->contacts[w->active.contacts[i]]);
}

void gw_contact_end_constrained(gw_contact *c)
{
    const gw_unilateral_row *row = c->candidate.row;
    bool passed_on = row && row->system && row->surfaces.edged; /* by another one, at an edge */
    if (c->constrained || passed_on)
        c->constrained = gw_system_contact_is_active(row->system, row->closure);
}

gw_vec3 gw_contact_constraint_force(const gw_world *w, const gw_contact *c, gw_vec3 *couple)
{
    const gw_unilateral_row *row = c->candidate.row;
    gw_wrench on_a = gw_system_contact_force(row->system, row->closure);
    gw_vec3 arm = gw_sub(c->now.at_a, w->bodies[c->candidate.a].pose.p);
    *couple = gw_sub(on_a.t, gw_cross(arm, on_a.f));
    return on_a.f;
}
