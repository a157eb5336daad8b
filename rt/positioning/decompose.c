/*
 * Input constraints to fundamental ones (relational-positioning Table I). Any thread, RT safe.
 *
 *   d(P, S) = p            place of P on S
 *   d(L_m, L_f) = p        place of a point of L_m about L_f, and d_m along d_f
 *   d(L, Pi) = p           place of a point of L on Pi moved by p, and L across its normal
 *   d(Pi_m, Pi_f) = p      place of a point of Pi_m on Pi_f moved by p, and normals along
 *   angle(..) = alpha      angle of directions; pi/2 - alpha between a line and a plane's normal
 *
 * Distances to planes are signed along the normal: the place's plane is the given one, moved.
 */
#include <string.h>

#include "rt/positioning/solver.h"

double gw_snapped_angle(double angle)
{
    return angle <= GW_SNAP_ALONG ? 0 : angle >= GW_PI - GW_SNAP_ALONG ? GW_PI : angle;
}

gw_angle_constraint gw_angle_constraint_of(gw_vec3 u, gw_vec3 f, double angle, unsigned long from)
{
    angle = gw_snapped_angle(angle);
    if (angle == GW_PI)
        return (gw_angle_constraint){gw_neg(u), f, 0, 1, from};
    if (angle == 0)
        return (gw_angle_constraint){u, f, 0, 1, from};
    double cosine = fabs(angle - GW_PI / 2) < 1e-15 ? 0 : cos(angle);
    return (gw_angle_constraint){u, f, angle, cosine, from};
}

/* The place of one element's point on the other element's surface. `fixed_surface` tells which
 * side owns the surface; planes are moved by `value` along their normal. */
static gw_distance_constraint place_of(const gw_constraint *c, bool fixed_surface, double value,
                                       unsigned long from)
{
    const gw_element *surface = fixed_surface ? &c->fixed : &c->mobile;
    const gw_element *point = fixed_surface ? &c->mobile : &c->fixed;
    gw_distance_constraint p = {surface->kind, !fixed_surface, point->p, surface->p,
                                surface->d,    value,          from,     0};
    if (surface->kind == GW_PLANE) {
        p.b = gw_mul_add(surface->p, value, surface->d);
        p.p = 0;
    }
    return p;
}

static void add_angle(gw_solver_state *state, const gw_constraint *c, double angle,
                      unsigned long from)
{
    gw_angle_constraint d = gw_angle_constraint_of(c->mobile.d, c->fixed.d, angle, from);
    gw_add_angle(state, &d);
}

/* Angle of the directions that makes "along" of the sense. */
static double along(gw_sense sense)
{
    return sense == GW_OPPOSITE ? GW_PI : 0;
}

static void decompose_distance(const gw_solver *run, gw_solver_state *state, const gw_constraint *c,
                               gw_sense sense, unsigned long from)
{
    gw_element_kind m = c->mobile.kind, f = c->fixed.kind;
    /* a distance that is zero but for round-off is a coincidence: its sphere has no gradient */
    double value = c->kind == GW_COINCIDENT || gw_zero_length(run, c->value) ? 0 : c->value;
    /* the higher element is the surface: planes over lines over points, the fixed one of equals */
    bool from_mobile = m == GW_PLANE && f == GW_PLANE && c->reversed;
    bool fixed_surface = f >= m && !from_mobile;
    gw_distance_constraint place = place_of(c, fixed_surface, value, from);
    gw_add_distance(state, &place);
    if (m == GW_POINT || f == GW_POINT)
        return;
    add_angle(state, c, m == f ? along(sense) : GW_PI / 2, from);
}

void gw_decompose(const gw_solver *run, gw_solver_state *state, int i, gw_sense sense)
{
    const gw_constraint *c = &run->problem->constraints[i];
    unsigned long from = 1ul << i;
    bool mixed = c->mobile.kind != c->fixed.kind;
    switch (c->kind) {
    case GW_DISTANCE:
    case GW_COINCIDENT:
        decompose_distance(run, state, c, sense, from);
        break;
    case GW_PARALLEL:
        add_angle(state, c, mixed ? GW_PI / 2 : along(sense), from);
        break;
    case GW_PERPENDICULAR:
        add_angle(state, c, mixed ? along(sense) : GW_PI / 2, from);
        break;
    case GW_ANGLE:
        add_angle(state, c, mixed ? GW_PI / 2 - c->value : c->value, from);
        break;
    }
}

int gw_constraint_rows(const gw_solver *run, int i, gw_row *rows)
{
    gw_solver_state state;
    int n = 0;
    memset(&state, 0, offsetof(gw_solver_state, places));
    gw_sense sense = run->problem->constraints[i].sense;
    gw_decompose(run, &state, i, sense == GW_EITHER ? GW_SAME : sense);
    for (int k = 0; k < state.direction_count && n + 2 <= GW_MAX_ROWS; k++)
        n += gw_angle_rows(&state.directions[k], rows + n);
    for (int k = 0; k < state.place_count && n + 3 <= GW_MAX_ROWS; k++)
        n += gw_distance_rows(&state.places[k], rows + n);
    return n;
}

gw_sense gw_implied_sense(const gw_solver *run, const gw_solver_state *state, int i)
{
    const gw_constraint *c = &run->problem->constraints[i];
    gw_vec3 u = c->mobile.d, f = c->fixed.d;
    if (state->fixed)
        return gw_dot(gw_rotate(state->rotation, u), f) < 0 ? GW_OPPOSITE : GW_SAME;
    for (int k = 0; k < state->direction_count; k++) {
        const gw_angle_constraint *d = &state->directions[k];
        if (d->angle == 0 && gw_norm(gw_cross(d->u, u)) <= run->same_angle)
            return gw_dot(d->u, u) * gw_dot(d->f, f) < 0 ? GW_OPPOSITE : GW_SAME;
    }
    return GW_EITHER;
}
