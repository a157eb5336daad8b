/*
 * Initial forces of contacts that rest in a world's first step. A penalty spring without initial
 * force lets its body sink, or slide on a slope, until force and friction have built up: some
 * milliseconds of motion that rigid bodies in equilibrium do not have. Therefore the first step is
 * tried without these contacts, and their springs begin with the forces that keep the gap rates,
 * with friction within its limit:
 *
 *   min 1/2 P^T A P + P^T (u - u_0)  over P >= 0,   |P_t| <= mu P   (in turn)
 *
 * u: gap rates at the end of the trial, u_0: at its start. RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/contact/impact.h"

#define PASSES      12   /* normal impulses and friction in turn, */
#define MANY_ROWS   16   /* of problems up to this size, of others */
#define FEW         3    /* so many */
#define FIRST_DEPTH 0.25 /* of its largest compression: of a spring that begins with a force */
#define SAME        1e-6 /* of the largest friction impulse: passes end */

/* True if the contact began to rest in this step, with a spring without force. Deep overlaps are
 * excluded: they are no equilibrium. */
static bool begins_to_rest(const gw_contact *c)
{
    return c->continuous && !c->spurious && !c->loaded && !c->candidate.row &&
           c->start.gap >= -GW_CONTACT_LOADED_DEPTH &&
           -c->start.gap - c->rest_penetration <= GW_CONTACT_CLOSED_GAP &&
           gw_norm2(c->friction_spring.slip) == 0;
}

typedef struct initial_problem {
    gw_impact impact;
    double friction[GW_WORLD_MAX_DOF];          /* what it changes of the velocity */
    double p[2 * GW_MAX_SIMULTANEOUS_CONTACTS]; /* along both tangents of each row */
    double before[2 * GW_MAX_SIMULTANEOUS_CONTACTS];
} initial_problem;

/* Normal impulses, given the velocity change by friction. */
static void solve_normal(initial_problem *s)
{
    gw_impact *x = &s->impact;
    gw_world *w = x->world;
    gw_impact_fill(x);
    for (int i = 0; i < x->rows; i++) {
        x->offset[i] -= w->contacts[x->contact[i]].start_gap_rate;
        x->e[i] = 0;
    }
    for (int i = 0; i < x->from[x->block_count]; i++)
        w->v[i] += s->friction[i];
    gw_impulse_problem problem = gw_impact_problem(x, x->rows, x->of, x->offset);
    problem.e = x->e;
    problem.only_push = problem.share = true;
    problem.slack = GW_CONTACT_CLOSED_GAP / x->over;
    gw_impulse_solve(&problem, &w->impulse_workspace, w->dv, w->generalised, x->p);
    for (int i = 0; i < x->from[x->block_count]; i++)
        w->v[i] -= s->friction[i];
}

/* Friction impulses within mu times the normal ones; returns the largest change since the last
 * pass; *most: the largest impulse (N s). */
static double solve_friction(initial_problem *s, double *most)
{
    gw_impact *x = &s->impact;
    gw_world *w = x->world;
    size_t n = (size_t)x->from[x->block_count];
    int of[2 * GW_MAX_SIMULTANEOUS_CONTACTS][2];
    double limit[GW_MAX_SIMULTANEOUS_CONTACTS], offset[2 * GW_MAX_SIMULTANEOUS_CONTACTS];
    for (int i = 0; i < x->rows; i++) {
        const gw_contact *c = &w->contacts[x->contact[i]];
        limit[i] = fmax(0, c->candidate.surface.friction * x->p[i]);
        gw_impact_put_tangential_rows(x, c, i, of, offset);
    }
    gw_impulse_problem problem = gw_impact_problem(x, 2 * x->rows, of, offset);
    double normal[GW_WORLD_MAX_DOF], change = 0;
    memcpy(normal, w->dv, n * sizeof *normal);
    memcpy(s->before, s->p, sizeof s->before);
    gw_impulse_friction(&problem, limit, w->impulse_workspace.memory, w->dv, w->generalised, s->p);
    for (size_t i = 0; i < n; i++)
        s->friction[i] = w->dv[i] - normal[i];
    *most = 0;
    for (int i = 0; i < 2 * x->rows; i++) {
        change = fmax(change, fabs(s->p[i] - s->before[i]));
        *most = fmax(*most, fabs(s->p[i]));
    }
    return change;
}

static bool add_rows(gw_world *w, gw_impact *x)
{
    int count = 0;
    for (int i = 0; i < w->system_count; i++)
        x->block[i] = -1;
    for (int i = 0; i < w->active.contact_count; i++)
        if (begins_to_rest(&w->contacts[w->active.contacts[i]]) && count++ < x->max_rows)
            gw_impact_add_row(x, w->active.contacts[i], true, true);
    return x->rows > 0 && count <= x->max_rows; /* part of them would bear what the others do */
}

/* A trial of the active part for the whole step without these contacts. */
static void try_without(gw_world *w, const gw_impact *x)
{
    for (int i = 0; i < w->active.system_count; i++)
        w->loaded[w->active.systems[i]] = false;
    for (int i = 0; i < x->rows; i++) /* a loaded one has no spring */
        w->contacts[x->contact[i]].loaded = true;
    gw_substep_trial(w, w->dt);
    for (int i = 0; i < x->rows; i++)
        w->contacts[x->contact[i]].loaded = false;
}

/* Gives the contact's springs the normal force and the tangential force `across` on a (N). */
static void begin_with_force(gw_world *w, gw_contact *c, double normal, gw_vec3 across)
{
    assert(c->continuous && !c->loaded && normal >= 0);
    double most, damping, deepest = FIRST_DEPTH * gw_contact_max_compression(c);
    gw_friction_spring *t = &c->friction_spring, unused = *t;
    if (normal > c->stiffness * deepest) {
        gw_contact_stable_stiffness(w, c, &most, &damping, &unused);
        double stiff = fmin(most, normal / deepest);
        if (stiff > c->stiffness) {
            c->stiffness = stiff;
            c->damping = fmax(c->damping, damping * sqrt(stiff / most));
        }
    }
    c->rest_penetration -= normal / c->stiffness;
    if (w->rules.friction == GW_FRICTION_STICK && t->stiffness > 0)
        t->slip = gw_scale(-1 / t->stiffness, across);
    c->now = c->start;
    c->gap_rate = c->start_gap_rate;
}

static int loaded_rows(const gw_impact *x)
{
    int count = 0;
    for (int i = 0; i < x->rows; i++)
        count += x->world->contacts[x->contact[i]].loaded;
    return count;
}

void gw_contacts_begin_with_forces(gw_world *w)
{
    assert(w && w->step_count == 0);
    initial_problem s = {.impact = {.world = w,
                                    .kind = GW_COLLISION_LOAD,
                                    .over = w->dt,
                                    .explicit = true,
                                    .max_rows = GW_MAX_SIMULTANEOUS_CONTACTS}};
    gw_impact *x = &s.impact;
    int effort = w->effort;
    if (!add_rows(w, x))
        return;
    try_without(w, x);
    x->rows = x->block_count = 0;
    if (!add_rows(w, x))
        return;
    int passes = x->rows <= MANY_ROWS ? PASSES : FEW;
    for (int i = 0; i < passes; i++) {
        double most, change;
        solve_normal(&s);
        change = solve_friction(&s, &most);
        if (!(change > SAME * most))
            break;
    }
    for (int i = 0; i < x->rows; i++) {
        gw_contact *c = &w->contacts[x->contact[i]];
        gw_vec3 t[2];
        gw_contact_tangents(c, t);
        gw_vec3 across = gw_add(gw_scale(s.p[2 * i], t[0]), gw_scale(s.p[2 * i + 1], t[1]));
        begin_with_force(w, c, fmax(0, x->p[i]) / w->dt, gw_scale(1 / w->dt, across));
    }
    /* what light bodies bear is no spring's, nor what those bear that they press on in turn */
    for (int before = -1, now = 0; now > before;) {
        before = now;
        gw_island_make_rigid(w);
        now = loaded_rows(x);
    }
    for (int i = 0; i < x->rows; i++)
        w->external_work += gw_contact_spring_energy(&w->contacts[x->contact[i]]);
    w->effort = effort; /* nothing of it is left out for lack of time: it happens once */
}
