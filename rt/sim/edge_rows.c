/*
 * Edges of free-form surfaces and ends of curves in the closures of a scene's systems, as rows of
 * the contact world (rt/contact/unilateral_row.h): inelastic stops. Creation is outside the tick;
 * all else is RT safe.
 *
 * An edge's row is active only while the contact is near it.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "rt/sim/scene_dynamics_private.h"

#define NEAR_GAP   0.01 /* m: distance at which a row is active, */
#define NEAR_STEPS 4    /* or that the contact moves in so many steps */

/* ---- building -------------------------------------------------------------------------------- */

/* The body of the world of a closure's end; -1: a mechanism's base, which has none. */
static int body_of(const gw_dynamic_system *d, int end, int ground)
{
    if (end >= 0)
        return end < d->body_count ? d->numbers[end] : -1;
    return end == GW_GROUND ? ground : d->grounds[GW_MOVING_GROUND(end)].object;
}

/* The frame of a closure's end in the system, in that of the body of the world. Rows are given
 * where the scene is laid out: there the frame of a ground is the world's. */
static gw_pose frame_of(const gw_dynamic_system *d, int end)
{
    return end < GW_GROUND ? gw_pose_inverse(&d->grounds[GW_MOVING_GROUND(end)].start)
                           : gw_pose_identity();
}

/* The edges of a closure between bodies of the world; returns their number. */
static int edges_of(const gw_dynamic_system *d, int closure, gw_system_edge edges[GW_SYSTEM_EDGES])
{
    int a, b;
    gw_system_closure_ends(d->system, closure, &a, &b);
    if (body_of(d, a, 0) < 0 || body_of(d, b, 0) < 0 ||
        gw_model_dof(gw_system_model(d->system)) > GW_MODEL_MAX_DOF)
        return 0;
    return gw_system_edges(d->system, closure, edges);
}

static int count_edges(const gw_scene_dynamics *m)
{
    gw_system_edge edges[GW_SYSTEM_EDGES];
    int count = 0;
    for (int i = 0; i < m->system_count; i++)
        for (int k = 0; k < gw_system_closure_count(m->systems[i].system); k++)
            count += edges_of(&m->systems[i], k, edges);
    return count;
}

bool gw_edge_rows_create(gw_scene_dynamics *m)
{
    gw_edge_rows *e = &m->edges;
    int count = count_edges(m);
    *e = (gw_edge_rows){.of = calloc((size_t)count + 1, sizeof *e->of),
                        .candidates = calloc((size_t)count + 1, sizeof *e->candidates),
                        .most = count};
    return e->of && e->candidates;
}

static void add_edge(gw_scene_dynamics *m, int system, const gw_system_edge *edge, int ground)
{
    gw_edge_rows *e = &m->edges;
    const gw_dynamic_system *d = &m->systems[system];
    gw_edge_row *r = &e->of[e->count];
    int a, b;
    gw_system_closure_ends(d->system, edge->closure, &a, &b);
    *r = (gw_edge_row){.system = system,
                       .row = {.kind = GW_UNILATERAL_EDGE,
                               .system = d->system,
                               .edge = *edge,
                               .b_from_end = frame_of(d, b),
                               .owned = e->count},
                       .before = INFINITY};
    uint64_t which = (uint64_t)(2 * edge->side + edge->direction) * 2 + edge->high;
    e->candidates[e->count++] =
        (gw_contact_candidate){.key = d->names[a] ^ (8 * (uint64_t)edge->closure + which + 1),
                               .a = body_of(d, a, ground),
                               .b = body_of(d, b, ground),
                               .row = &r->row};
}

void gw_edge_rows_build(gw_scene_dynamics *m, int ground)
{
    gw_system_edge edges[GW_SYSTEM_EDGES];
    for (int i = 0; i < m->system_count; i++) {
        gw_system *s = m->systems[i].system;
        for (int k = 0; k < gw_system_closure_count(s); k++) {
            int count = edges_of(&m->systems[i], k, edges);
            for (int j = 0; j < count; j++)
                add_edge(m, i, &edges[j], ground);
            if (count > 0)
                gw_system_disable_edge_springs(s, k);
        }
    }
    assert(m->edges.count == m->edges.most);
}

void gw_edge_rows_destroy(gw_edge_rows *e)
{
    free(e->of);
    free(e->candidates);
}

/* ---- a step ---------------------------------------------------------------------------------- */

void gw_edge_rows_reset(gw_edge_rows *e)
{
    for (int i = 0; i < e->count; i++)
        e->of[i].before = INFINITY;
}

void gw_edge_rows_pre_step(gw_scene_dynamics *m, double dt)
{
    assert(m && dt > 0);
    gw_edge_rows *e = &m->edges;
    int followed = m->limits.followed; /* limits and edges share the room */
    for (int i = 0; i < e->count; i++) {
        gw_edge_row *r = &e->of[i];
        double gap = gw_system_edge_distance(r->row.system, &r->row.edge);
        double came = isfinite(r->before) ? fabs(gap - r->before) : 0; /* in the step before */
        bool follow = gap < NEAR_GAP + NEAR_STEPS * came && followed < GW_MAX_WORLD_UNILATERALS;
        followed += follow;
        r->before = gap;
        gw_world_follow(m->world, e->first + i, follow);
    }
}

int gw_edge_rows_touching(const gw_edge_rows *e)
{
    for (int i = 0; i < e->count; i++)
        if (e->of[i].now.touches)
            return i;
    return -1;
}
