/*
 * Unilateral contacts among the closures of a system: the active set of rows.
 *
 *   gap >= 0,   lambda >= 0,   lambda gap = 0
 *
 * with lambda the multiplier of the row along the normal, the first of a contact. An open contact
 * has no active rows. Of one that rolls with a limit of traction, the rows along tangents are
 * active while it sticks,
 *
 *   |traction| <= mu lambda
 *
 * and replaced by friction while it slips (system_friction.c). The caller activates a contact where
 * it closes (an impact is the caller's); a step ends a phase of a contact at the time at which
 * lambda becomes negative, the contact point passes the edge of a free-form surface, or the
 * traction reaches mu lambda. Slip ends at the start of a substep. RT safe.
 */
#include "rt/dynamics/system_unilateral.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/common_normal.h"
#include "rt/dynamics/surface_contact.h"
#include "rt/dynamics/system_fold.h"
#include "rt/dynamics/system_rim.h"

#define PROJECTIONS 8     /* Newton steps onto the rows of a contact that becomes active */
#define ON_ROWS     1e-10 /* of the length: residual after them, */
#define NEAR_ROWS   1e-3  /* and the largest motion of a joint (rad, or shares of the length) */
#define PULLS       1e-12 /* N, and of the largest force: rounding */
#define CONVERGED   1e-11 /* of the value at the substep's start: it is zero */
#define NARROW      1e-9  /* sixteenths: width of a bracket whose ends are the same time */
#define TRIALS      16
#define MARGIN      1e-3  /* of a bracket: a trial is no nearer to its ends */
#define STICKS      1e-8  /* m/s: a contact that closes with a smaller slip sticks */
#define LEVEL       1e-12 /* rad: a pinned rim below this lies flat */
#define ROCKS       1e-9  /* m/s, of the mass: impulse with which a rim rocks */
#define FALLS       16    /* of rims in a step: then they lie */
#define PASSES      16    /* over edges in a step: then the contact ends */
#define CLOSES                                                                                     \
    (-0.5 * GW_EDGE_OPENS) /* an edge that ends with a lower n . t is left for the sheet */
#define REDUNDANT 64       /* contacts that share tractions, at most */
#define AT_LIMIT  1e-7     /* of mu lambda: all of a group that are so near to it begin to slip */
#define NEAR_FOLD 0.1      /* of the distance at which a fold holds a contact */
#define CHANGES   64       /* between sticking and slipping in a step, */
#define SUBSTEPS  256      /* of a step, repeated ones too, */
#define EFFORT    4000     /* and columns of responses in a tick: friction is coarse from there */
#define COARSE    0.05     /* of a step: coarse slip that would end within it stops */

/* True if a contact has a mode: it may lift off, its rim may lie flat, or its branch may end. */
static bool has_mode(const gw_system *s, int closure)
{
    const gw_closure_def *c = &s->closures[closure];
    return c->unilateral || gw_rim_may_lie(c) || gw_fold_may_be_met(c);
}

static bool is_active(const gw_system *s, int closure)
{
    return s->unilateral->mode[closure].phase != GW_CONTACT_OPEN;
}

void gw_unilateral_apply(gw_system *s)
{
    gw_unilateral_contacts *u = s->unilateral;
    u->slipping = 0;
    for (int i = 0; i < s->closure_count && u->count > 0; i++) {
        gw_closure_block *k = &s->blocks[i];
        if (!has_mode(s, i))
            continue;
        if (!s->closures[i].unilateral)
            u->mode[i].phase = GW_CONTACT_STICKS;
        k->aside = is_active(s, i) ? 0 : gw_all_rows(k);
        if (u->mode[i].phase == GW_CONTACT_SLIPS) {
            k->aside = 3u << k->position_rows;
            u->slipping++;
        }
        k->aside |= gw_rim_rows_aside(s, i);
        bool leaves_out = s->is_offset && !s->closures[i].unilateral;
        k->idle = (k->idle & ~gw_all_rows(k)) | k->aside | (leaves_out ? k->left_out : 0);
        for (int n = 0; n < k->rows && !is_active(s, i); n++)
            s->rows[k->first + n] = (gw_closure_row){.a = k->a, .b = k->b, .scale = 1};
    }
}

bool gw_unilateral_init(gw_system *s)
{
    size_t n = (size_t)s->closure_count + 1, slipping = 0;
    gw_unilateral_contacts *u = s->unilateral = calloc(1, sizeof *u);
    if (!u)
        return false;
    for (int i = 0; i < s->closure_count; i++) {
        u->count += has_mode(s, i);
        slipping += gw_contact_may_slip(s, i);
    }
    u->effort = &u->own_effort;
    u->mode = calloc(n, sizeof *u->mode);
    u->begin = calloc(n, sizeof *u->begin);
    u->force = calloc(n, sizeof *u->force);
    u->normal_force = calloc(n, sizeof *u->normal_force);
    u->group = calloc(n, sizeof *u->group);
    u->surplus = calloc(n, sizeof *u->surplus);
    u->traction = calloc(n, sizeof *u->traction);
    u->friction = calloc(n, sizeof *u->friction);
    u->matrix = calloc(slipping * slipping + 1, sizeof *u->matrix);
    u->normal = calloc(slipping + 1, sizeof *u->normal);
    int redundant = slipping < REDUNDANT ? (int)slipping : REDUNDANT;
    u->stops = calloc(n, sizeof *u->stops);
    int centres = 3 * (int)(slipping < GW_COMPLETE_SLIPS ? slipping : GW_COMPLETE_SLIPS);
    u->pressures = calloc((size_t)(2 * centres) + 1, sizeof *u->pressures);
    if (!u->pressures || !gw_fixed_point_init(&u->centres, centres) || !u->stops ||
        !gw_traction_init(&u->redundant, redundant) || !gw_slip_group_init(&u->slip, redundant) ||
        !gw_slip_response_init(&u->response, (int)slipping, s->closure_count))
        return false;
    if (!u->mode || !u->begin || !u->force || !u->normal_force || !u->group || !u->surplus ||
        !u->traction || !u->friction || !u->matrix || !u->normal)
        return false;
    gw_unilateral_apply(s);
    return true;
}

void gw_unilateral_free(gw_system *s)
{
    if (!s->unilateral)
        return;
    free(s->unilateral->mode);
    free(s->unilateral->begin);
    free(s->unilateral->force);
    free(s->unilateral->normal_force);
    free(s->unilateral->group);
    free(s->unilateral->surplus);
    free(s->unilateral->stops);
    gw_traction_free(&s->unilateral->redundant);
    gw_slip_group_free(&s->unilateral->slip);
    gw_slip_response_free(&s->unilateral->response);
    gw_fixed_point_free(&s->unilateral->centres);
    free(s->unilateral->pressures);
    free(s->unilateral->traction);
    free(s->unilateral->friction);
    free(s->unilateral->matrix);
    free(s->unilateral->normal);
    free(s->unilateral);
}

void gw_unilateral_release(gw_system *s)
{
    memset(s->unilateral->mode, 0, gw_size_of_modes(s));
    for (int i = 0; i < s->closure_count; i++)
        gw_contact_point_release(&s->closures[i].contact.point);
    gw_unilateral_apply(s);
}

static void set_phase(gw_system *s, int closure, gw_contact_phase phase)
{
    s->unilateral->mode[closure].phase = phase;
    gw_unilateral_apply(s);
    gw_system_update(s);
}

bool gw_system_contact_is_active(const gw_system *s, int closure)
{
    assert(s && closure >= 0 && closure < s->closure_count);
    return gw_system_contact_modes(s->model)[closure].phase != GW_CONTACT_OPEN;
}

void gw_system_deactivate_contact(gw_system *s, int closure)
{
    assert(s && closure >= 0 && closure < s->closure_count && s->closures[closure].unilateral);
    gw_system_update_all(s);
    set_phase(s, closure, GW_CONTACT_OPEN);
    gw_system_take_state(s);
}

void gw_system_follow_contact(gw_system *s, int closure, const gw_contact_point *point)
{
    assert(s && closure >= 0 && closure < s->closure_count && s->closures[closure].unilateral);
    if (!is_active(s, closure))
        s->closures[closure].contact.point = *point;
}

gw_wrench gw_system_contact_force(const gw_system *s, int closure)
{
    assert(s && closure >= 0 && closure < s->closure_count);
    return s->unilateral->force[closure];
}

/* Begins to slip along a velocity or a force (world); gw_unilateral_apply() is the caller's. */
static void begin_to_slip(gw_system *s, int closure, gw_vec3 along)
{
    s->unilateral->mode[closure].along = gw_unit(along);
    s->unilateral->friction[closure] = (gw_contact_friction){.force = 0};
    s->unilateral->mode[closure].phase = GW_CONTACT_SLIPS;
}

/* The normal of b's surface at the contact point of a contact. */
static gw_vec3 normal_of(const gw_system *s, int closure)
{
    const gw_closure_contact *k = &s->closures[closure].contact;
    gw_body_frame b = gw_body_frame_of(s, s->closures[closure].b);
    gw_vec3 n = gw_patch_at(&k->on_b, k->point.b, &b).n;
    return k->inside ? gw_neg(n) : n;
}

/* True where a corner is left along an edge, or an edge across it for the sheet; of others true. */
static bool leaves_for(const gw_system *s, int closure, const gw_surface *to)
{
    const gw_closure_contact *k = &s->closures[closure].contact;
    gw_body_frame a = gw_body_frame_of(s, s->closures[closure].a);
    gw_vec3 n = normal_of(s, closure);
    if (k->on_a.kind == GW_SURFACE_CORNER)
        return gw_corner_opening(&k->on_a, 1 - to->end / 2, &a, n) < CLOSES;
    return !k->on_a.sheet || to->sheet || gw_edge_opening(&k->on_a, k->point.a, &a, n) < CLOSES;
}

/* True if contact `to`, which is open and followed by the caller, continues `closure` where that
 * ends at an edge (gw_contact_point_across()); sets its contact point. */
static bool continues_across(const gw_system *s, int closure, int to_index, gw_contact_point *point)
{
    const gw_closure_def *from = &s->closures[closure], *to = &s->closures[to_index];
    bool same = to->a == from->a || to->b == from->b; /* a fixed one has two numbers */
    bool exchanged = to->a == from->b || to->b == from->a;
    return to_index != closure && from->contact.edged && to->contact.edged && to->unilateral &&
           to->contact.point.known && (same || exchanged) && !is_active(s, to_index) &&
           gw_contact_point_across(&from->contact, &to->contact, exchanged, point) &&
           leaves_for(s, closure, &to->contact.on_a);
}

bool gw_system_contact_waits_at_edge(const gw_system *s, int closure)
{
    assert(s && closure >= 0 && closure < s->closure_count);
    const gw_closure_contact *to = &s->closures[closure].contact;
    gw_contact_point point;
    for (int i = 0; i < s->closure_count && to->edged; i++)
        if (is_active(s, i) && continues_across(s, i, closure, &point) &&
            gw_closure_contact_same(to, &to->point, &point))
            return true;
    return false;
}

bool gw_system_activate_contact(gw_system *s, int closure, const gw_contact_point *point)
{
    assert(s && closure >= 0 && closure < s->closure_count && s->closures[closure].unilateral);
    gw_system_update_all(s);
    if (s->local || s->is_offset)
        return false;
    for (int i = 0; i < s->body_count; i++)
        gw_joint_copy(&s->bodies[i], &s->bodies[i].joint, &s->home[i]);
    if (point)
        gw_system_continue_contact(s, closure, point);
    s->corrected = 0;
    s->unilateral->force[closure] = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    gw_rim_begin(s, closure);
    set_phase(s, closure, GW_CONTACT_STICKS);
    if (gw_contact_may_slip(s, closure)) {
        gw_vec3 slip = gw_contact_slip(s, closure);
        if (gw_norm(slip) > STICKS) {
            begin_to_slip(s, closure, slip);
            set_phase(s, closure, GW_CONTACT_SLIPS);
        }
    }
    double left = gw_closures_project(s, PROJECTIONS);
    bool holds = left <= ON_ROWS * s->length && s->corrected <= NEAR_ROWS;
    for (int i = 0; i < s->body_count && !holds; i++)
        gw_joint_copy(&s->bodies[i], &s->home[i], &s->bodies[i].joint);
    if (!holds)
        set_phase(s, closure, GW_CONTACT_OPEN);
    gw_system_take_state(s);
    return holds;
}

/* ---- what ends a contact's phase ------------------------------------------------------------
 *
 * Three functions of time (gw_contact_ending), of which the first that becomes negative ends it.
 */

static bool any_active(const gw_system *s)
{
    for (int i = 0; i < s->closure_count && s->unilateral->count > 0; i++)
        if (is_active(s, i))
            return true;
    return false;
}

/* Distance of the contact point from the nearest edge (m), < 0 beyond it; of an edge the least of
 * it and n . t (gw_edge_opening()), by its size; infinite without edges. */
static double edge_distance(const gw_system *s, int closure)
{
    const gw_closure_contact *k = &s->closures[closure].contact;
    double least = INFINITY;
    for (int side = 0; side < 2; side++) {
        const gw_nurbs *shape = (side ? &k->on_b : &k->on_a)->nurbs;
        for (int i = 0; shape && i < shape->dimension; i++) {
            gw_edge edge;
            if (gw_edge_at(shape, side, i, (side ? k->point.b : k->point.a)[i], true, &edge))
                least = fmin(least, fmin(edge.within[0], edge.within[1]));
        }
    }
    if (!k->on_a.sheet)
        return least;
    gw_body_frame a = gw_body_frame_of(s, s->closures[closure].a);
    double opens = gw_edge_opening(&k->on_a, k->point.a, &a, normal_of(s, closure));
    return fmin(least, (opens + GW_EDGE_OPENS) * gw_contact_size(k));
}

static double ending_function(const gw_system *s, int closure, gw_contact_ending which)
{
    const gw_unilateral_contacts *u = s->unilateral;
    gw_contact_phase phase = u->mode[closure].phase;
    switch (which) {
    case GW_ENDS_BY_FORCE:
        return u->normal_force[closure];
    case GW_ENDS_AT_EDGE:
        return edge_distance(s, closure);
    case GW_ENDS_FLAT:
        return gw_rim_flat_surplus(s, closure);
    case GW_ENDS_TILTED:
        return gw_rim_tilt(s, closure);
    case GW_ENDS_AT_FOLD:
        return gw_fold_distance(s, closure);
    case GW_ENDS_STICKING:
        return phase == GW_CONTACT_STICKS ? u->surplus[closure] : INFINITY;
    case GW_CONTACT_ENDINGS:
        break;
    }
    assert(false);
    return 0;
}

/* The endings that a contact may have: one that is kept both ways has those of its rim's postures.
 */
static int first_ending(const gw_system *s, int closure)
{
    return s->closures[closure].unilateral ? 0 : GW_ENDS_FLAT;
}

static int last_ending(const gw_system *s, int closure)
{
    return s->closures[closure].unilateral ? GW_CONTACT_ENDINGS : GW_ENDS_STICKING;
}

/* The value that counts as negative; `zero`: force that counts as none (N). */
static double least_value(gw_contact_ending which, double zero)
{
    return which == GW_ENDS_AT_EDGE   ? 0
           : which == GW_ENDS_TILTED  ? -LEVEL
           : which == GW_ENDS_AT_FOLD ? -NEAR_FOLD
                                      : -zero;
}

/* False for the end of sticking under coarse friction. */
static bool may_end(const gw_system *s, gw_contact_ending which)
{
    return (which != GW_ENDS_STICKING || !s->unilateral->coarse) &&
           (which != GW_ENDS_FLAT || s->unilateral->falls <= FALLS);
}

double gw_contact_traction_size(const gw_system *s, int closure, const double *multipliers)
{
    assert(closure >= 0 && closure < s->closure_count);
    gw_vec3 traction = gw_contact_traction(s, closure, multipliers);
    double bears = s->closures[closure].friction * gw_contact_normal_force(s, closure, multipliers);
    return gw_rim_spins(s, closure)
               ? gw_rim_traction_size(s, closure, traction,
                                      gw_rim_pressure(s, closure, multipliers), bears)
               : gw_norm(traction);
}

/* True if a contact's phase may end by its forces. */
static bool has_forces(const gw_system *s)
{
    for (int i = 0; i < s->closure_count; i++)
        if (is_active(s, i) && (s->closures[i].unilateral || gw_rim_is_flat(s, i)))
            return true;
    return false;
}

/* Accelerations and multipliers where the bodies are; returns the force that counts as zero (N). */
static double find_forces(gw_system *s, const gw_forces *forces, double t)
{
    double most = 1;
    if (!has_forces(s))
        return PULLS;
    gw_system_find_accelerations(s, forces, t);
    gw_find_tractions(s);
    for (int i = 0; i < s->closure_count; i++)
        if (is_active(s, i))
            most = fmax(most, fabs(s->unilateral->normal_force[i]));
    return PULLS * most;
}

/* ---- changes of phase ----------------------------------------------------------------------- */

static double limit_of(const gw_system *s, int closure)
{
    return s->closures[closure].friction * s->unilateral->normal_force[closure];
}

static void count_change(gw_unilateral_contacts *u)
{
    u->coarse = u->coarse || ++u->changes > CHANGES;
}

/* Stops the slip of contacts. */
static void stick(gw_system *s, int count, const int *closures, const bool *stops,
                  gw_system_work *work)
{
    for (int i = 0; i < count; i++)
        if (!stops || stops[i])
            s->unilateral->mode[closures[i]].phase = GW_CONTACT_STICKS;
    gw_unilateral_apply(s);
    gw_system_update(s);
    work->dissipated += gw_closures_project_velocities(s);
    gw_system_energy(s, &s->kinetic, &s->potential);
}

/* A contact at the limit of its traction begins to slip, and so do those that share its load and
 * are at theirs, or beyond. */
static void end_sticking(gw_system *s, int closure)
{
    gw_unilateral_contacts *u = s->unilateral;
    double share = gw_norm(u->traction[closure]) / limit_of(s, closure);
    count_change(u);
    for (int i = 0; i < s->closure_count; i++) {
        bool shares = u->group[i] >= 0 && u->group[i] == u->group[closure];
        double most = fmin(1, (1 - AT_LIMIT) * share) * limit_of(s, i);
        if (i == closure || (shares && gw_norm(u->traction[i]) >= most))
            begin_to_slip(s, i, gw_neg(u->traction[i]));
    }
    gw_unilateral_apply(s);
    gw_system_update(s);
}

/* The impulse of an impact at a contact. */
typedef struct contact_impulse {
    double normal;  /* N s */
    gw_vec3 couple; /* of a flat rim (N m s) */
} contact_impulse;

static contact_impulse project_contact(gw_system *s, int closure)
{
    gw_closures_project(s, PROJECTIONS);
    return (contact_impulse){gw_contact_normal_force(s, closure, s->solution),
                             gw_rim_couple(s, closure, s->solution)};
}

/*
 * An inelastic impact at a contact with new rows, from the velocities in s->home. If an impulse of
 * traction T that stops the slip needs more than mu lambda, the share of it that this bears acts:
 * with the normal impulses lambda_0 without and lambda_1 with it,
 *
 *   share |T| = mu (lambda_0 + share (lambda_1 - lambda_0))
 */
static contact_impulse collide(gw_system *s, int closure)
{
    bool may_slip = gw_contact_may_slip(s, closure);
    set_phase(s, closure, GW_CONTACT_STICKS);
    contact_impulse sticks = project_contact(s, closure);
    double mu = s->closures[closure].friction;
    double size = may_slip ? gw_contact_traction_size(s, closure, s->solution) : 0;
    if (!may_slip || size <= mu * sticks.normal)
        return sticks;
    gw_vec3 along = gw_neg(gw_contact_traction(s, closure, s->solution));
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        memcpy(s->scratch + k->first, k->joint.u, (size_t)k->dof * sizeof(double));
        gw_joint_copy(k, &s->home[i], &k->joint);
    }
    begin_to_slip(s, closure, along);
    set_phase(s, closure, GW_CONTACT_SLIPS);
    contact_impulse slips = project_contact(s, closure);
    double share = mu * slips.normal / (size - mu * (sticks.normal - slips.normal));
    share = fmin(fmax(share, 0), 1);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++) {
            double *u = &s->bodies[i].joint.u[j];
            *u += share * (s->scratch[s->bodies[i].first + j] - *u);
        }
    gw_system_update(s);
    return (contact_impulse){
        slips.normal + share * (sticks.normal - slips.normal),
        gw_add(gw_scale(1 - share, slips.couple), gw_scale(share, sticks.couple))};
}

/*
 * A rim falls flat by an inelastic impact. Where its impulse would have to act beyond the circle,
 * the rim rocks: only the point in that direction is hit, and the rim is pinned to it.
 */
static void fall_flat(gw_system *s, int closure, gw_system_work *work)
{
    double before = s->kinetic + s->potential;
    double radius = s->closures[closure].contact.on_a.radius;
    for (int i = 0; i < s->body_count; i++)
        gw_joint_copy(&s->bodies[i], &s->bodies[i].joint, &s->home[i]);
    s->unilateral->mode[closure].posture = GW_RIM_FLAT;
    contact_impulse p = collide(s, closure);
    bool rocks = gw_norm(p.couple) / radius - p.normal > ROCKS * s->total_mass;
    if (++s->unilateral->falls <= FALLS && rocks) {
        gw_rim_tips(s, closure, p.couple);
        for (int i = 0; i < s->body_count; i++)
            gw_joint_copy(&s->bodies[i], &s->home[i], &s->bodies[i].joint);
        collide(s, closure);
    }
    gw_system_energy(s, &s->kinetic, &s->potential);
    work->dissipated += before - s->kinetic - s->potential;
}

/* A rim that was pinned rolls on its lowest point: what is left of the motion of that point, which
 * was near the other one, is dissipated. */
static void roll_on(gw_system *s, int closure, gw_system_work *work)
{
    double before = s->kinetic + s->potential;
    set_phase(s, closure, s->unilateral->mode[closure].phase);
    gw_closures_project(s, PROJECTIONS);
    gw_system_energy(s, &s->kinetic, &s->potential);
    work->dissipated += before - s->kinetic - s->potential;
}

/* Continues a contact that has passed an edge: there the gap, its rate and the slip are the same.
 */
static void pass_edge(gw_system *s, int closure, gw_system_work *work)
{
    gw_contact_mode was = s->unilateral->mode[closure];
    gw_contact_point point;
    int to = 0;
    while (to < s->closure_count && !continues_across(s, closure, to, &point))
        to++;
    set_phase(s, closure, GW_CONTACT_OPEN);
    if (to == s->closure_count || ++s->unilateral->passes > PASSES)
        return;
    double before = s->kinetic + s->potential;
    gw_system_continue_contact(s, to, &point);
    s->unilateral->mode[to] = was;
    s->unilateral->friction[to] = (gw_contact_friction){.force = 0};
    s->unilateral->force[to] = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    set_phase(s, to, was.phase);
    gw_closures_project(s, PROJECTIONS);
    gw_system_energy(s, &s->kinetic, &s->potential);
    work->dissipated += before - s->kinetic - s->potential;
}

static void end_phase(gw_system *s, int closure, gw_contact_ending which, gw_system_work *work)
{
    gw_unilateral_contacts *u = s->unilateral;
    gw_contact_phase phase = u->mode[closure].phase;
    switch (which) {
    case GW_ENDS_AT_EDGE:
        pass_edge(s, closure, work);
        break;
    case GW_ENDS_BY_FORCE:
        set_phase(s, closure, GW_CONTACT_OPEN);
        break;
    case GW_ENDS_FLAT:
        gw_rim_tips(s, closure, gw_rim_couple(s, closure, s->solution));
        set_phase(s, closure, phase);
        break;
    case GW_ENDS_TILTED:
        if (u->mode[closure].posture == GW_RIM_PINNED) {
            fall_flat(s, closure, work);
            break;
        }
        gw_rim_pin(s, closure);
        set_phase(s, closure, phase);
        break;
    case GW_ENDS_AT_FOLD:
        if (s->closures[closure].unilateral) {
            set_phase(s, closure, GW_CONTACT_OPEN);
            break;
        }
        gw_fold_stop(s, closure, work);
        break;
    case GW_ENDS_STICKING:
        end_sticking(s, closure);
        break;
    case GW_CONTACT_ENDINGS:
        assert(false);
    }
}

/* The slip at a substep's start, and its direction. */
static void begin_friction(gw_system *s)
{
    for (int i = 0; i < s->closure_count && s->unilateral->slipping > 0; i++) {
        gw_contact_friction *f = &s->unilateral->friction[i];
        if (s->unilateral->mode[i].phase != GW_CONTACT_SLIPS)
            continue;
        gw_vec3 slip = gw_contact_slip(s, i);
        f->onset = 0;
        f->begin = gw_norm(slip);
        f->along = f->begin > GW_NO_SLIP ? gw_unit(slip) : s->unilateral->mode[i].along;
    }
}

/* stop_slip() of coarse friction, which acts against the slip at the substep's start throughout. */
static bool stop_coarse_slip(gw_system *s, gw_system_work *work, double *longest)
{
    gw_slip_response *r = &s->unilateral->response;
    for (int i = 0; i < r->count; i++) {
        const gw_contact_friction *f = &s->unilateral->friction[r->contact[i]];
        double a[3], lambda, lever[3], slows = 0;
        gw_vec3 moment, axis[3];
        gw_slip_motion(r, i, a, &lambda, &moment);
        int axes = gw_slip_axes(s, r->contact[i], axis, lever);
        for (int k = 0; k < axes; k++)
            slows -= a[k] * gw_dot(axis[k], f->along);
        if (!(slows > 0))
            continue;
        if (f->begin <= slows * COARSE * s->dt) {
            stick(s, 1, &r->contact[i], NULL, work);
            return true;
        }
        *longest = fmin(*longest, f->begin / slows);
    }
    return false;
}

/* Stops a slip that ends at once; true if there was one. Else the longest substep that resolves the
 * slip of all contacts into *longest (s). */
static bool stop_slip(gw_system *s, gw_system_work *work, double *longest)
{
    gw_unilateral_contacts *u = s->unilateral;
    gw_slip_group *g = &u->slip;
    *longest = INFINITY;
    if (u->slipping == 0)
        return false;
    gw_slip_find_response(s, true);
    if (!u->response.complete)
        return false;
    if (u->coarse)
        return stop_coarse_slip(s, work, longest);
    for (int i = 0; i < s->closure_count; i++) {
        if (u->mode[i].phase != GW_CONTACT_SLIPS)
            continue;
        gw_friction_group(s, i, g);
        if (!gw_friction_is_first(g, i))
            continue;
        double most = gw_friction_begin_group(s, g, u->stops);
        if (most == 0) {
            count_change(u);
            stick(s, g->count, g->contact, u->stops, work);
            return true;
        }
        *longest = fmin(*longest, most);
    }
    return false;
}

static void end_jam(gw_system *s, gw_system_work *work)
{
    s->unilateral->coarse = true;
    for (int i = 0; i < s->closure_count; i++)
        if (s->unilateral->mode[i].phase == GW_CONTACT_SLIPS)
            stick(s, 1, &i, NULL, work);
}

/* An ending, and its value. */
typedef struct ending {
    int closure; /* -1: none */
    gw_contact_ending which;
    int precedence;
    double value;
} ending;

/* The order in which endings at the same time count. Where rows are redundant the end of sticking
 * comes before lift-off: normal forces that go with too much traction may be wrong. */
static int precedence_of(const gw_system *s, gw_contact_ending which)
{
    bool redundant = which == GW_ENDS_STICKING && s->rank < s->active_rows;
    return redundant ? 2 * GW_ENDS_BY_FORCE - 1 : 2 * (int)which;
}

/* Records the values of a contact at the substep's start; keeps in `first` the ending that comes
 * first, of the same ones the most negative. */
static void begin_contact(gw_system *s, int closure, double zero, ending *first)
{
    double *begin = s->unilateral->begin[closure];
    for (int k = first_ending(s, closure); k < last_ending(s, closure); k++) {
        gw_contact_ending which = (gw_contact_ending)k;
        begin[k] = ending_function(s, closure, which);
        bool ends = begin[k] < least_value(which, zero) && may_end(s, which);
        int precedence = precedence_of(s, which);
        if (ends && (first->closure < 0 || precedence < first->precedence ||
                     (precedence == first->precedence && begin[k] < first->value)))
            *first = (ending){closure, which, precedence, begin[k]};
    }
}

void gw_unilateral_begin_step(gw_system *s, int *effort)
{
    gw_unilateral_contacts *u = s->unilateral;
    u->changes = u->falls = u->passes = u->substeps = u->own_effort = 0;
    u->effort = effort ? effort : &u->own_effort;
    u->coarse = u->stopped = false;
    u->begins = true;
}

/* Contacts at rest that were at the limit of traction stick until they reach it again. */
static void stick_at_rest(gw_system *s)
{
    for (int i = 0; i < s->closure_count && s->unilateral->slipping > 0; i++)
        if (s->unilateral->mode[i].phase == GW_CONTACT_SLIPS &&
            gw_norm(gw_contact_slip(s, i)) <= GW_NO_SLIP)
            set_phase(s, i, GW_CONTACT_STICKS);
    s->unilateral->begins = false;
}

static void begin_rims(gw_system *s, gw_system_work *work)
{
    for (int i = 0; i < s->closure_count && s->unilateral->count > 0; i++)
        if (is_active(s, i) && gw_rim_begin_substep(s, i)) {
            if (gw_rim_is_flat(s, i))
                fall_flat(s, i, work);
            else
                roll_on(s, i, work);
        }
}

double gw_unilateral_begin_substep(gw_system *s, const gw_forces *forces, double t,
                                   gw_system_work *work)
{
    double longest = INFINITY;
    gw_unilateral_contacts *u = s->unilateral;
    bool searches = s->is_offset || s->local; /* folds are not watched */
    for (int i = 0; i < s->closure_count && u->count > 0; i++)
        (searches ? gw_contact_point_release
                  : gw_contact_point_begin)(&s->closures[i].contact.point);
    if (u->begins)
        stick_at_rest(s);
    u->coarse = u->coarse || ++u->substeps > SUBSTEPS || *u->effort > EFFORT;
    if (u->coarse)
        u->falls = FALLS + 1;
    begin_rims(s, work);
    while (any_active(s)) {
        begin_friction(s);
        double zero = find_forces(s, forces, t);
        ending first = {.closure = -1};
        for (int i = 0; i < s->closure_count; i++)
            if (is_active(s, i))
                begin_contact(s, i, zero, &first);
        if (s->unilateral->jammed && s->unilateral->slipping > 0)
            end_jam(s, work);
        else if (first.closure >= 0)
            end_phase(s, first.closure, first.which, work);
        else if (!stop_slip(s, work, &longest))
            break;
    }
    for (int i = 0; i < s->closure_count && u->count > 0 && !u->coarse; i++)
        if (is_active(s, i))
            longest =
                fmin(longest, fmin(gw_rim_longest_substep(s, i), gw_fold_longest_substep(s, i)));
    return longest;
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
        for (int which = first_ending(s, i); which < last_ending(s, i) && is_active(s, i);
             which++) {
            double end = ending_function(s, i, which), begin = begin_value(s, i, which);
            if (!(end < least_value(which, zero)) || begin / (begin - end) >= first ||
                !may_end(s, which))
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
    if (x->which == GW_ENDS_AT_FOLD) { /* beyond it there may be no value: from the lower side */
        double falls = (x->value_before - x->value_low) / (x->low - x->before);
        double met = x->low + (x->value_low - 0.5 * NEAR_FOLD) / falls;
        bool between = met > x->low && met < x->high && x->trials % 4 != 3;
        return between ? met : 0.5 * (x->low + x->high);
    }
    double wide = x->high - x->low, share = x->value_low / (x->value_low - x->value_high);
    if (x->trials % 3 == 2)
        share = 0.5;
    return x->low + wide * fmin(fmax(share, MARGIN), 1 - MARGIN);
}

static bool has_converged(const gw_system *s, const gw_lift_off *x, double value)
{
    if (x->which == GW_ENDS_AT_FOLD)
        return value >= 0 && (value < NEAR_FOLD || x->trials >= TRIALS);
    return fabs(value) <= CONVERGED * begin_value(s, x->closure, x->which) ||
           x->high - x->low < NARROW || x->trials >= TRIALS;
}

static void add_row(const gw_closure_row *r, double by, gw_wrench *w)
{
    w->f = gw_mul_add(w->f, by, gw_linear_part(r->on_a));
    w->t = gw_mul_add(w->t, by, gw_angular_part(r->on_a));
}

/* Keeps the wrenches of all active contacts, by the multipliers that find_forces() left. */
static void keep_forces(gw_system *s)
{
    if (!has_forces(s))
        return;
    const double *multipliers = s->unilateral->multipliers;
    for (int i = 0; i < s->closure_count; i++) {
        gw_wrench *w = &s->unilateral->force[i];
        *w = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
        for (int n = 0; n < s->blocks[i].active && is_active(s, i); n++) {
            const gw_closure_row *r = gw_active_row(s, &s->blocks[i], n);
            add_row(r, r->scale * multipliers[s->blocks[i].first + n], w);
        }
        double by;
        const gw_closure_row *slips = gw_friction_row(s, i, &by);
        if (slips)
            add_row(slips, by, w);
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
    if (value < 0) {
        if (wide <= x->low) /* a trial of another accuracy put the time later */
            x->low = 0, x->value_low = begin_value(s, x->closure, x->which);
        x->high = wide, x->value_high = value;
    } else if (wide == x->met && wide < x->high) {
        x->before = x->low, x->value_before = x->value_low;
        x->low = wide, x->value_low = value;
    } else {
        if (wide == x->met) /* it does not end: trials of another accuracy disagree */
            *x = (gw_lift_off){.met = INFINITY};
        keep_forces(s);
        return false; /* or the substep ends earlier for another reason */
    }
    x->met = x->high < NARROW ? 0 : x->trials >= TRIALS ? x->low : next_trial(x);
    x->trials++;
    return true;
}

void gw_unilateral_lift_off(gw_system *s, double wide, gw_lift_off *x, gw_system_work *work)
{
    if (x->active && wide == x->met)
        end_phase(s, x->closure, x->which, work);
    *x = (gw_lift_off){.met = INFINITY};
}
