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
 * Later steps begin at rest, and it stays so while its accelerations would decrease kappa^2. Where
 * grounds move, to rest is to be carried by the first of them that does: of all motions that the
 * rows allow, that nearest to it in the mass metric; its acceleration is neglected against the
 * forces'.
 */
#include "rt/dynamics/system_fold.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/curve_contact.h"
#include "rt/dynamics/system_step.h"

#define FOLD          1e-3 /* least kappa */
#define STILL         1e-9 /* 1/s: slower changes of kappa^2 count as none */
#define PAST          -1   /* the value where no contact point is found, */
#define RECEDES       1e-3 /* and past the fold where kappa^2 does not decrease */
#define NEAR          0.3  /* kappa below which substeps are bounded, to */
#define RESOLVED      0.5  /* of the time in which kappa^2 would become 0 */
#define CLOSING_STEPS 8    /* of the projection after a motion at rest */

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
    return gw_fold_may_be_met(&s->closures[closure]) && !s->is_offset && !s->local &&
           !s->unilateral->mode[closure].at_fold;
}

double gw_fold_distance(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_def *c = &s->closures[closure];
    const gw_contact_point *point = &c->contact.point;
    if (!is_watched(s, closure))
        return INFINITY;
    if (point->lost)
        return -fmax(-PAST, s->unilateral->begin[closure][GW_ENDS_AT_FOLD]);
    double now = signed_square(point->now.curvature, gw_contact_size(&c->contact));
    double value = now / (FOLD * FOLD) - 1;
    return value >= 0 || rate_of(s, c) < -STILL ? value : RECEDES;
}

double gw_fold_longest_substep(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_def *c = &s->closures[closure];
    double kappa = c->contact.point.now.curvature * gw_contact_size(&c->contact);
    if (!is_watched(s, closure) || kappa > NEAR)
        return INFINITY;
    double rate = rate_of(s, c);
    return rate < -STILL ? RESOLVED * fmax(kappa * kappa, FOLD * FOLD) / -rate : INFINITY;
}

/* ---- rest ----------------------------------------------------------------------------------- */

static const gw_moving_ground *first_that_moves(const gw_system *s)
{
    for (int i = 0; i < s->ground_count; i++)
        if (s->grounds[i].state.moves)
            return &s->grounds[i];
    return NULL;
}

/* Sets the velocities at rest (see above). */
static void set_rest(gw_system *s)
{
    const gw_moving_ground *g = first_that_moves(s);
    for (int i = 0; i < s->body_count && g; i++) {
        gw_vec3 r = gw_sub(s->bodies[i].pose.p, g->body.pose.p);
        gw_vec3 v = gw_add(g->body.twist.v, gw_cross(g->body.twist.w, r));
        s->twists[i] = (gw_twist){v, g->body.twist.w};
    }
    if (g) {
        gw_grounds_project_twists(s, s->twists);
        return;
    }
    for (int i = 0; i < s->body_count; i++)
        memset(s->bodies[i].joint.u, 0, sizeof s->bodies[i].joint.u);
    gw_tree_update_velocities(s);
    gw_closures_update_rates(s);
}

/* Exchanges the joints' velocities and `u`. */
static void swap_velocities(gw_system *s, double *u)
{
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++) {
            double *now = &s->bodies[i].joint.u[j], *other = &u[s->bodies[i].first + j];
            double was = *now;
            *now = *other, *other = was;
        }
    gw_tree_update_velocities(s);
    gw_planar_expand(s);
}

/* The kinetic energy (J) of the difference between the motions with velocities u and the present
 * ones. */
static double energy_of_change(gw_system *s, double *u)
{
    double sum = 0;
    gw_planar_expand(s);
    for (int i = 0; i < s->body_count; i++)
        s->twists[i] = s->bodies[i].twist;
    swap_velocities(s, u);
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        gw_vec3 w = gw_sub(k->twist.w, s->twists[i].w), v = gw_sub(k->twist.v, s->twists[i].v);
        v = gw_add(v, gw_cross(w, k->com));
        sum += 0.5 * (k->def.mass.mass * gw_norm2(v) + gw_dot(w, gw_sym3_mul(&k->inertia_com, w)));
    }
    swap_velocities(s, u);
    return sum;
}

static void copy_velocities(const gw_system *s, double *u)
{
    for (int i = 0; i < s->body_count; i++)
        memcpy(u + s->bodies[i].first, s->bodies[i].joint.u, (size_t)s->bodies[i].dof * sizeof *u);
}

/* Brings the system to rest, an inelastic impact; the grounds do the work of their impulses. */
static void stop(gw_system *s, gw_system_work *work)
{
    double before = s->kinetic;
    copy_velocities(s, s->scratch);
    set_rest(s);
    double lost = energy_of_change(s, s->scratch);
    gw_system_update(s);
    gw_system_energy(s, &s->kinetic, &s->potential);
    work->dissipated += lost;
    work->base += s->kinetic - before + lost;
}

void gw_fold_stop(gw_system *s, int closure, gw_system_work *work)
{
    assert(closure >= 0 && closure < s->closure_count);
    s->unilateral->mode[closure].at_fold = true;
    s->unilateral->stopped = true;
    stop(s, work);
}

/* The system is at rest for h s; the grounds do what work it takes. */
static void rest(gw_system *s, double t, double h, gw_system_work *work)
{
    double before = s->kinetic + s->potential;
    for (int i = 0; i < s->body_count; i++)
        gw_joint_copy(&s->bodies[i], &s->bodies[i].joint, &s->home[i]);
    for (int half = 1; half <= 2; half++) { /* the midpoint rule */
        set_rest(s);
        copy_velocities(s, s->scratch);
        for (int i = 0; i < s->dof; i++)
            s->by[i] = half * h / 2 * s->scratch[i];
        gw_system_set_displacement(s, s->scratch);
        gw_grounds_go_to(s, t + half * h / 2);
        gw_tree_update_positions(s);
    }
    gw_closures_project(s, CLOSING_STEPS);
    set_rest(s);
    gw_system_update(s);
    gw_system_energy(s, &s->kinetic, &s->potential);
    work->base += s->kinetic + s->potential - before;
}

/* Releases contacts at folds from which they recede with the present twists; true if there are
 * others. */
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

/* True if the accelerations at rest do not release all contacts at folds. */
static bool is_pressed_on(gw_system *s, const gw_forces *forces, double t)
{
    gw_system_find_accelerations(s, forces, t);
    gw_system_gather(s, s->accelerations);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += s->accelerations[s->bodies[i].first + j];
    gw_tree_update_velocities(s);
    bool any = any_stays(s);
    set_rest(s);
    return any;
}

bool gw_folds_hold(gw_system *s, const gw_forces *forces, double t, double h, gw_system_work *work)
{
    bool any = false;
    for (int i = 0; i < s->closure_count && s->unilateral->count > 0; i++)
        any = any || s->unilateral->mode[i].at_fold;
    if (!any)
        return false;
    if (!s->unilateral->stopped) {
        if (s->kinetic > 0 && !any_stays(s))
            return false;
        stop(s, work);
        if (!is_pressed_on(s, forces, t))
            return false;
    }
    if (s->moving)
        rest(s, t, h, work);
    return true;
}

bool gw_any_contact_is_lost(const gw_system *s)
{
    for (int i = 0; i < s->closure_count && s->unilateral->count > 0; i++)
        if (s->closures[i].contact.point.lost)
            return true;
    return false;
}

void gw_contacts_follow_again(gw_system *s)
{
    for (int i = 0; i < s->closure_count && s->unilateral->count > 0; i++)
        s->closures[i].contact.point.lost = false;
}
