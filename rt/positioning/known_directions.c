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

static bool is_along(const gw_solver *solver, gw_vec3 a, gw_vec3 unit)
{
    return gw_norm2(gw_cross(a, unit)) <=
           solver->direction_snap * solver->direction_snap * gw_norm2(a);
}

/* A surface of the body as one of the world: n . R^T (F - X) = 0 is (R n) . (X(m) - F) = 0. */
static bool take_over(const gw_solver *solver, gw_solver_state *state,
                      gw_distance_constraint *place)
{
    gw_vec3 d = place->d;
    bool known = place->surface == GW_POINT;
    if (state->rotation_known) {
        d = gw_rotate(state->rotation, place->d);
        known = true;
    }
    for (int i = 0; i < state->angle_count && !known; i++) {
        const gw_angle_constraint *k = &state->angles[i];
        if (k->angle == 0 && is_along(solver, place->d, k->u)) {
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
static bool plane_slides(const gw_solver *solver, const gw_solver_state *state,
                         const gw_distance_constraint *y)
{
    for (int i = 0; i < state->angle_count && y->surface == GW_PLANE; i++) {
        const gw_angle_constraint *k = &state->angles[i];
        if (k->angle == 0 && is_along(solver, y->d, y->body_owns ? k->u : k->f))
            return true;
    }
    return false;
}

/* The surface's displacement that makes up for a step of its point. */
static bool shift_of(const gw_solver *solver, const gw_solver_state *state,
                     const gw_distance_constraint *y, gw_vec3 step, gw_vec3 *shift)
{
    if (state->rotation_known) {
        *shift =
            y->body_owns ? gw_unrotate(state->rotation, step) : gw_rotate(state->rotation, step);
        return true;
    }
    for (int i = 0; i < state->angle_count; i++) {
        const gw_angle_constraint *k = &state->angles[i];
        gw_vec3 here = y->body_owns ? k->f : k->u, there = y->body_owns ? k->u : k->f;
        bool plane = y->surface == GW_PLANE && is_along(solver, y->d, there);
        if (plane ? k->angle == 0 || is_along(solver, step, here)
                  : k->angle == 0 && is_along(solver, step, here)) {
            *shift = gw_scale(gw_dot(step, here) * k->cosine, there);
            return true;
        }
    }
    return false;
}

/* A line along a pinned direction takes the place of its point nearest to `plane_point`. */
static void slide_line(const gw_solver *solver, const gw_solver_state *state,
                       gw_distance_constraint *line, gw_vec3 plane_point)
{
    for (int i = 0; i < state->angle_count && line->surface == GW_LINE; i++) {
        const gw_angle_constraint *k = &state->angles[i];
        gw_vec3 here = line->body_owns ? k->f : k->u, there = line->body_owns ? k->u : k->f;
        if (k->angle == 0 && is_along(solver, line->d, there)) {
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

static bool together(const gw_solver *solver, const gw_distance_constraint *x,
                     const gw_distance_constraint *y)
{
    return x->body_owns == y->body_owns && gw_distance(x->a, y->a) <= solver->snap;
}

/* True when a place other than i and j is at the point of place i. */
static bool has_company(const gw_solver *solver, const gw_solver_state *state, int i, int j)
{
    for (int k = 0; k < state->distance_count; k++)
        if (k != i && k != j && together(solver, &state->distances[i], &state->distances[k]))
            return true;
    return false;
}

/* Moves place j onto the point of another that it follows. `slides`: the planes whose points do. */
static bool gather(const gw_solver *solver, gw_solver_state *state, const bool *slides, int j)
{
    gw_distance_constraint *y = &state->distances[j];
    for (int i = 0; i < state->distance_count; i++)
        if (i != j && follows(slides, j, i) && together(solver, &state->distances[i], y))
            return false;
    for (int i = 0; i < state->distance_count; i++) {
        gw_distance_constraint *x = &state->distances[i];
        gw_vec3 shift;
        if (i == j || x->body_owns != y->body_owns || !follows(slides, j, i) ||
            !shift_of(solver, state, y, gw_sub(x->a, y->a), &shift))
            continue;
        if (slides[j] && !has_company(solver, state, i, j)) {
            slide_line(solver, state, x, y->a);
            shift_of(solver, state, y, gw_sub(x->a, y->a), &shift);
        }
        y->a = x->a;
        y->b = gw_add(y->b, shift);
        for (int k = 0; k < state->angle_count; k++)
            y->from |= state->angles[k].from;
        y->from |= state->rotation_known ? state->rotation_from : 0;
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

bool gw_use_known_directions(const gw_solver *solver, gw_solver_state *state, unsigned long *from)
{
    bool changed = false, slides[GW_MAX_DISTANCES];
    if (state->angle_count == 0 && !state->rotation_known)
        return false;
    for (int i = 0; i < state->distance_count; i++) {
        bool moved =
            state->distances[i].body_owns && take_over(solver, state, &state->distances[i]);
        renamed(state, &state->distances[i], moved);
        *from |= moved ? state->distances[i].from : 0;
        changed |= moved;
    }
    for (int i = 0; i < state->distance_count; i++)
        slides[i] = plane_slides(solver, state, &state->distances[i]);
    for (int j = 0; j < state->distance_count; j++) {
        bool moved = gather(solver, state, slides, j);
        renamed(state, &state->distances[j], moved);
        *from |= moved ? state->distances[j].from : 0;
        changed |= moved;
    }
    return changed;
}
