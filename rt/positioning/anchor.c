/*
 * What known directions allow: a surface whose direction is pinned in the other frame is the other
 * side's as well; a point may be exchanged for another one of its object, the surface moved along,
 * where the step between them has a known image. Any thread, RT safe.
 *
 *   R known            every step
 *   R u = f            steps along u, for any surface; any step for a plane with normal along f,
 *                      which the component along u moves; a point slides along u on a line along f
 *   angle(R u, f)      steps along u, for a plane with normal along f: moved by cos(angle)
 */
#include "rt/positioning/solver.h"

static bool is_along(const gw_solver *run, gw_vec3 a, gw_vec3 unit)
{
    return gw_norm2(gw_cross(a, unit)) <= run->same_angle * run->same_angle * gw_norm2(a);
}

/* A surface of the body as one of the world: n . R^T (F - X) = 0 is (R n) . (X(m) - F) = 0. */
static bool take_over(const gw_solver *run, gw_solver_state *state, gw_distance_constraint *place)
{
    gw_vec3 d = place->d;
    bool known = place->surface == GW_POINT;
    if (state->fixed) {
        d = gw_rotate(state->rotation, place->d);
        known = true;
    }
    for (int i = 0; i < state->direction_count && !known; i++) {
        const gw_angle_constraint *k = &state->directions[i];
        if (k->angle == 0 && is_along(run, place->d, k->u)) {
            d = gw_scale(gw_dot(place->d, k->u) < 0 ? -1 : 1, k->f);
            known = true;
        }
    }
    if (!known)
        return false;
    gw_vec3 body_point = place->b;
    place->b = place->a;
    place->a = body_point;
    place->d = d;
    place->body_owns = false;
    return true;
}

/* True when the plane's normal is pinned, so that its point may be any. */
static bool plane_slides(const gw_solver *run, const gw_solver_state *state,
                         const gw_distance_constraint *y)
{
    for (int i = 0; i < state->direction_count && y->surface == GW_PLANE; i++) {
        const gw_angle_constraint *k = &state->directions[i];
        if (k->angle == 0 && is_along(run, y->d, y->body_owns ? k->u : k->f))
            return true;
    }
    return false;
}

/* The surface's displacement that makes up for a step of its point. */
static bool shift_of(const gw_solver *run, const gw_solver_state *state,
                     const gw_distance_constraint *y, gw_vec3 step, gw_vec3 *shift)
{
    if (state->fixed) {
        *shift =
            y->body_owns ? gw_unrotate(state->rotation, step) : gw_rotate(state->rotation, step);
        return true;
    }
    for (int i = 0; i < state->direction_count; i++) {
        const gw_angle_constraint *k = &state->directions[i];
        gw_vec3 here = y->body_owns ? k->f : k->u, there = y->body_owns ? k->u : k->f;
        bool plane = y->surface == GW_PLANE && is_along(run, y->d, there);
        if (plane ? k->angle == 0 || is_along(run, step, here)
                  : k->angle == 0 && is_along(run, step, here)) {
            *shift = gw_scale(gw_dot(step, here) * k->cosine, there);
            return true;
        }
    }
    return false;
}

/* A line along a pinned direction takes the place of its point nearest to `plane_point`. */
static void slide_line(const gw_solver *run, const gw_solver_state *state,
                       gw_distance_constraint *line, gw_vec3 plane_point)
{
    for (int i = 0; i < state->direction_count && line->surface == GW_LINE; i++) {
        const gw_angle_constraint *k = &state->directions[i];
        gw_vec3 here = line->body_owns ? k->f : k->u, there = line->body_owns ? k->u : k->f;
        if (k->angle == 0 && is_along(run, line->d, there)) {
            line->a = gw_mul_add(line->a, gw_dot(gw_sub(plane_point, line->a), here), here);
            return;
        }
    }
}

/* Points that are free to move follow those that are not; of equals, the later one follows. */
static bool follows(const bool *slides, int j, int i)
{
    return slides[j] != slides[i] ? slides[j] : i < j;
}

static bool together(const gw_solver *run, const gw_distance_constraint *x,
                     const gw_distance_constraint *y)
{
    return x->body_owns == y->body_owns && gw_distance(x->a, y->a) <= run->snap;
}

/* True when a place other than i and j is at the point of place i. */
static bool has_company(const gw_solver *run, const gw_solver_state *state, int i, int j)
{
    for (int k = 0; k < state->place_count; k++)
        if (k != i && k != j && together(run, &state->places[i], &state->places[k]))
            return true;
    return false;
}

/* Moves place j onto the point of another that it follows. `slides`: the planes whose points do. */
static bool gather(const gw_solver *run, gw_solver_state *state, const bool *slides, int j)
{
    gw_distance_constraint *y = &state->places[j];
    for (int i = 0; i < state->place_count; i++)
        if (i != j && follows(slides, j, i) && together(run, &state->places[i], y))
            return false;
    for (int i = 0; i < state->place_count; i++) {
        gw_distance_constraint *x = &state->places[i];
        gw_vec3 shift;
        if (i == j || x->body_owns != y->body_owns || !follows(slides, j, i) ||
            !shift_of(run, state, y, gw_sub(x->a, y->a), &shift))
            continue;
        if (slides[j] && !has_company(run, state, i, j)) {
            slide_line(run, state, x, y->a);
            shift_of(run, state, y, gw_sub(x->a, y->a), &shift);
        }
        y->a = x->a;
        y->b = gw_add(y->b, shift);
        for (int k = 0; k < state->direction_count; k++)
            y->from |= state->directions[k].from;
        y->from |= state->fixed ? state->fixed_from : 0;
        return true;
    }
    return false;
}

/* A place that moved is another one: rules that were done with its pairs look at them again. */
static void renamed(gw_solver_state *state, gw_distance_constraint *place, bool moved)
{
    if (moved)
        place->serial = ++state->serial;
}

bool gw_use_known_directions(const gw_solver *run, gw_solver_state *state, unsigned long *from)
{
    bool changed = false, slides[GW_MAX_DISTANCES];
    if (state->direction_count == 0 && !state->fixed)
        return false;
    for (int i = 0; i < state->place_count; i++) {
        bool moved = state->places[i].body_owns && take_over(run, state, &state->places[i]);
        renamed(state, &state->places[i], moved);
        *from |= moved ? state->places[i].from : 0;
        changed |= moved;
    }
    for (int i = 0; i < state->place_count; i++)
        slides[i] = plane_slides(run, state, &state->places[i]);
    for (int j = 0; j < state->place_count; j++) {
        bool moved = gather(run, state, slides, j);
        renamed(state, &state->places[j], moved);
        *from |= moved ? state->places[j].from : 0;
        changed |= moved;
    }
    return changed;
}
