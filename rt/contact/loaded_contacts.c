/*
 * Which contacts are loaded: their forces are solved for (rigid_contact_forces.c), because their
 * springs would yield too much; and springs in place of loads that no trial has found. RT safe.
 */
#include <assert.h>

#include "rt/contact/world_private.h"

#define LOADED_RATIO 50.0 /* of masses from which on a contact may be loaded */

/* True if the spring is softer than its surface and compressed beyond GW_CONTACT_LOADED_DEPTH. */
static bool gives_way(const gw_contact *c)
{
    double stated = c->candidate.surface.stiffness;
    bool soft = !(stated > 0) || c->stiffness < 0.99 * stated;
    return c->continuous && soft && -c->now.gap - c->rest_penetration > GW_CONTACT_LOADED_DEPTH;
}

/* True if one body's effective mass along the normal is LOADED_RATIO times the contact's. */
static bool is_pressed_by_heavy(const gw_world *w, gw_contact *c)
{
    gw_contact_jacobian_row row;
    if (!gw_contact_both_dynamic(c))
        return false;
    gw_contact_jacobian(w, c, c->now.normal, true, true, &row);
    double heaviest = 0, light = gw_jacobian_row_inverse_mass(w, &row);
    for (int side = 0; side < 2; side++) {
        gw_contact_jacobian(w, c, c->now.normal, side == 0, side == 1, &row);
        double inverse = gw_jacobian_row_inverse_mass(w, &row);
        heaviest = inverse > 0 ? fmax(heaviest, 1 / inverse) : heaviest;
    }
    return heaviest * light > LOADED_RATIO;
}

static bool system_takes_loads(const gw_world *w, int system)
{
    for (int i = system >= 0 ? w->contacts_of.first[system] : -1; i >= 0;
         i = w->contacts_of.next[i])
        if (w->contacts[w->contacts_of.of[i]].loaded)
            return true;
    return false;
}

/* True if a contact of the same face is loaded: springs under one half of a face and loads under
 * the other would tilt the body. */
static bool is_of_loaded_face(const gw_world *w, const gw_contact *c)
{
    int system = c->system_a >= 0 ? c->system_a : c->system_b;
    for (int i = w->contacts_of.first[system]; i >= 0; i = w->contacts_of.next[i]) {
        const gw_contact *other = &w->contacts[w->contacts_of.of[i]];
        if (other->loaded && other->pair == c->pair && other->pair >= 0 &&
            gw_dot(other->now.normal, c->now.normal) > GW_FACE_NORMAL)
            return true;
    }
    return false;
}

static void make_loaded(gw_contact *c)
{
    c->loaded = true;
    c->load = c->stored = c->loaded_for = 0;
    c->rest_penetration = fmax(c->rest_penetration, -c->now.gap);
    c->friction_spring.slip = gw_v3(0, 0, 0);
    c->friction_spring.spin = 0;
}

bool gw_island_make_rigid(gw_world *w)
{
    bool any = false;
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (!c->loaded && gives_way(c)) {
            /* what a light body presses on in turn carries the same */
            bool heavy = !c->weighed && is_pressed_by_heavy(w, c);
            c->weighed = true;
            if (heavy || system_takes_loads(w, c->system_a) || system_takes_loads(w, c->system_b))
                make_loaded(c);
        }
        any = any || (c->continuous && c->loaded);
    }
    for (int i = 0; i < w->active.contact_count && any; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (!c->loaded && c->continuous && c->now.gap <= 0 && is_of_loaded_face(w, c))
            make_loaded(c);
    }
    return any;
}

void gw_contact_make_spring(gw_contact *c)
{
    assert(gw_contact_is_rigid(c));
    c->yields = true;
    c->loaded = false;
    c->rest_penetration = -c->start.gap - c->load_before / c->stiffness;
}

void gw_contact_make_rigid(gw_contact *c)
{
    assert(c->continuous && c->yields);
    double depth = fmax(0, -c->now.gap - c->rest_penetration);
    c->stored = gw_contact_spring_energy(c);
    c->rest_penetration = fmax(0, c->rest_penetration);
    c->yields = false;
    c->loaded = true;
    c->load = c->load_before = c->stiffness * depth;
}
