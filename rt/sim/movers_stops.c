/*
 * Stops of free bodies: a one-sided distance that would be passed within the step is a collision,
 * by the impulses of rt/contact/impulse.h (impulsive-forces eq. 15 as corrected, only pushing).
 * Built on a server thread, then on the loop's, RT safe.
 *
 * With u = -depth-dot of a wall, which may move itself, and g = what is left before it,
 *
 *   bounces (e |u| faster than REST):  u' = -e u,     so it turns up to a step's way early
 *   else, it arrives:                  u' = -g / dt,  and what is left it loses as it is there
 *
 * What lies against a wall presses on its spring (walls.h); that is no collision.
 */
#include "rt/sim/scene_dynamics_private.h"

#include <stdlib.h>

#include "rt/contact/impulse.h"

#define REST 1e-3 /* m/s: approaching slower is left to the spring */

struct gw_bound_impacts {
    gw_impulse_work work;
    int rows;
    int wall[GW_MAX_UNILATERALS]; /* of each row */
    double j[GW_MAX_UNILATERALS * 6], e[GW_MAX_UNILATERALS], offset[GW_MAX_UNILATERALS],
        p[GW_MAX_UNILATERALS];
    double carried[GW_MAX_UNILATERALS]; /* speed from the wall that they are carried with */
    double v[6], dv[6], generalised[6];
    double memory[];
};

gw_bound_impacts *gw_bound_impacts_create(void)
{
    size_t memory = gw_impulse_memory(GW_MAX_UNILATERALS, 6);
    return calloc(1, sizeof(gw_bound_impacts) + memory * sizeof(double));
}

static double along(const double a[6], const gw_twist *t)
{
    return gw_dot(gw_v3(a[0], a[1], a[2]), t->v) + gw_dot(gw_v3(a[3], a[4], a[5]), t->w);
}

static void inverse(const void *context, int block, const double *force, double *answer)
{
    const gw_dynamic_free_body *b = context;
    (void)block;
    gw_model_apply_inverse(&b->body.model, force, answer);
}

/* What carries body or wall takes it beyond: its set hardly leads off it. */
static bool wedged(const gw_dynamic_free_body *b, const double *row, double speed, double coming)
{
    double answer[6], yield = 0, kinetic, potential;
    if (speed == 0)
        return false;
    inverse(b, 0, row, answer);
    for (int k = 0; k < gw_model_dof(&b->body.model); k++)
        yield += row[k] * answer[k];
    gw_model_energy(&b->body.model, &kinetic, &potential);
    kinetic += 0.5 * b->def.mass.mass * coming * coming; /* it is at rest for what comes */
    return gw_row_wedged(speed, yield, kinetic);
}

/* A row where the wall would be passed: J of the way off it. */
static void add_row(gw_bound_impacts *s, const gw_dynamic_free_body *b, int i, double dt)
{
    const gw_unilaterals *walls = &b->walls->state;
    const gw_unilateral *wall = &walls->wall[i];
    const gw_model *model = &b->body.model;
    double h, a[1][6], *row = s->j + (size_t)s->rows * (size_t)gw_model_dof(model);
    gw_twist carried;
    gw_rows_value_and_jacobian(&walls->row[i], 1, &b->body.pose, &h, a);
    for (int k = 0; k < 6; k++)
        a[0][k] *= -wall->sign;
    double gap = fmax(walls->slack[i] - wall->sign * h, 0);
    double u = along(a[0], &b->body.twist) - walls->coming[i];
    if (!(u < -REST) || gap + u * dt >= 0)
        return;
    double e = b->walls->restitution[i];
    bool bounces = -e * u > REST;
    gw_wrench w = {{a[0][0], a[0][1], a[0][2]}, {a[0][3], a[0][4], a[0][5]}};
    for (int k = 0; k < gw_model_dof(model); k++)
        row[k] = 0;
    gw_model_pull_back(model, 0, &w, row);
    s->carried[s->rows] = gw_model_base_velocity(model, 0, &carried) ? along(a[0], &carried) : 0;
    s->carried[s->rows] -= walls->coming[i];
    if (wedged(b, row, s->carried[s->rows], walls->coming[i]))
        return;
    s->offset[s->rows] = s->carried[s->rows] + (bounces ? 0 : gap / dt);
    s->e[s->rows] = bounces ? e : 0;
    s->wall[s->rows++] = i;
}

/* The body after it; what the walls took, and what carries body and walls gave, into the books. */
static void strike(gw_scene_dynamics *m, gw_dynamic_free_body *b)
{
    gw_bound_impacts *s = m->stops;
    gw_model *model = &b->body.model;
    double before = gw_free_body_energy(b), given = 0;
    gw_model_velocity(model, s->v);
    gw_impulse_problem problem = {.rows = s->rows,
                                  .dof = gw_model_dof(model),
                                  .j = s->j,
                                  .v = s->v,
                                  .e = s->e,
                                  .offset = s->offset,
                                  .only_push = true,
                                  .inverse = inverse,
                                  .context = b};
    gw_impulse_solve(&problem, &s->work, s->dv, s->generalised, s->p);
    gw_model_kick(model, s->dv);
    for (int i = 0; i < s->rows; i++)
        given -= s->p[i] * s->carried[i];
    m->edits += given;
    m->dissipated += before + given - gw_free_body_energy(b);
}

void gw_bound_impacts_resolve(gw_scene_dynamics *m, gw_dynamic_free_body *b, uint64_t lay,
                              double dt)
{
    gw_bound_impacts *s = m->stops;
    s->rows = 0;
    s->work.memory = s->memory;
    for (int i = 0; i < b->walls->count; i++)
        if ((b->walls->state.near >> i & 1) && !(lay >> i & 1))
            add_row(s, b, i, dt);
    b->walls->met = 0;
    for (int i = 0; i < s->rows; i++)
        b->walls->met |= 1ull << s->wall[i];
    if (s->rows > 0 && gw_model_dof(&b->body.model) > 0)
        strike(m, b);
}
