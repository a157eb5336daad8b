/*
 * The use of known directions: a surface whose direction is pinned in the other frame is a surface
 * of the other object as well; and the point of a distance may be exchanged for another point of
 * its object, with the surface displaced accordingly, if the image of the step between the points
 * is known. Distances can then share a point, whatever points they were stated with. Any thread, RT
 * safe.
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
static bool move_to_world(const gw_solver *solver, gw_solver_state *state,
                          gw_distance_constraint *x)
{
    gw_vec3 d = x->d;
    bool known = x->surface == GW_POINT;
    if (gw_is_free_form(x->surface))
        return false;
    if (state->rotation_known) {
        d = gw_rotate(state->rotation, x->d);
        known = true;
    }
    for (int i = 0; i < state->angle_count && !known; i++) {
        const gw_angle_constraint *k = &state->angles[i];
        if (k->angle == 0 && is_along(solver, x->d, k->u)) {
            d = gw_scale(gw_dot(x->d, k->u) < 0 ? -1 : 1, k->f);
            known = true;
        }
    }
    if (!known)
        return false;
    gw_vec3 body_point = x->b;
    x->b = x->a;
    x->a = body_point;
    x->d = d;
    x->body_owns = false;
    return true;
}

/* True when the surface is a plane with pinned normal, so that its point may be any. */
static bool is_sliding_plane(const gw_solver *solver, const gw_solver_state *state,
                             const gw_distance_constraint *y)
{
    for (int i = 0; i < state->angle_count && y->surface == GW_PLANE; i++) {
        const gw_angle_constraint *k = &state->angles[i];
        if (k->angle == 0 && is_along(solver, y->d, y->body_owns ? k->u : k->f))
            return true;
    }
    return false;
}

/* The displacement of the surface that compensates for a step of its point; false where it is not
 * known. */
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

/* Slides the point of a line along a pinned direction to where it is nearest to `plane_point`. */
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
static bool moves_after(const bool *slides, int j, int i)
{
    return slides[j] != slides[i] ? slides[j] : i < j;
}

static bool share_point(const gw_solver *solver, const gw_distance_constraint *x,
                        const gw_distance_constraint *y)
{
    return x->body_owns == y->body_owns && gw_distance(x->a, y->a) <= solver->snap;
}

/* True when a distance other than i and j has the point of distance i. */
static bool point_is_shared(const gw_solver *solver, const gw_solver_state *state, int i, int j)
{
    for (int k = 0; k < state->distance_count; k++)
        if (k != i && k != j && share_point(solver, &state->distances[i], &state->distances[k]))
            return true;
    return false;
}

/* Moves the point of distance j to the point of another one. `slides`: planes whose points are free
 * to slide. */
static bool move_onto_another(const gw_solver *solver, gw_solver_state *state, const bool *slides,
                              int j)
{
    gw_distance_constraint *y = &state->distances[j];
    for (int i = 0; i < state->distance_count; i++)
        if (i != j && moves_after(slides, j, i) && share_point(solver, &state->distances[i], y))
            return false;
    for (int i = 0; i < state->distance_count; i++) {
        gw_distance_constraint *x = &state->distances[i];
        gw_vec3 shift;
        if (i == j || x->body_owns != y->body_owns || !moves_after(slides, j, i) ||
            !shift_of(solver, state, y, gw_sub(x->a, y->a), &shift))
            continue;
        if (slides[j] && !point_is_shared(solver, state, i, j)) {
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

/* Gives a changed distance a new serial, so that rules apply to its pairs again. */
static void renew_constraint(gw_solver_state *state, gw_distance_constraint *distance, bool changed)
{
    if (changed)
        distance->serial = ++state->serial;
}

bool gw_use_known_directions(const gw_solver *solver, gw_solver_state *state, unsigned long *from)
{
    bool changed = false, slides[GW_MAX_DISTANCES];
    if (state->angle_count == 0 && !state->rotation_known)
        return false;
    for (int i = 0; i < state->distance_count; i++) {
        bool moved =
            state->distances[i].body_owns && move_to_world(solver, state, &state->distances[i]);
        renew_constraint(state, &state->distances[i], moved);
        *from |= moved ? state->distances[i].from : 0;
        changed |= moved;
    }
    for (int i = 0; i < state->distance_count; i++)
        slides[i] = is_sliding_plane(solver, state, &state->distances[i]);
    for (int j = 0; j < state->distance_count; j++) {
        bool moved = move_onto_another(solver, state, slides, j);
        renew_constraint(state, &state->distances[j], moved);
        *from |= moved ? state->distances[j].from : 0;
        changed |= moved;
    }
    return changed;
}
