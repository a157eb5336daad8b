/*
 * Collisions of an island: who takes part, rows of its Jacobian over the movers, what the impulses
 * do. RT safe.
 */
#include <string.h>

#include "rt/contact/world_private.h"

#define TOUCHES    1e-7 /* gap of what takes part where everything that touches does (m) */
#define CROWD_ROWS 16   /* of a collision in a crowd: what is farther has one of its own */
#define CROWD_REST 10   /* times the rest speed, up to which a spring takes what it is driven by */
#define CROWD_FEW  4    /* of these, as many as are worth a basis of their own */
#define ROWS_WORK  160  /* rows squared that cost as much as a step of a body */
#define RUB_WORK   8    /* contacts rubbed that do */
#define STANDS     1e-9 /* a row whose entries are all smaller moves nothing */

/* ---- rows ----------------------------------------------------------------------------------- */

static void pull(const gw_world *w, int body, gw_vec3 point, gw_vec3 force, double *entries)
{
    const gw_body_state *place = &w->places[body];
    gw_wrench wrench = gw_wrench_at(&place->pose, point, force);
    gw_model_pull_back(gw_world_model(w, place->model), place->index, &wrench, entries);
}

/* Speed that a body has along a direction because it is moved from outside, itself or what carries
 * its model. */
static double speed_along(const gw_world *w, int body, gw_vec3 point, gw_vec3 direction,
                          gw_contact_jacobian_row *row)
{
    const gw_body_state *place = &w->places[body];
    gw_twist twist = place->twist;
    bool moves = place->model < 0 ? place->moves
                                  : gw_model_base_velocity(gw_world_model(w, place->model),
                                                           place->index, &twist);
    row->carried = row->carried || (moves && place->model >= 0);
    return moves ? gw_dot(direction, gw_velocity_at(&place->pose, &twist, point)) : 0;
}

void gw_contact_jacobian(const gw_world *w, const gw_contact *c, gw_vec3 direction, bool a, bool b,
                         gw_contact_jacobian_row *row)
{
    row->mover[0] = a ? c->mover_a : -1;
    row->mover[1] = b ? c->mover_b : -1;
    if (row->mover[0] == row->mover[1])
        row->mover[1] = -1;
    row->offset = 0;
    row->carried = false;
    for (int k = 0; k < 2; k++)
        if (row->mover[k] >= 0)
            memset(row->entry[k], 0,
                   sizeof(double) * (size_t)gw_model_dof(gw_world_model(w, row->mover[k])));
    if (a && c->mover_a >= 0)
        pull(w, c->near.a, c->now.at_a, direction, row->entry[0]);
    if (b && c->mover_b >= 0)
        pull(w, c->near.b, c->now.at_b, gw_neg(direction),
             row->entry[a && c->mover_a == c->mover_b ? 0 : 1]);
    if (a)
        row->offset += speed_along(w, c->near.a, c->now.at_a, direction, row);
    if (b)
        row->offset -= speed_along(w, c->near.b, c->now.at_b, direction, row);
}

double gw_jacobian_row_max(const gw_world *w, const gw_contact_jacobian_row *row)
{
    double most = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; row->mover[k] >= 0 && i < gw_model_dof(gw_world_model(w, row->mover[k]));
             i++)
            most = fmax(most, fabs(row->entry[k][i]));
    return most;
}

double gw_jacobian_row_inverse_mass(const gw_world *w, const gw_contact_jacobian_row *row)
{
    double answer[GW_MODEL_MAX_DOF], sum = 0;
    for (int k = 0; k < 2; k++) {
        if (row->mover[k] < 0)
            continue;
        const gw_model *model = gw_world_model(w, row->mover[k]);
        gw_model_apply_inverse(model, row->entry[k], answer);
        for (int i = 0; i < gw_model_dof(model); i++)
            sum += row->entry[k][i] * answer[i];
    }
    return sum;
}

/* ---- who takes part ------------------------------------------------------------------------- */

bool gw_contact_collides(const gw_world *w, const gw_contact *c)
{
    bool meets = c->now.gap <= GW_CONTACT_CLOSED_GAP && !c->immovable && !c->aside && !c->deferred;
    return meets && (c->struck || !c->continuous) && c->rate < -w->rules.rest_speed;
}

/* What a step bears of a spring is little where the body is light. So that nothing is pressed
 * through it, what approaches beyond a depth is thrown back as it came, once a step. */
static bool too_deep(const gw_contact *c)
{
    return c->continuous && !c->immovable && c->rate < 0 &&
           -c->now.gap - c->slack > gw_contact_max_compression(c);
}

bool gw_island_overcompressed(const gw_world *w)
{
    for (int i = 0; i < w->island.touch_count; i++)
        if (too_deep(&w->touches[w->island.touches[i]]))
            return true;
    return false;
}

static bool takes_part(const gw_world *w, const gw_contact *c, gw_collision_kind kind)
{
    double rest = w->rules.rest_speed;
    if (c->immovable || c->aside || c->now.gap > TOUCHES)
        return false;
    if (kind == GW_COLLISION_OVERCOMPRESSED)
        return c->rate < 0;
    return w->rules.colliding == GW_COLLIDING_TOUCHING ? c->rate < rest : c->rate < -rest;
}

/* ---- a collision ---------------------------------------------------------------------------- */

/* What is being resolved: the movers in it, one behind the other. */
typedef struct impact {
    gw_world *world;
    gw_collision_kind kind;
    int rows, room, mover_count;
    int movers[GW_MAX_MODELS], from[GW_MAX_MODELS + 1]; /* first entry of each, and the end */
    int seat[GW_MAX_MODELS];                            /* by mover: its place among them; -1 */
    int touch[GW_MAX_SIMULTANEOUS_CONTACTS],
        of[GW_MAX_SIMULTANEOUS_CONTACTS][2]; /* of each row: contact, movers' places */
    double e[GW_MAX_SIMULTANEOUS_CONTACTS], offset[GW_MAX_SIMULTANEOUS_CONTACTS],
        p[GW_MAX_SIMULTANEOUS_CONTACTS];
} impact;

static void inverse(const void *context, int block, const double *force, double *answer)
{
    const impact *x = context;
    gw_model_apply_inverse(gw_world_model(x->world, x->movers[block]), force, answer);
}

/* Finds room for a row's movers; false where there is none. */
static bool seat(impact *x, const gw_contact_jacobian_row *row)
{
    int count = x->mover_count;
    for (int k = 0; k < 2; k++) {
        int m = row->mover[k];
        if (m < 0 || x->seat[m] >= 0)
            continue;
        int end = x->from[x->mover_count] + gw_model_dof(gw_world_model(x->world, m));
        if (end > GW_WORLD_MAX_DOF) {
            while (x->mover_count > count)
                x->seat[x->movers[--x->mover_count]] = -1;
            return false;
        }
        x->seat[m] = x->mover_count;
        x->movers[x->mover_count++] = m;
        x->from[x->mover_count] = end;
    }
    return true;
}

static double restitution(const impact *x, const gw_contact *c)
{
    if (x->kind == GW_COLLISION_OVERCOMPRESSED)
        return c->stopped ? 1 : 0;
    return x->kind == GW_COLLISION_PLASTIC || c->again ? 0 : c->near.surface.restitution;
}

/* No impulse parts what touches: it would have to go where no mover leads. */
static bool held_fast(const gw_world *w, const gw_contact_jacobian_row *row)
{
    double kinetic, potential, sum = 0;
    if (gw_jacobian_row_max(w, row) <= STANDS)
        return true;
    for (int k = 0; k < 2 && row->carried; k++) {
        if (row->mover[k] < 0)
            continue;
        gw_model_energy(gw_world_model(w, row->mover[k]), &kinetic, &potential);
        sum += kinetic;
    }
    return row->carried && gw_row_wedged(row->offset, gw_jacobian_row_inverse_mass(w, row), sum);
}

static void add_row(impact *x, int touch, bool a, bool b)
{
    gw_world *w = x->world;
    gw_contact *c = &w->touches[touch];
    if (x->rows == x->room)
        return;
    gw_contact_jacobian_row *row = &w->row[x->rows];
    gw_contact_jacobian(w, c, c->now.normal, a, b, row);
    if (held_fast(w, row)) {
        c->immovable = c->immovable || (a && b);
        return;
    }
    if (!seat(x, row))
        return;
    x->touch[x->rows] = touch;
    for (int k = 0; k < 2; k++)
        x->of[x->rows][k] = row->mover[k] >= 0 ? x->seat[row->mover[k]] : -1;
    x->offset[x->rows] = row->offset;
    x->e[x->rows++] = restitution(x, c);
}

/* eq. 11, or (12) and (13) for two links of one mover */
static void add_touch(impact *x, int touch)
{
    const gw_world *w = x->world;
    const gw_contact *c = &w->touches[touch];
    bool each = w->rules.self_each_link && c->mover_a == c->mover_b && c->mover_a >= 0;
    add_row(x, touch, true, !each);
    if (each)
        add_row(x, touch, false, true);
}

/* Movers whose contacts have a part in it, in the order in which they came to: a layer at a time.
 */
typedef struct reached {
    int count, movers[GW_MAX_MODELS];
    bool known[GW_MAX_MODELS],
        in[2 * GW_MAX_CONTACT_CANDIDATES]; /* by mover; by touch: it was asked */
} reached;

static void reach(reached *r, const gw_contact *c)
{
    int mover[2] = {c->mover_a, c->mover_b};
    for (int k = 0; k < 2; k++)
        if (mover[k] >= 0 && !r->known[mover[k]]) {
            r->known[mover[k]] = true;
            r->movers[r->count++] = mover[k];
        }
}

/* Takes what sets it off. */
static void set_off(impact *x, reached *r)
{
    gw_world *w = x->world;
    for (int i = 0; i < w->island.touch_count; i++) {
        gw_contact *c = &w->touches[w->island.touches[i]];
        c->stopped = c->stopped || (x->kind == GW_COLLISION_OVERCOMPRESSED && too_deep(c));
        bool first =
            x->kind == GW_COLLISION_OVERCOMPRESSED ? c->stopped : gw_contact_collides(w, c);
        if (!first || !takes_part(w, c, x->kind))
            continue;
        r->in[w->island.touches[i]] = true;
        add_touch(x, w->island.touches[i]);
        reach(r, c);
    }
}

/* What the mover touches takes part as well. */
static void spread(impact *x, reached *r, int mover)
{
    gw_world *w = x->world;
    for (int i = w->touches_of.first[mover]; i >= 0; i = w->touches_of.next[i]) {
        int touch = w->touches_of.of[i];
        const gw_contact *c = &w->touches[touch];
        bool inside = !gw_contact_both_dynamic(c) || w->group[c->mover_a] == w->group[c->mover_b];
        if (r->in[touch] || c->aside || c->now.gap > TOUCHES || !inside)
            continue;
        r->in[touch] = true;
        if (takes_part(w, c, x->kind))
            add_touch(x, touch);
        reach(r, c);
    }
}

/* What sets it off, and all that hangs together with that by touching: where there are too many
 * rows the farthest are left to a collision of their own. */
static void gather(impact *x)
{
    gw_world *w = x->world;
    reached r = {.count = 0};
    set_off(x, &r);
    for (int i = 0; i < r.count && x->rows < x->room; i++)
        spread(x, &r, r.movers[i]);
    for (int i = 0; w->whole.mover_count <= GW_ISLAND_SMALL && i < w->island.touch_count; i++) {
        int touch = w->island.touches[i];
        if (!r.in[touch] && takes_part(w, &w->touches[touch], x->kind))
            add_touch(x, touch);
    }
}

/* Rows and velocities over the movers that are in it. */
static void fill(const impact *x)
{
    gw_world *w = x->world;
    size_t n = (size_t)x->from[x->mover_count];
    for (int i = 0; i < x->rows; i++)
        for (int k = 0; k < 2; k++) {
            int m = w->row[i].mover[k];
            if (m >= 0)
                memcpy(w->rows + (size_t)i * n + x->from[x->seat[m]], w->row[i].entry[k],
                       sizeof(double) * (size_t)gw_model_dof(gw_world_model(w, m)));
        }
    for (int k = 0; k < x->mover_count; k++)
        gw_model_velocity(gw_world_model(w, x->movers[k]), w->v + x->from[k]);
}

/* Gives the movers what the collision did to them. */
static void strike(const impact *x)
{
    gw_world *w = x->world;
    for (int k = 0; k < x->mover_count; k++) {
        int m = x->movers[k], at = x->from[k];
        gw_world_system *mover = &w->movers[m];
        int n = gw_model_dof(mover->model);
        w->felt[m] = true;
        gw_model_kick(mover->model, w->dv + at);
        for (int i = 0; i < n; i++) {
            mover->impulse[i] += w->generalised[at + i];
            mover->collided = mover->collided || w->generalised[at + i] != 0;
        }
    }
    for (int i = 0; i < x->rows; i++) {
        gw_contact *c = &w->touches[x->touch[i]];
        c->impulse += x->p[i];
        c->hit = c->hit || (x->p[i] != 0 && x->kind != GW_COLLISION_OVERCOMPRESSED);
        w->moved -= x->p[i] * x->offset[i];
    }
}

/* ---- friction of a collision ---------------------------------------------------------------- */

static void put_row(const gw_world *w, const impact *x, const gw_contact_jacobian_row *row,
                    double *entries, int of[2], double *offset)
{
    for (int k = 0; k < 2; k++) {
        int m = row->mover[k];
        of[k] = m >= 0 ? x->seat[m] : -1;
        if (m >= 0)
            memcpy(entries + x->from[of[k]], row->entry[k],
                   sizeof(double) * (size_t)gw_model_dof(gw_world_model(w, m)));
    }
    *offset = row->offset;
}

/* Those that push hold one another back across their normals: Coulomb's law, of impulses. The two
 * links of one mover (eq. 12, 13) have none. */
static void rub(const impact *x)
{
    gw_world *w = x->world;
    size_t n = (size_t)x->from[x->mover_count];
    int count = 0, of[2 * GW_MAX_SIMULTANEOUS_CONTACTS][2];
    double limit[GW_MAX_SIMULTANEOUS_CONTACTS], offset[2 * GW_MAX_SIMULTANEOUS_CONTACTS],
        p[2 * GW_MAX_SIMULTANEOUS_CONTACTS];
    for (int i = 0; i < x->rows; i++) {
        const gw_contact *c = &w->touches[x->touch[i]];
        limit[count] = c->near.surface.friction * x->p[i];
        if (!(limit[count] > 0) || (w->rules.self_each_link && c->mover_a == c->mover_b))
            continue;
        gw_vec3 t[2] = {gw_any_normal(c->now.normal)};
        t[1] = gw_cross(c->now.normal, t[0]);
        for (int k = 0; k < 2; k++) {
            int at = 2 * count + k;
            gw_contact_jacobian(w, c, t[k], true, true, &w->row[0]);
            put_row(w, x, &w->row[0], w->rows + (size_t)at * n, of[at], &offset[at]);
        }
        count++;
    }
    gw_impulse_problem problem = {.rows = 2 * count,
                                  .dof = (int)n,
                                  .blocks = x->mover_count,
                                  .from = x->from,
                                  .of = (const int(*)[2])of,
                                  .j = w->rows,
                                  .v = w->v,
                                  .offset = offset,
                                  .inverse = inverse,
                                  .context = x};
    int sweeps = gw_impulse_friction(&problem, limit, w->work.memory, w->dv, w->generalised, p);
    for (int i = 0; i < 2 * count; i++)
        w->moved -= p[i] * offset[i];
    w->effort += sweeps * count / RUB_WORK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* The mover's bodies go on where they are, with what it has now. */
static void hit(gw_world *w, int mover)
{
    const gw_model *model = gw_world_model(w, mover);
    bool one = gw_model_bodies(model) == 1, more = true;
    for (int i = w->couples_of.first[mover]; i >= 0 && more; i = w->couples_of.next[i]) {
        const gw_collision_pair *c = &w->couples[w->couples_of.of[i]];
        for (int k = 0; k < 2; k++) {
            gw_body_state *p = &w->places[k == 0 ? c->a : c->b];
            if ((k == 0 ? c->mover_a : c->mover_b) == mover)
                gw_model_body(model, p->index, &p->pose, &p->twist);
        }
        more = !one;
    }
}

/* Whether it still approaches, or rests. What is driven slowly in a crowd is left to its spring. */
static void settle_touch(gw_world *w, gw_contact *c)
{
    double before = c->rate, rest = w->rules.rest_speed;
    bool crowd = w->whole.mover_count > GW_ISLAND_SMALL;
    gw_contact_update_gap(w, c);
    c->struck = c->rate < (crowd ? -CROWD_REST : -1) * rest && c->rate < before - 1e-9;
    if (c->now.gap <= GW_CONTACT_CLOSED_GAP && c->hit && !c->continuous && fabs(c->rate) < rest)
        gw_contact_make_continuous(w, c);
}

/* Who was hit, and what it touches: nothing has moved but speeds. */
static void settle(const impact *x)
{
    gw_world *w = x->world;
    for (int k = 0; k < x->mover_count; k++)
        hit(w, x->movers[k]);
    for (int k = 0; k < x->mover_count; k++) {
        int m = x->movers[k];
        for (int i = w->touches_of.first[m]; i >= 0; i = w->touches_of.next[i]) {
            gw_contact *c = &w->touches[w->touches_of.of[i]];
            int other = gw_other_system(m, c->mover_a, c->mover_b);
            bool inside = other < 0 || w->group[other] == w->group[m];
            bool again = other >= 0 && other != m && x->seat[other] >= 0 && m != c->mover_a;
            if (inside && !again)
                settle_touch(w, c);
        }
    }
}

void gw_resolve_collision(gw_world *w, gw_collision_kind kind)
{
    bool crowd = w->whole.mover_count > GW_ISLAND_SMALL;
    impact x = {
        .world = w, .kind = kind, .room = crowd ? CROWD_ROWS : GW_MAX_SIMULTANEOUS_CONTACTS};
    for (int i = 0; i < w->mover_count; i++)
        x.seat[i] = -1;
    gather(&x);
    if (x.rows == 0)
        return;
    fill(&x);
    gw_impulse_problem problem = {.rows = x.rows,
                                  .dof = x.from[x.mover_count],
                                  .blocks = x.mover_count,
                                  .from = x.from,
                                  .of = (const int(*)[2])x.of,
                                  .j = w->rows,
                                  .v = w->v,
                                  .e = x.e,
                                  .offset = x.offset,
                                  .few = crowd ? CROWD_FEW : 0,
                                  .only_push = kind == GW_COLLISION_OVERCOMPRESSED ||
                                               w->rules.impulse == GW_IMPULSE_NON_ADHESIVE,
                                  .inverse = inverse,
                                  .context = &x};
    gw_impulse_solve(&problem, &w->work, w->dv, w->generalised, x.p);
    if (w->rules.impact_friction && kind != GW_COLLISION_OVERCOMPRESSED)
        rub(&x);
    strike(&x);
    w->touched = true;
    w->effort += 1 + (crowd ? x.rows : x.rows * x.rows / ROWS_WORK);
    settle(&x);
}
