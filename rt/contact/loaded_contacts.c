/*
 * Which contacts are loaded: their forces are solved for (rigid_contact_forces.c), because their
 * springs would yield too much; and springs in place of loads that no trial has found;
 * loads from one substep to the next. RT safe.
 */
#include <assert.h>
#include <string.h>

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
    c->load_slope = 0;
    c->loads_before.known = 0;
}

/*
 * The load of a contact that holds is linear in the time t of the substep,
 *
 *   F(t) = P / h + s (t - h / 2)
 *
 * with P from the gap's rate at the end and s from the gap there; a constant force would leave gaps
 * of the order of h^3. Trials begin with the polynomial through the last mean forces, each at the
 * middle of its substep. Of surfaces, and where motors may saturate, the load is constant
 * and extrapolated linearly.
 */

/* Value and derivative at t of Newton's interpolation polynomial of the loads before; of a single
 * one, of its own line. */
static double load_before(const gw_load_history *b, int known, double t, double *slope)
{
    double of[GW_LOADS_KNOWN], sum = 0;
    *slope = b->slope;
    if (known == 1)
        return b->load[0] + b->slope * (t - b->middle[0]);
    memcpy(of, b->load, sizeof of);
    for (int order = 1; order < known; order++)
        for (int i = known - 1; i >= order; i--)
            of[i] = (of[i] - of[i - 1]) / (b->middle[i] - b->middle[i - order]);
    *slope = 0;
    for (int i = known - 1; i >= 0; i--) {
        *slope = *slope * (t - b->middle[i]) + sum;
        sum = sum * (t - b->middle[i]) + of[i];
    }
    return sum;
}

void gw_contact_predict_load(const gw_world *w, gw_contact *c, double h)
{
    const gw_load_history *b = &c->loads_before;
    bool linear = gw_contact_has_linear_load(w, c);
    assert(h > 0);
    c->load_middle = 0.5 * h, c->load_slope = 0;
    if (b->known == 0)
        return;
    c->load = fmax(
        0, load_before(b, !linear && b->known > 2 ? 2 : b->known, c->load_middle, &c->load_slope));
    if (!linear)
        c->load_slope = 0;
}

#define LEAST_KEPT 0.05 /* of the step: shorter substeps tell nothing of the slope */

void gw_contact_keep_load(const gw_world *w, gw_contact *c, double h)
{
    gw_load_history *b = &c->loads_before;
    c->load_middle -= h;
    for (int i = 0; i < b->known; i++)
        b->middle[i] -= h;
    if (!(c->load > 0) || c->lock > 0) {
        b->known = 0;
        c->load_slope = 0;
        return;
    }
    if (h < LEAST_KEPT * w->dt)
        return;
    b->known = b->known < GW_LOADS_KNOWN ? b->known + 1 : GW_LOADS_KNOWN;
    for (int i = b->known - 1; i > 0; i--)
        b->load[i] = b->load[i - 1], b->middle[i] = b->middle[i - 1];
    b->load[0] = c->load, b->middle[0] = c->load_middle, b->slope = c->load_slope;
}

void gw_island_forget_loads(gw_world *w)
{
    for (int i = 0; i < w->active.contact_count; i++)
        w->contacts[w->active.contacts[i]].loads_before.known = 0;
}

/* When the load of a contact that holds becomes zero in a trial of h s (s after the start of the
 * substep); INFINITY: not before its end. */
static double lift_off(const gw_world *w, const gw_contact *c, double h)
{
    const gw_load_history *b = &c->loads_before;
    if (!c->continuous || !gw_contact_has_linear_load(w, c))
        return INFINITY;
    double slope = c->load_slope, t = 0.5 * h - c->load / slope;
    if (c->load == 0) {
        slope = b->known > 0 ? b->slope : 0;
        t = b->middle[0] - b->load[0] / slope;
    }
    return slope < 0 && t < h ? t : INFINITY;
}

double gw_first_lift_off(const gw_world *w, double h)
{
    double first = INFINITY;
    for (int i = 0; i < w->active.contact_count; i++) {
        double t = lift_off(w, &w->contacts[w->active.contacts[i]], h);
        if (t > GW_LEAST_PART * w->dt)
            first = fmin(first, t);
    }
    return first;
}

#define TURNS_FAR 0.25 /* rad */

bool gw_any_load_turns_far(const gw_world *w)
{
    for (int i = 0; i < w->active.contact_count; i++) {
        const gw_contact *c = &w->contacts[w->active.contacts[i]];
        gw_vec3 from = c->start.normal, to = c->now.normal;
        double turned = gw_norm(gw_cross(from, to)), along = gw_dot(from, to);
        if (c->continuous && gw_contact_has_linear_load(w, c) && c->load > 0 &&
            turned > TURNS_FAR * fabs(along))
            return true;
    }
    return false;
}
