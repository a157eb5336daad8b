/*
 * The collision of a contact group: which contacts take part, the rows of their Jacobian over the
 * systems, the simultaneous impulses (impulse.c) and what they do to the systems.
 *
 *   u = J v + offset,   offset: speed of what is moved from outside
 *
 * Starting from the contacts that collide, closed contacts of the same systems, and of systems
 * reached through closed contacts, take part unless they separate. RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/contact/unilateral_row.h"
#include "rt/contact/impact.h"

#define CLOSED_GAP        1e-7 /* gap up to which a contact takes part in a collision (m) */
#define LARGE_ROWS        16   /* rows of a collision in a large island: the rest collides next */
#define LARGE_REST        10   /* times rest_speed: slower reimpacts there are left to the spring */
#define LARGE_BASIS_ROWS  4    /* rows up to which an orthonormal basis is worth it there */
#define SWEEPS_PER_EFFORT 8    /* friction updates of a contact that do */
#define TRACTION          1e9  /* mu of what rolls without a limit */
#define IMMOVABLE_ROW     1e-9 /* a row whose entries are all smaller moves nothing, */
#define HELD_ROW          1e-12 /* 1/kg: nor does one of which closures leave so little */

/* ---- rows of the contact Jacobian --------------------------------------------------------------
 */

/* entries += J_body^T of a force at a point and a couple, or of the couple `lever` times as large
 */
static void add_force(const gw_world *w, int body, gw_vec3 point, gw_vec3 force, double lever,
                      gw_vec3 couple, double *entries)
{
    const gw_body_state *state = &w->bodies[body];
    gw_wrench wrench = gw_wrench_at(&state->pose, point, force);
    if (lever > 0)
        wrench = (gw_wrench){{0, 0, 0}, gw_scale(lever, force)};
    wrench.t = gw_add(wrench.t, couple);
    gw_model_pull_back(gw_world_model(w, state->model), state->index, &wrench, entries);
}

/* Speed along the row (m/s) of a body that is moved from outside, or whose system's base is: of its
 * point along `direction`, or, with a lever, of its rotation. */
static double prescribed_speed(const gw_world *w, int body, gw_vec3 point, gw_vec3 direction,
                               double lever, gw_vec3 couple, gw_contact_jacobian_row *row)
{
    const gw_body_state *state = &w->bodies[body];
    gw_twist twist = state->twist;
    bool moves = state->model < 0 ? state->moving
                                  : gw_model_base_velocity(gw_world_model(w, state->model),
                                                           state->index, &twist);
    row->carried = row->carried || (moves && state->model >= 0);
    if (!moves)
        return 0;
    return lever > 0 ? lever * gw_dot(direction, twist.w)
                     : gw_dot(direction, gw_velocity_at(&state->pose, &twist, point)) +
                           gw_dot(couple, twist.w);
}

void gw_contact_jacobian(const gw_world *w, const gw_contact *c, gw_vec3 direction, bool a, bool b,
                         gw_contact_jacobian_row *row)
{
    assert(a || b);
    double lever = c->now.lever;
    gw_vec3 couple = c->now.couple; /* of none but a general row's own direction */
    row->system[0] = a ? c->system_a : -1;
    row->system[1] = b ? c->system_b : -1;
    if (row->system[0] == row->system[1])
        row->system[1] = -1;
    row->offset = 0;
    row->carried = false;
    for (int k = 0; k < 2; k++)
        if (row->system[k] >= 0)
            memset(row->entry[k], 0,
                   sizeof(double) * (size_t)gw_model_dof(gw_world_model(w, row->system[k])));
    if (a && c->system_a >= 0)
        add_force(w, c->candidate.a, c->now.at_a, direction, lever, couple, row->entry[0]);
    if (b && c->system_b >= 0)
        add_force(w, c->candidate.b, c->now.at_b, gw_neg(direction), lever, gw_neg(couple),
                  row->entry[a && c->system_a == c->system_b ? 0 : 1]);
    if (a)
        row->offset +=
            prescribed_speed(w, c->candidate.a, c->now.at_a, direction, lever, couple, row);
    if (b)
        row->offset -=
            prescribed_speed(w, c->candidate.b, c->now.at_b, direction, lever, couple, row);
}

double gw_jacobian_row_max(const gw_world *w, const gw_contact_jacobian_row *row)
{
    double most = 0;
    for (int k = 0; k < 2; k++) {
        int n = row->system[k] >= 0 ? gw_model_dof(gw_world_model(w, row->system[k])) : 0;
        for (int i = 0; i < n; i++)
            most = gw_max(fabs(row->entry[k][i]), most);
    }
    return most;
}

double gw_jacobian_row_inverse_mass(const gw_world *w, const gw_contact_jacobian_row *row)
{
    double answer[GW_MODEL_MAX_DOF], sum = 0;
    for (int k = 0; k < 2; k++) {
        if (row->system[k] < 0)
            continue;
        const gw_model *model = gw_world_model(w, row->system[k]);
        gw_model_apply_inverse(model, row->entry[k], answer);
        for (int i = 0; i < gw_model_dof(model); i++)
            sum += row->entry[k][i] * answer[i];
    }
    return sum > HELD_ROW ? sum : 0;
}

/* No impulse separates the contact: no system moves along the row, or it is wedged. */
static bool row_is_immovable(const gw_world *w, const gw_contact_jacobian_row *row)
{
    double kinetic, potential, sum = 0;
    double inverse = gw_jacobian_row_inverse_mass(w, row);
    if (gw_jacobian_row_max(w, row) <= IMMOVABLE_ROW || inverse == 0)
        return true;
    for (int k = 0; k < 2 && row->carried; k++) {
        if (row->system[k] < 0)
            continue;
        gw_model_energy(gw_world_model(w, row->system[k]), &kinetic, &potential);
        sum += kinetic;
    }
    return row->carried && gw_row_wedged(row->offset, inverse, sum);
}

/* ---- contacts that take part --------------------------------------------------------------------
 */

bool gw_contact_collides(const gw_world *w, const gw_contact *c)
{
    bool closed = c->now.gap <= GW_CONTACT_CLOSED_GAP && !c->immovable && !c->spurious;
    return closed && !c->deferred && !c->constrained && (c->reimpact || !c->continuous) &&
           c->gap_rate < -w->rules.rest_speed;
}

/* True if the body approaches beyond the largest compression of its spring, whose stiffness is
 * limited by stability: the body is then returned elastically, once a step. */
static bool is_overcompressed(const gw_contact *c)
{
    return c->continuous && !c->immovable && c->gap_rate < 0 &&
           -c->now.gap - c->rest_penetration > gw_contact_max_compression(c);
}

bool gw_island_overcompressed(const gw_world *w)
{
    for (int i = 0; i < w->active.contact_count; i++)
        if (is_overcompressed(&w->contacts[w->active.contacts[i]]))
            return true;
    return false;
}

static bool takes_part(const gw_world *w, const gw_contact *c, gw_collision_kind kind)
{
    double rest = w->rules.rest_speed;
    if (c->immovable || c->spurious || c->now.gap > CLOSED_GAP)
        return false;
    if (kind == GW_COLLISION_OVERCOMPRESSED)
        return c->gap_rate < 0;
    return w->rules.colliding == GW_COLLIDING_TOUCHING ? c->gap_rate < rest : c->gap_rate < -rest;
}

/* ---- assembly
 * ------------------------------------------------------------------------------------ */

void gw_impact_apply_inverse(const void *context, int block, const double *force, double *answer)
{
    const gw_impact *x = context;
    const gw_model *model = gw_world_model(x->world, x->systems[block]);
    if (x->over > 0)
        gw_model_apply_inverse_over(model, x->over, x->explicit, force, answer);
    else
        gw_model_apply_inverse(model, force, answer);
}

/* Adds the row's systems as blocks; false where there is no room. */
static bool add_blocks(gw_impact *x, const gw_contact_jacobian_row *row)
{
    int count = x->block_count;
    for (int k = 0; k < 2; k++) {
        int m = row->system[k];
        if (m < 0 || x->block[m] >= 0)
            continue;
        int end = x->from[x->block_count] + gw_model_dof(gw_world_model(x->world, m));
        if (end > x->world->dof_most) {
            while (x->block_count > count)
                x->block[x->systems[--x->block_count]] = -1;
            return false;
        }
        x->block[m] = x->block_count;
        x->systems[x->block_count++] = m;
        x->from[x->block_count] = end;
    }
    return true;
}

static double restitution_of_row(const gw_impact *x, const gw_contact *c)
{
    if (x->kind == GW_COLLISION_OVERCOMPRESSED)
        return c->overcompressed ? 1 : 0;
    return x->kind == GW_COLLISION_PLASTIC || c->no_rebound ? 0 : c->candidate.surface.restitution;
}

void gw_impact_add_row(gw_impact *x, int contact, bool a, bool b)
{
    assert(x && contact >= 0);
    gw_world *w = x->world;
    gw_contact *c = &w->contacts[contact];
    if (x->rows == x->max_rows)
        return;
    gw_contact_jacobian_row *row = &w->rows[x->rows];
    gw_contact_jacobian(w, c, c->now.normal, a, b, row);
    if (row_is_immovable(w, row)) {
        c->immovable = c->immovable || (a && b);
        return;
    }
    if (!add_blocks(x, row))
        return;
    x->contact[x->rows] = contact;
    for (int k = 0; k < 2; k++)
        x->of[x->rows][k] = row->system[k] >= 0 ? x->block[row->system[k]] : -1;
    x->offset[x->rows] = row->offset;
    x->e[x->rows++] = restitution_of_row(x, c);
}

/* eq. 11, or (12) and (13) for two links of one system */
static void add_contact(gw_impact *x, int contact)
{
    const gw_world *w = x->world;
    const gw_contact *c = &w->contacts[contact];
    bool each = w->rules.self_each_link && c->system_a == c->system_b && c->system_a >= 0;
    gw_impact_add_row(x, contact, true, !each);
    if (each)
        gw_impact_add_row(x, contact, false, true);
}

/* Systems that the collision reaches, breadth first. */
typedef struct reached {
    int count, systems[GW_MAX_MODELS];
    bool known[GW_MAX_MODELS];                   /* by system */
    bool visited[2 * GW_MAX_CONTACT_CANDIDATES]; /* by contact */
} reached;

static void add_reached(reached *r, const gw_contact *c)
{
    int system[2] = {c->system_a, c->system_b};
    for (int k = 0; k < 2; k++)
        if (system[k] >= 0 && !r->known[system[k]]) {
            r->known[system[k]] = true;
            r->systems[r->count++] = system[k];
        }
}

/* Contacts that collide. */
static void add_colliding(gw_impact *x, reached *r)
{
    gw_world *w = x->world;
    bool overcompressed = x->kind == GW_COLLISION_OVERCOMPRESSED;
    for (int i = 0; i < w->active.contact_count; i++) {
        int contact = w->active.contacts[i];
        gw_contact *c = &w->contacts[contact];
        c->overcompressed = c->overcompressed || (overcompressed && is_overcompressed(c));
        bool starts = overcompressed ? c->overcompressed : gw_contact_collides(w, c);
        if (!starts || !takes_part(w, c, x->kind))
            continue;
        r->visited[contact] = true;
        add_contact(x, contact);
        add_reached(r, c);
    }
}

/* Closed contacts of a system within its group. */
static void add_contacts_of(gw_impact *x, reached *r, int system)
{
    gw_world *w = x->world;
    for (int i = w->contacts_of.first[system]; i >= 0; i = w->contacts_of.next[i]) {
        int contact = w->contacts_of.of[i];
        const gw_contact *c = &w->contacts[contact];
        bool inside = !gw_contact_both_dynamic(c) || w->group[c->system_a] == w->group[c->system_b];
        if (r->visited[contact] || c->spurious || c->now.gap > CLOSED_GAP || !inside)
            continue;
        r->visited[contact] = true;
        if (takes_part(w, c, x->kind))
            add_contact(x, contact);
        add_reached(r, c);
    }
}

/* Contacts that collide and all that these reach; where there are too many rows the farthest are
 * left to the next collision. In a small island every closed contact takes part. */
static void add_contacts(gw_impact *x)
{
    gw_world *w = x->world;
    reached r = {.count = 0};
    add_colliding(x, &r);
    for (int i = 0; i < r.count && x->rows < x->max_rows; i++)
        add_contacts_of(x, &r, r.systems[i]);
    for (int i = 0; w->island.system_count <= GW_ISLAND_SMALL && i < w->active.contact_count; i++) {
        int contact = w->active.contacts[i];
        if (!r.visited[contact] && takes_part(w, &w->contacts[contact], x->kind))
            add_contact(x, contact);
    }
}

void gw_impact_put_row(const gw_impact *x, const gw_contact_jacobian_row *row, double *entries,
                       int of[2], double *offset)
{
    for (int k = 0; k < 2; k++) {
        int m = row->system[k];
        of[k] = m >= 0 ? x->block[m] : -1;
        if (m >= 0)
            memcpy(entries + x->from[of[k]], row->entry[k],
                   sizeof(double) * (size_t)gw_model_dof(gw_world_model(x->world, m)));
    }
    *offset = row->offset;
}

void gw_impact_fill(gw_impact *x)
{
    gw_world *w = x->world;
    size_t n = (size_t)x->from[x->block_count];
    for (int i = 0; i < x->rows; i++)
        gw_impact_put_row(x, &w->rows[i], w->jacobian + (size_t)i * n, x->of[i], &x->offset[i]);
    for (int k = 0; k < x->block_count; k++)
        gw_model_velocity(gw_world_model(w, x->systems[k]), w->v + x->from[k]);
}

gw_impulse_problem gw_impact_problem(const gw_impact *x, int rows, int (*of)[2],
                                     const double *offset)
{
    return (gw_impulse_problem){.rows = rows,
                                .dof = x->from[x->block_count],
                                .blocks = x->block_count,
                                .from = x->from,
                                .of = (const int(*)[2])of,
                                .j = x->world->jacobian,
                                .v = x->world->v,
                                .offset = offset,
                                .inverse = gw_impact_apply_inverse,
                                .context = x};
}

void gw_contact_tangents(const gw_contact *c, gw_vec3 t[2])
{
    t[0] = gw_any_normal(c->now.normal);
    t[1] = gw_cross(c->now.normal, t[0]);
}

void gw_impact_put_tangential_rows(const gw_impact *x, const gw_contact *c, int i, int (*of)[2],
                                   double *offset)
{
    size_t n = (size_t)x->from[x->block_count];
    gw_contact_jacobian_row row;
    gw_vec3 t[2];
    gw_contact_tangents(c, t);
    for (int k = 0; k < 2; k++) {
        int at = 2 * i + k;
        gw_contact_jacobian(x->world, c, t[k], true, true, &row);
        gw_impact_put_row(x, &row, x->world->jacobian + (size_t)at * n, of[at], &offset[at]);
    }
}

/* ---- friction of the collision
 * ------------------------------------------------------------------- */

static bool any_rolls(const gw_impact *x)
{
    for (int i = 0; i < x->rows; i++)
        if (gw_contact_rolls(&x->world->contacts[x->contact[i]]))
            return true;
    return false;
}

/* Tangential impulses of contacts that push, within mu p_n: Coulomb's law of impulses. The two rows
 * of a self-contact (eq. 12, 13) have none. */
void gw_impact_add_friction(const gw_impact *x)
{
    gw_world *w = x->world;
    int count = 0, of[2 * GW_MAX_SIMULTANEOUS_CONTACTS][2];
    double limit[GW_MAX_SIMULTANEOUS_CONTACTS], offset[2 * GW_MAX_SIMULTANEOUS_CONTACTS],
        p[2 * GW_MAX_SIMULTANEOUS_CONTACTS];
    for (int i = 0; i < x->rows; i++) {
        const gw_contact *c = &w->contacts[x->contact[i]];
        bool rolls = gw_contact_rolls(c);
        bool has_friction = w->rules.impact_friction || x->kind == GW_COLLISION_LOAD;
        limit[count] = fmin(c->candidate.surface.friction, TRACTION) * x->p[i];
        if (!(limit[count] > 0) || !(rolls || has_friction) ||
            (w->rules.self_each_link && c->system_a == c->system_b))
            continue;
        gw_impact_put_tangential_rows(x, c, count++, of, offset);
    }
    if (count == 0)
        return;
    gw_impulse_problem problem = gw_impact_problem(x, 2 * count, of, offset);
    int sweeps =
        gw_impulse_friction(&problem, limit, w->impulse_workspace.memory, w->dv, w->generalised, p);
    for (int i = 0; i < 2 * count && x->kind != GW_COLLISION_LOAD; i++)
        w->external_work -= p[i] * offset[i];
    w->effort += sweeps * count / SWEEPS_PER_EFFORT;
}

/* ---- effect
 * ---------------------------------------------------------------------------------------- */

/* Applies the velocity changes to the systems, and records impulses and work. */
static void apply_impulses(const gw_impact *x)
{
    gw_world *w = x->world;
    for (int k = 0; k < x->block_count; k++) {
        int m = x->systems[k], at = x->from[k];
        gw_world_system *system = &w->systems[m];
        int n = gw_model_dof(system->model);
        w->in_contact[m] = true;
        gw_model_kick(system->model, w->dv + at);
        for (int i = 0; i < n; i++) {
            system->impulse[i] += w->generalised[at + i];
            system->collided = system->collided || w->generalised[at + i] != 0;
        }
    }
    for (int i = 0; i < x->rows; i++) {
        gw_contact *c = &w->contacts[x->contact[i]];
        c->impulse += x->p[i];
        c->collided = c->collided || (x->p[i] != 0 && x->kind != GW_COLLISION_OVERCOMPRESSED);
        w->external_work -= x->p[i] * x->offset[i];
    }
}

/* Updates the twists of a system's bodies after the collision. Impulses do not move bodies, but a
 * system that recomputes its poses may round them differently: `rounded`. */
static void update_bodies(gw_world *w, int system)
{
    const gw_model *model = gw_world_model(w, system);
    bool one = gw_model_bodies(model) == 1, more = true;
    for (int i = w->pairs_of.first[system]; i >= 0 && more; i = w->pairs_of.next[i]) {
        const gw_collision_pair *pair = &w->pairs[w->pairs_of.of[i]];
        for (int k = 0; k < 2; k++) {
            gw_body_state *p = &w->bodies[k == 0 ? pair->a : pair->b];
            if ((k == 0 ? pair->system_a : pair->system_b) != system)
                continue;
            const gw_pose before = p->pose;
            gw_model_body(model, p->index, &p->pose, &p->twist);
            p->rounded = p->rounded || memcmp(&before, &p->pose, sizeof before) != 0;
        }
        more = !one;
    }
}

/* State of a contact after the collision: it approaches again (reimpact) or becomes continuous. In
 * a large island slow reimpacts are left to the springs. */
static void update_contact(gw_world *w, gw_contact *c)
{
    double before = c->gap_rate, rest = w->rules.rest_speed;
    bool large = w->island.system_count > GW_ISLAND_SMALL;
    if (w->bodies[c->candidate.a].rounded || w->bodies[c->candidate.b].rounded)
        gw_contact_update_gap(w, c);
    else
        gw_contact_update_rate(w, c);
    c->reimpact = c->gap_rate < (large ? -LARGE_REST : -1) * rest && c->gap_rate < before - 1e-9;
    if (c->now.gap <= GW_CONTACT_CLOSED_GAP && c->collided && !c->continuous &&
        fabs(c->gap_rate) < rest)
        gw_contact_make_continuous(w, c);
}

/* Bodies of the systems that collided, and their contacts within the group. */
static void update_states(const gw_impact *x)
{
    gw_world *w = x->world;
    for (int k = 0; k < x->block_count; k++)
        update_bodies(w, x->systems[k]);
    for (int k = 0; k < x->block_count; k++) {
        int m = x->systems[k];
        for (int i = w->contacts_of.first[m]; i >= 0; i = w->contacts_of.next[i]) {
            gw_contact *c = &w->contacts[w->contacts_of.of[i]];
            int other = gw_other_system(m, c->system_a, c->system_b);
            bool inside = other < 0 || w->group[other] == w->group[m];
            bool done = other >= 0 && other != m && x->block[other] >= 0 && m != c->system_a;
            if (inside && !done)
                update_contact(w, c);
        }
    }
}

static double kinetic_energy(const gw_impact *x)
{
    double sum = 0;
    for (int k = 0; k < x->block_count; k++) {
        double kinetic, potential;
        gw_model_energy(gw_world_model(x->world, x->systems[k]), &kinetic, &potential);
        sum += kinetic;
    }
    return sum;
}

/* Begins the record of a collision state; NULL: the records are full, or it is not a collision. */
static gw_world_collision *open_record(const gw_impact *x)
{
    gw_world *w = x->world;
    if (x->kind == GW_COLLISION_OVERCOMPRESSED || w->recorded_count == GW_WORLD_RECORDED_COLLISIONS)
        return NULL;
    gw_world_collision *record = &w->recorded[w->recorded_count++];
    *record = (gw_world_collision){.contacts = x->rows, .kinetic_before = kinetic_energy(x)};
    return record;
}

static void close_record(const gw_impact *x, gw_world_collision *record)
{
    if (!record)
        return;
    record->kinetic_after = kinetic_energy(x);
    for (int i = 0; i < x->rows; i++)
        record->impulse += fabs(x->p[i]);
}

void gw_resolve_collision(gw_world *w, gw_collision_kind kind)
{
    assert(w);
    gw_open_contacts(w);
    bool large = w->island.system_count > GW_ISLAND_SMALL;
    gw_impact x = {
        .world = w, .kind = kind, .max_rows = large ? LARGE_ROWS : GW_MAX_SIMULTANEOUS_CONTACTS};
    for (int i = 0; i < w->system_count; i++)
        x.block[i] = -1;
    add_contacts(&x);
    if (x.rows == 0)
        return;
    gw_impact_fill(&x);
    gw_world_collision *record = open_record(&x);
    bool only_push =
        kind == GW_COLLISION_OVERCOMPRESSED || w->rules.impulse == GW_IMPULSE_NON_ADHESIVE;
    gw_impulse_problem problem = gw_impact_problem(&x, x.rows, x.of, x.offset);
    problem.e = x.e;
    problem.max_basis_rows = large ? LARGE_BASIS_ROWS : 0;
    problem.only_push = only_push;
    gw_impulse_solve(&problem, &w->impulse_workspace, w->dv, w->generalised, x.p);
    if ((w->rules.impact_friction || any_rolls(&x)) && kind != GW_COLLISION_OVERCOMPRESSED)
        gw_impact_add_friction(&x);
    apply_impulses(&x);
    close_record(&x, record);
    w->any_contact = true;
    w->effort += 1 + (large ? x.rows : x.rows * x.rows / GW_ROWS_PER_EFFORT);
    update_states(&x);
}
