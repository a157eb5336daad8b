/*
 * The collision of a contact group: which contacts take part, the rows of their Jacobian over the
 * systems, the simultaneous impulses (impulse.c) and what they do to the systems.
 *
 *   u = J v + offset,   offset: speed of what is moved from outside
 *
 * Contacts that collide start it; contacts that these reach through closed ones take part where
 * they do not separate. RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/contact/unilateral_row.h"
#include "rt/contact/world_private.h"

#define CLOSED_GAP        1e-7 /* gap up to which a contact takes part in a collision (m) */
#define LARGE_ROWS        16   /* rows of a collision in a large island: the rest collides next */
#define LARGE_REST        10   /* times rest_speed: slower reimpacts there are left to the spring */
#define LARGE_BASIS_ROWS  4    /* rows up to which an orthonormal basis is worth it there */
#define ROWS_PER_EFFORT   160  /* rows squared of a collision that cost a step of a body */
#define SWEEPS_PER_EFFORT 8    /* friction updates of a contact that do */
#define GRIP              1e9  /* mu of what rolls without slip */
#define IMMOVABLE_ROW     1e-9 /* a row whose entries are all smaller moves nothing */

/* ---- rows of the contact Jacobian --------------------------------------------------------------
 */

/* entries += J_body^T of a force at a point, or of the couple `lever` times as large */
static void add_force(const gw_world *w, int body, gw_vec3 point, gw_vec3 force, double lever,
                      double *entries)
{
    const gw_body_state *state = &w->bodies[body];
    gw_wrench wrench = gw_wrench_at(&state->pose, point, force);
    if (lever > 0)
        wrench = (gw_wrench){{0, 0, 0}, gw_scale(lever, force)};
    gw_model_pull_back(gw_world_model(w, state->model), state->index, &wrench, entries);
}

/* Speed of a body's point along a direction, or of its turning, because the body, or the base of
 * its system, is moved from outside (m/s). */
static double prescribed_speed(const gw_world *w, int body, gw_vec3 point, gw_vec3 direction,
                               double lever, gw_contact_jacobian_row *row)
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
                     : gw_dot(direction, gw_velocity_at(&state->pose, &twist, point));
}

void gw_contact_jacobian(const gw_world *w, const gw_contact *c, gw_vec3 direction, bool a, bool b,
                         gw_contact_jacobian_row *row)
{
    assert(a || b);
    double lever = c->now.lever;
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
        add_force(w, c->candidate.a, c->now.at_a, direction, lever, row->entry[0]);
    if (b && c->system_b >= 0)
        add_force(w, c->candidate.b, c->now.at_b, gw_neg(direction), lever,
                  row->entry[a && c->system_a == c->system_b ? 0 : 1]);
    if (a)
        row->offset += prescribed_speed(w, c->candidate.a, c->now.at_a, direction, lever, row);
    if (b)
        row->offset -= prescribed_speed(w, c->candidate.b, c->now.at_b, direction, lever, row);
}

double gw_jacobian_row_max(const gw_world *w, const gw_contact_jacobian_row *row)
{
    double most = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; row->system[k] >= 0 && i < gw_model_dof(gw_world_model(w, row->system[k]));
             i++)
            most = fmax(most, fabs(row->entry[k][i]));
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
    return sum;
}

/* No impulse separates the contact: no system moves along the row, or it is wedged. */
static bool row_is_immovable(const gw_world *w, const gw_contact_jacobian_row *row)
{
    double kinetic, potential, sum = 0;
    if (gw_jacobian_row_max(w, row) <= IMMOVABLE_ROW)
        return true;
    for (int k = 0; k < 2 && row->carried; k++) {
        if (row->system[k] < 0)
            continue;
        gw_model_energy(gw_world_model(w, row->system[k]), &kinetic, &potential);
        sum += kinetic;
    }
    return row->carried && gw_row_wedged(row->offset, gw_jacobian_row_inverse_mass(w, row), sum);
}

/* ---- contacts that take part --------------------------------------------------------------------
 */

bool gw_contact_collides(const gw_world *w, const gw_contact *c)
{
    bool closed = c->now.gap <= GW_CONTACT_CLOSED_GAP && !c->immovable && !c->spurious;
    return closed && !c->deferred && (c->reimpact || !c->continuous) &&
           c->gap_rate < -w->rules.rest_speed;
}

/* A step bears little stiffness where the body is light. So that nothing passes through its spring,
 * a body that approaches beyond a compression is returned elastically, once a step. */
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

/* The problem that is assembled: its systems are blocks of the generalised velocity. */
typedef struct impact {
    gw_world *world;
    gw_collision_kind kind;
    double over; /* a step of so long that the systems answer in (s); 0: at once */
    int rows, max_rows, block_count;
    int systems[GW_MAX_MODELS];  /* of each block */
    int from[GW_MAX_MODELS + 1]; /* its first entry, and the end */
    int block[GW_MAX_MODELS];    /* by system; -1: takes no part */
    int contact[GW_MAX_SIMULTANEOUS_CONTACTS], of[GW_MAX_SIMULTANEOUS_CONTACTS][2]; /* by row */
    double e[GW_MAX_SIMULTANEOUS_CONTACTS], offset[GW_MAX_SIMULTANEOUS_CONTACTS],
        p[GW_MAX_SIMULTANEOUS_CONTACTS];
} impact;

/* D^-1 of a block */
static void apply_inverse(const void *context, int block, const double *force, double *answer)
{
    const impact *x = context;
    const gw_model *model = gw_world_model(x->world, x->systems[block]);
    if (x->over > 0)
        gw_model_apply_inverse_over(model, x->over, force, answer);
    else
        gw_model_apply_inverse(model, force, answer);
}

/* Adds the row's systems as blocks; false where there is no room. */
static bool add_blocks(impact *x, const gw_contact_jacobian_row *row)
{
    int count = x->block_count;
    for (int k = 0; k < 2; k++) {
        int m = row->system[k];
        if (m < 0 || x->block[m] >= 0)
            continue;
        int end = x->from[x->block_count] + gw_model_dof(gw_world_model(x->world, m));
        if (end > GW_WORLD_MAX_DOF) {
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

static double restitution(const impact *x, const gw_contact *c)
{
    if (x->kind == GW_COLLISION_OVERCOMPRESSED)
        return c->overcompressed ? 1 : 0;
    return x->kind == GW_COLLISION_PLASTIC || c->no_rebound ? 0 : c->candidate.surface.restitution;
}

static void add_row(impact *x, int contact, bool a, bool b)
{
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
    x->e[x->rows++] = restitution(x, c);
}

/* eq. 11, or (12) and (13) for two links of one system */
static void add_contact(impact *x, int contact)
{
    const gw_world *w = x->world;
    const gw_contact *c = &w->contacts[contact];
    bool each = w->rules.self_each_link && c->system_a == c->system_b && c->system_a >= 0;
    add_row(x, contact, true, !each);
    if (each)
        add_row(x, contact, false, true);
}

/* Systems that the collision reaches, breadth first. */
typedef struct reached {
    int count, systems[GW_MAX_MODELS];
    bool known[GW_MAX_MODELS];                   /* by system */
    bool visited[2 * GW_MAX_CONTACT_CANDIDATES]; /* by contact */
} reached;

static void reach(reached *r, const gw_contact *c)
{
    int system[2] = {c->system_a, c->system_b};
    for (int k = 0; k < 2; k++)
        if (system[k] >= 0 && !r->known[system[k]]) {
            r->known[system[k]] = true;
            r->systems[r->count++] = system[k];
        }
}

/* Contacts that collide. */
static void add_colliding(impact *x, reached *r)
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
        reach(r, c);
    }
}

/* Closed contacts of a system within its group. */
static void add_contacts_of(impact *x, reached *r, int system)
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
        reach(r, c);
    }
}

/* Contacts that collide and all that these reach; where there are too many rows the farthest are
 * left to the next collision. In a small island every closed contact takes part. */
static void add_contacts(impact *x)
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

/* Writes a row's blocks into a dense row; *offset and the row's blocks are told. */
static void put_row(const impact *x, const gw_contact_jacobian_row *row, double *entries, int of[2],
                    double *offset)
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

/* J and v over the blocks. */
static void fill(impact *x)
{
    gw_world *w = x->world;
    size_t n = (size_t)x->from[x->block_count];
    for (int i = 0; i < x->rows; i++)
        put_row(x, &w->rows[i], w->jacobian + (size_t)i * n, x->of[i], &x->offset[i]);
    for (int k = 0; k < x->block_count; k++)
        gw_model_velocity(gw_world_model(w, x->systems[k]), w->v + x->from[k]);
}

/* ---- friction of the collision
 * ------------------------------------------------------------------- */

/* What rolls slips at no impact. */
static bool grips_slip(const gw_contact *c)
{
    return c->candidate.row && c->candidate.row->grip != GW_GRIP_NONE;
}

static bool any_grips(const impact *x)
{
    for (int i = 0; i < x->rows; i++)
        if (grips_slip(&x->world->contacts[x->contact[i]]))
            return true;
    return false;
}

/* Tangential impulses of contacts that push, within mu p_n: Coulomb's law of impulses. The two rows
 * of a self-contact (eq. 12, 13) have none. */
static void add_friction(const impact *x)
{
    gw_world *w = x->world;
    size_t n = (size_t)x->from[x->block_count];
    int count = 0, of[2 * GW_MAX_SIMULTANEOUS_CONTACTS][2];
    double limit[GW_MAX_SIMULTANEOUS_CONTACTS], offset[2 * GW_MAX_SIMULTANEOUS_CONTACTS],
        p[2 * GW_MAX_SIMULTANEOUS_CONTACTS];
    gw_contact_jacobian_row row;
    for (int i = 0; i < x->rows; i++) {
        const gw_contact *c = &w->contacts[x->contact[i]];
        bool grips = grips_slip(c);
        bool rubs = w->rules.impact_friction || x->kind == GW_COLLISION_LOAD;
        limit[count] = grips ? GRIP * x->p[i] : c->candidate.surface.friction * x->p[i];
        if (!(limit[count] > 0) || !(grips || rubs) ||
            (w->rules.self_each_link && c->system_a == c->system_b))
            continue;
        gw_vec3 t[2] = {gw_any_normal(c->now.normal)};
        t[1] = gw_cross(c->now.normal, t[0]);
        for (int k = 0; k < 2; k++) {
            int at = 2 * count + k;
            gw_contact_jacobian(w, c, t[k], true, true, &row);
            put_row(x, &row, w->jacobian + (size_t)at * n, of[at], &offset[at]);
        }
        count++;
    }
    gw_impulse_problem problem = {.rows = 2 * count,
                                  .dof = (int)n,
                                  .blocks = x->block_count,
                                  .from = x->from,
                                  .of = (const int(*)[2])of,
                                  .j = w->jacobian,
                                  .v = w->v,
                                  .offset = offset,
                                  .inverse = apply_inverse,
                                  .context = x};
    int sweeps =
        gw_impulse_friction(&problem, limit, w->impulse_workspace.memory, w->dv, w->generalised, p);
    for (int i = 0; i < 2 * count && x->kind != GW_COLLISION_LOAD; i++)
        w->external_work -= p[i] * offset[i];
    w->effort += sweeps * count / SWEEPS_PER_EFFORT;
}

/* ---- effect
 * ---------------------------------------------------------------------------------------- */

/* Gives the systems their change of velocity. */
static void apply_impulses(const impact *x)
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

/* Twists of a system's bodies after the collision. */
static void update_bodies(gw_world *w, int system)
{
    const gw_model *model = gw_world_model(w, system);
    bool one = gw_model_bodies(model) == 1, more = true;
    for (int i = w->pairs_of.first[system]; i >= 0 && more; i = w->pairs_of.next[i]) {
        const gw_collision_pair *pair = &w->pairs[w->pairs_of.of[i]];
        for (int k = 0; k < 2; k++) {
            gw_body_state *p = &w->bodies[k == 0 ? pair->a : pair->b];
            if ((k == 0 ? pair->system_a : pair->system_b) == system)
                gw_model_body(model, p->index, &p->pose, &p->twist);
        }
        more = !one;
    }
}

/* State of a contact after the collision: whether it approaches again, or rests. In a large island
 * slow reimpacts are left to the springs. */
static void update_contact(gw_world *w, gw_contact *c)
{
    double before = c->gap_rate, rest = w->rules.rest_speed;
    bool large = w->island.system_count > GW_ISLAND_SMALL;
    gw_contact_update_gap(w, c);
    c->reimpact = c->gap_rate < (large ? -LARGE_REST : -1) * rest && c->gap_rate < before - 1e-9;
    if (c->now.gap <= GW_CONTACT_CLOSED_GAP && c->collided && !c->continuous &&
        fabs(c->gap_rate) < rest)
        gw_contact_make_continuous(w, c);
}

/* Bodies of the systems that collided, and their contacts within the group. */
static void update_states(const impact *x)
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

void gw_resolve_collision(gw_world *w, gw_collision_kind kind)
{
    bool large = w->island.system_count > GW_ISLAND_SMALL;
    impact x = {
        .world = w, .kind = kind, .max_rows = large ? LARGE_ROWS : GW_MAX_SIMULTANEOUS_CONTACTS};
    for (int i = 0; i < w->system_count; i++)
        x.block[i] = -1;
    add_contacts(&x);
    if (x.rows == 0)
        return;
    fill(&x);
    bool only_push =
        kind == GW_COLLISION_OVERCOMPRESSED || w->rules.impulse == GW_IMPULSE_NON_ADHESIVE;
    gw_impulse_problem problem = {.rows = x.rows,
                                  .dof = x.from[x.block_count],
                                  .blocks = x.block_count,
                                  .from = x.from,
                                  .of = (const int(*)[2])x.of,
                                  .j = w->jacobian,
                                  .v = w->v,
                                  .e = x.e,
                                  .offset = x.offset,
                                  .max_basis_rows = large ? LARGE_BASIS_ROWS : 0,
                                  .only_push = only_push,
                                  .inverse = apply_inverse,
                                  .context = &x};
    gw_impulse_solve(&problem, &w->impulse_workspace, w->dv, w->generalised, x.p);
    if ((w->rules.impact_friction || any_grips(&x)) && kind != GW_COLLISION_OVERCOMPRESSED)
        add_friction(&x);
    apply_impulses(&x);
    w->any_contact = true;
    w->effort += 1 + (large ? x.rows : x.rows * x.rows / ROWS_PER_EFFORT);
    update_states(&x);
}

/* ---- loads -----------------------------------------------------------------------------------
 */

#define LOADED_RATIO 50.0 /* of masses from which on a contact may be loaded */

/* A spring that the step keeps softer than its surface is gives way. */
static bool gives_way(const gw_contact *c)
{
    double stated = c->candidate.surface.stiffness;
    bool soft = !(stated > 0) || c->stiffness < 0.99 * stated;
    return c->continuous && soft && -c->now.gap - c->rest_penetration > GW_CONTACT_LOADED_DEPTH;
}

/* One body moves along the normal with so much more mass than the spring is made for. */
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

static bool bears(const gw_world *w, int system)
{
    for (int i = system >= 0 ? w->contacts_of.first[system] : -1; i >= 0;
         i = w->contacts_of.next[i])
        if (w->contacts[w->contacts_of.of[i]].loaded)
            return true;
    return false;
}

static void make_loaded(gw_contact *c)
{
    c->loaded = true;
    c->load = c->stored = 0;
    c->rest_penetration = fmax(c->rest_penetration, -c->now.gap);
    c->friction_spring.slip = gw_v3(0, 0, 0);
    c->friction_spring.spin = 0;
}

bool gw_island_loads(gw_world *w)
{
    bool any = false;
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (!c->loaded && gives_way(c)) {
            /* what a light body presses on in turn carries the same */
            bool heavy = !c->weighed && is_pressed_by_heavy(w, c);
            c->weighed = true;
            if (heavy || bears(w, c->system_a) || bears(w, c->system_b))
                make_loaded(c);
        }
        any = any || (c->continuous && c->loaded);
    }
    return any;
}

static void add_loaded_rows(impact *x)
{
    gw_world *w = x->world;
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (!gw_contact_holds(c))
            c->load = 0;
        if (c->continuous && c->loaded && !c->spurious)
            add_row(x, w->active.contacts[i], true, true);
    }
}

#define LOAD_FEEDBACK 0.1 /* of what a contact is too deep, taken away in a substep */

/* The rate at which the row's gap is to close at most, by where the substep begins (m/s). */
static double aim_of(const gw_contact *c, double h)
{
    double gap = c->start.gap + c->rest_penetration;
    return (gap > 0 ? gap : c->stored > 0 ? LOAD_FEEDBACK * gap : 0) / h;
}

/* v += D^-1 J_i^T p of row i; returns J_i D^-1 J_i^T. */
static double add_answer(const impact *x, int i, double p, double *v)
{
    const gw_contact_jacobian_row *row = &x->world->rows[i];
    double answer[GW_MODEL_MAX_DOF], sum = 0;
    for (int k = 0; k < 2; k++) {
        if (row->system[k] < 0)
            continue;
        int block = x->of[i][k], from = x->from[block];
        apply_inverse(x, block, row->entry[k], answer);
        for (int n = from; n < x->from[block + 1]; n++) {
            v[n] += p * answer[n - from];
            sum += row->entry[k][n - from] * answer[n - from];
        }
    }
    return sum;
}

/* Normal impulses, with what friction changes of the velocity beside them. Of contacts that hold
 * the trial had a load, whose answer is taken away first. */
static void solve_normal_loads(impact *x, const double *friction, double h)
{
    gw_world *w = x->world;
    fill(x);
    for (int i = 0; i < x->rows; i++) {
        const gw_contact *c = &w->contacts[x->contact[i]];
        x->offset[i] += aim_of(c, h);
        x->e[i] = 0;
        if (gw_contact_holds(c) && c->tried > 0)
            add_answer(x, i, -c->tried, w->v);
    }
    for (int i = 0; i < x->from[x->block_count]; i++)
        w->v[i] += friction[i];
    gw_impulse_problem problem = {.rows = x->rows,
                                  .dof = x->from[x->block_count],
                                  .blocks = x->block_count,
                                  .from = x->from,
                                  .of = (const int(*)[2])x->of,
                                  .j = w->jacobian,
                                  .v = w->v,
                                  .e = x->e,
                                  .offset = x->offset,
                                  .only_push = true,
                                  .inverse = apply_inverse,
                                  .context = x};
    gw_impulse_solve(&problem, &w->impulse_workspace, w->dv, w->generalised, x->p);
    for (int i = 0; i < x->from[x->block_count]; i++)
        w->v[i] -= friction[i];
}

#define HELD_RATE  1e-9 /* at which a contact that holds may move (m/s), */
#define HELD_SHARE 1e-6 /* and as a part of the rate that its load holds back */

/* Takes the loads that the trial had of contacts that hold; true where all held. */
static bool loads_hold(impact *x, double h)
{
    gw_world *w = x->world;
    bool hold = true;
    for (int i = 0; i < x->rows; i++) {
        gw_contact *c = &w->contacts[x->contact[i]];
        if (!gw_contact_holds(c))
            continue;
        c->tried = c->load * h;
        double rate = c->gap_rate + aim_of(c, h);
        double most = HELD_RATE + HELD_SHARE * add_answer(x, i, 0, w->v) * c->tried;
        hold = hold && (c->tried > 0 ? fabs(rate) <= most : rate >= -most);
    }
    return hold;
}

/* What the loads do to a system as the substep begins and ends: without those that hold, which act
 * all through it. True where there are any. */
static bool keep_kicks(impact *x, double h)
{
    gw_world *w = x->world;
    bool any = false;
    for (int i = 0; i < x->rows; i++) {
        gw_contact *c = &w->contacts[x->contact[i]];
        c->load = fmax(0, x->p[i]) / h;
        if (gw_contact_holds(c))
            add_answer(x, i, -x->p[i], w->dv);
        else
            any = true;
    }
    for (int k = 0; k < x->block_count && any; k++) {
        int m = x->systems[k];
        w->loaded[m] = true;
        for (int i = 0; i < x->from[k + 1] - x->from[k]; i++)
            w->load_rate[(size_t)m * GW_MODEL_MAX_DOF + (size_t)i] = w->dv[x->from[k] + i] / h;
    }
    return any;
}

/*
 * After a trial of the substep without loads, with u the gap rates at its end and g the gaps at
 * its start over the rest penetrations (of those too deep a part, as far as energy that was stored
 * as they sank lasts),
 *
 *   min 1/2 P^T A P + P^T (u + g / h)   over P >= 0
 *
 * (Moreau's time stepping; A: the Delassus operator of all loaded contacts of the group), then
 * friction within mu P, and P again, because friction changes the gap rates. Each system gets half
 * of J^T P as the substep begins, half as it ends. A contact that holds pushes with P / h all
 * through it instead, so that what it bears stands still whatever drives it, and P is found by
 * trials from that of the substep before on. A is that of the whole step, (D + h C + h^2 K)^-1 in
 * place of D^-1 where a system steps implicitly.
 */
gw_loads gw_solve_loads(gw_world *w, double h)
{
    impact x = {
        .world = w, .kind = GW_COLLISION_LOAD, .over = h, .max_rows = GW_MAX_SIMULTANEOUS_CONTACTS};
    double friction[GW_WORLD_MAX_DOF] = {0};
    assert(h > 0);
    for (int i = 0; i < w->system_count; i++)
        x.block[i] = -1;
    add_loaded_rows(&x);
    if (x.rows == 0)
        return GW_LOADS_HELD;
    fill(&x);
    bool hold = loads_hold(&x, h);
    size_t n = (size_t)x.from[x.block_count];
    solve_normal_loads(&x, friction, h);
    memcpy(friction, w->dv, n * sizeof *friction);
    add_friction(&x);
    for (size_t i = 0; i < n; i++)
        friction[i] = w->dv[i] - friction[i];
    solve_normal_loads(&x, friction, h);
    for (size_t i = 0; i < n; i++)
        w->dv[i] += friction[i];
    w->effort += 2 * (1 + x.rows * x.rows / ROWS_PER_EFFORT);
    bool kicks = keep_kicks(&x, h);
    return !hold ? GW_LOADS_BETTER : kicks ? GW_LOADS_FOUND : GW_LOADS_HELD;
}
