/*
 * Folds of contacts of curved surfaces and curves. RT safe.
 *
 * The branch of a contact ends where the surfaces conform in a direction: with kappa the least
 * relative curvature times the contact's size, the contact point moves at a rate proportional to
 * 1 / kappa, and kappa^2 decreases at a finite rate to 0. Beyond, the surfaces would cross. There a
 * contact that may lift off ends; for one that is kept the system is stopped, an inelastic impact:
 *
 *   (kappa / FOLD)^2 - 1 >= 0
 *
 * A substep ends where this becomes 0 while it decreases, and the system rests until the step ends.
 * Later steps begin at rest, and it stays so while its accelerations would decrease kappa^2.
 */
#include "rt/dynamics/system_fold.h"

#include <math.h>
#include <string.h>

#include "rt/dynamics/curve_contact.h"

#define FOLD     1e-3 /* least kappa */
#define STILL    1e-9 /* 1/s: slower changes of kappa^2 count as none */
#define PAST     -1   /* the value where no place is found, */
#define RECEDES  1e-3 /* and past the fold where kappa^2 does not decrease */
#define NEAR     0.3  /* kappa below which substeps are bounded, to */
#define RESOLVED 0.5  /* of the time in which kappa^2 would become 0 */

bool gw_fold_may_be_met(const gw_closure_def *c)
{
    return c->kind == GW_CLOSURE_CONTACT && gw_surface_contact_is_general(&c->contact);
}

/* kappa |kappa| */
static double signed_square(double curvature, double size)
{
    double kappa = curvature * size;
    return kappa * fabs(kappa);
}

/* The rate of kappa |kappa| with the bodies' twists (1/s). */
static double rate_of(const gw_system *s, const gw_closure_def *c)
{
    const gw_closure_contact *k = &c->contact;
    gw_body_frame a = gw_body_frame_of(s, c->a), b = gw_body_frame_of(s, c->b);
    gw_curvature_change x = gw_contact_is_of_curves(k) ? gw_curve_contact_change(k, &a, &b)
                                                       : gw_surface_contact_change(k, &a, &b);
    double size = gw_contact_size(k);
    return (signed_square(x.after, size) - signed_square(x.before, size)) / (2 * x.t);
}

/* True if a contact is watched: systems with offsets, moving grounds and local models have no
 * folds. */
static bool is_watched(const gw_system *s, int closure)
{
    return gw_fold_may_be_met(&s->closures[closure]) && !s->is_offset && !s->moving && !s->local &&
           !s->unilateral->mode[closure].at_fold;
}

double gw_fold_distance(const gw_system *s, int closure)
{
    const gw_closure_def *c = &s->closures[closure];
    const gw_contact_place *place = &c->contact.place;
    if (!is_watched(s, closure))
        return INFINITY;
    if (place->lost)
        return -fmax(-PAST, s->unilateral->begin[closure][GW_ENDS_AT_FOLD]);
    double now = signed_square(place->now.curvature, gw_contact_size(&c->contact));
    double value = now / (FOLD * FOLD) - 1;
    return value >= 0 || rate_of(s, c) < -STILL ? value : RECEDES;
}

double gw_fold_longest_substep(const gw_system *s, int closure)
{
    const gw_closure_def *c = &s->closures[closure];
    double kappa = c->contact.place.now.curvature * gw_contact_size(&c->contact);
    if (!is_watched(s, closure) || kappa > NEAR)
        return INFINITY;
    double rate = rate_of(s, c);
    return rate < -STILL ? RESOLVED * fmax(kappa * kappa, FOLD * FOLD) / -rate : INFINITY;
}

/* Sets the joints' velocities, NULL: 0. */
static void set_velocities(gw_system *s, const double *u)
{
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] = u ? u[s->bodies[i].first + j] : 0;
    gw_tree_update_velocities(s);
}

static void stop(gw_system *s, gw_system_work *work)
{
    double before = s->kinetic;
    set_velocities(s, NULL);
    if (s->moving)
        gw_grounds_stop(s);
    gw_system_update(s);
    gw_system_energy(s, &s->kinetic, &s->potential);
    work->dissipated += before - s->kinetic;
}

void gw_fold_stop(gw_system *s, int closure, gw_system_work *work)
{
    s->unilateral->mode[closure].at_fold = true;
    s->unilateral->stopped = true;
    stop(s, work);
}

/* Releases contacts at folds from which they recede with the present twists, or accelerations in
 * their place; true if there are others. */
static bool any_stays(gw_system *s)
{
    bool any = false;
    for (int i = 0; i < s->closure_count; i++) {
        gw_contact_mode *mode = &s->unilateral->mode[i];
        mode->at_fold = mode->at_fold && !(rate_of(s, &s->closures[i]) > STILL);
        any = any || mode->at_fold;
    }
    return any;
}

bool gw_folds_hold(gw_system *s, const gw_forces *forces, double t, gw_system_work *work)
{
    bool any = false;
    for (int i = 0; i < s->closure_count && s->unilateral->count > 0; i++)
        any = any || s->unilateral->mode[i].at_fold;
    if (!any || s->unilateral->stopped)
        return any;
    if (s->kinetic > 0) {
        if (!any_stays(s))
            return false;
        stop(s, work);
    }
    gw_system_find_accelerations(s, forces, t);
    gw_system_gather(s, s->accelerations);
    set_velocities(s, s->accelerations);
    any = any_stays(s);
    set_velocities(s, NULL);
    gw_closures_update_rates(s);
    return any;
}

bool gw_any_contact_is_lost(const gw_system *s)
{
    for (int i = 0; i < s->closure_count && s->unilateral->count > 0; i++)
        if (s->closures[i].contact.place.lost)
            return true;
    return false;
}

void gw_contacts_follow_again(gw_system *s)
{
    for (int i = 0; i < s->closure_count && s->unilateral->count > 0; i++)
        s->closures[i].contact.place.lost = false;
}
