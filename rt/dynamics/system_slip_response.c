/*
 * The motion of contacts that slip as a function of their friction. With the forces F_j along the
 * axes of all of them,
 *
 *   a = a_0 - R F,   lambda = lambda_0 + C F,   lambda e = p_0 + P F
 *
 * a: accelerations of slip, lambda: normal forces, e: centres of pressure of flat rims. Each column
 * takes one solution of the system's rows; the iterations of friction (system_friction.c,
 * system_slip_group.c) use the columns alone. RT safe, but for init and free.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/system_rim.h"

#define ROWS_PER_EFFORT 32

bool gw_slip_response_init(gw_slip_response *r, int contacts, int closures)
{
    size_t n = (size_t)contacts, most = n < GW_COMPLETE_SLIPS ? n : GW_COMPLETE_SLIPS;
    size_t complete = 3 * most + 1, columns = complete > n + 1 ? complete : n + 1;
    r->contact = calloc(2 * n + (size_t)closures + 1, sizeof *r->contact);
    r->left_out = calloc(n + 1, sizeof *r->left_out);
    r->normal = calloc(n * columns + 3 * most * complete + complete + n, sizeof *r->normal);
    r->moment = calloc(most * complete + 1, sizeof *r->moment);
    if (!r->contact || !r->left_out || !r->normal || !r->moment)
        return false;
    r->first = r->contact + n;
    r->index = r->first + n + 1;
    r->acceleration = r->normal + n * columns;
    r->force = r->acceleration + 3 * most * complete;
    r->kept = r->force + complete;
    return true;
}

void gw_slip_response_free(gw_slip_response *r)
{
    free(r->contact);
    free(r->left_out);
    free(r->normal);
    free(r->moment);
}

int gw_slip_axes(const gw_system *s, int closure, gw_vec3 axis[3], double lever[3])
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_row *t = gw_rolling_rows(s, closure);
    bool spins = gw_rim_spins(s, closure);
    axis[0] = gw_linear_part(t[0].on_a), axis[1] = gw_linear_part(t[1].on_a);
    axis[2] = gw_cross(axis[0], axis[1]);
    lever[0] = lever[1] = 1;
    lever[2] = s->closures[closure].contact.on_a.radius;
    return spins ? 3 : 2;
}

static double acceleration_along(const gw_system_body *k, const double on[6])
{
    gw_twist bias = gw_bias_acceleration_of(k), own = gw_acceleration_of(k);
    return gw_dot(gw_linear_part(on), gw_add(bias.v, own.v)) +
           gw_dot(gw_angular_part(on), gw_add(bias.w, own.w));
}

/* The acceleration of slip along an axis. */
static double slip_acceleration(const gw_system *s, const gw_closure_row *row, double lever)
{
    double along = row->bias + acceleration_along(&s->bodies[row->a], row->on_a);
    if (row->b != GW_GROUND)
        along += acceleration_along(gw_body_of(s, row->b), row->on_b);
    return lever * along;
}

/* The motion by the forces that are set into a column. */
static void find_column(gw_system *s, gw_slip_response *r, int column)
{
    double *normal = r->normal + column * r->count;
    *s->unilateral->effort += 1 + s->active_rows / ROWS_PER_EFFORT;
    gw_system_solve_rows(s);
    if (r->complete)
        gw_tree_accelerate(s);
    const double *multipliers = gw_closures_least_multipliers(s, true);
    for (int i = 0; i < r->count; i++) {
        gw_vec3 axis[3];
        double lever[3];
        int closure = r->contact[i];
        normal[i] = gw_contact_normal_force(s, closure, multipliers);
        if (!r->complete)
            continue;
        double *a = r->acceleration + 3 * (column * r->count + i);
        int axes = gw_slip_axes(s, closure, axis, lever);
        for (int k = 0; k < axes; k++)
            a[k] = slip_acceleration(s, gw_rolling_rows(s, closure) + k, lever[k]);
        if (axes == 3)
            r->moment[column * r->count + i] = gw_rim_moment(s, closure, multipliers);
    }
}

/* The change of a column by a force `unit`, per unit. */
static void take_difference(gw_slip_response *r, int column, double unit)
{
    int n = r->count;
    for (int i = 0; i < n; i++)
        r->normal[column * n + i] = (r->normal[column * n + i] - r->normal[i]) / unit;
    for (int i = 0; i < 3 * n && r->complete; i++)
        r->acceleration[3 * column * n + i] =
            (r->acceleration[i] - r->acceleration[3 * column * n + i]) / unit;
    for (int i = 0; i < n && r->complete; i++)
        r->moment[column * n + i] =
            gw_scale(1 / unit, gw_sub(r->moment[column * n + i], r->moment[i]));
}

/* Lists the contacts that slip, their columns, and their friction as it is. */
static void list_contacts(gw_system *s, gw_slip_response *r, bool complete)
{
    const gw_unilateral_contacts *u = s->unilateral;
    int column = 1;
    r->count = 0;
    for (int i = 0; i < s->closure_count; i++)
        if (u->mode[i].phase == GW_CONTACT_SLIPS)
            r->contact[r->count++] = i;
    r->complete = complete && r->count <= GW_COMPLETE_SLIPS;
    for (int i = 0; i < r->count; i++) {
        int closure = r->contact[i], axes = gw_rim_spins(s, closure) ? 3 : 2;
        r->index[closure] = i;
        r->first[i] = column;
        r->left_out[i] = false;
        column += r->complete ? axes : 1;
    }
    r->first[r->count] = column;
    for (int i = 0; i < r->count && r->complete; i++)
        gw_slip_take_friction(s, i);
}

void gw_slip_take_friction(gw_system *s, int i)
{
    gw_slip_response *r = &s->unilateral->response;
    const gw_contact_friction *f = &s->unilateral->friction[r->contact[i]];
    for (int k = 0; k < r->first[i + 1] - r->first[i]; k++)
        r->force[r->first[i] + k] = f->force * f->by[k];
}

void gw_slip_find_response(gw_system *s, bool complete)
{
    gw_contact_friction *friction = s->unilateral->friction;
    gw_slip_response *r = &s->unilateral->response;
    list_contacts(s, r, complete);
    for (int i = 0; i < r->count; i++) {
        r->kept[i] = friction[r->contact[i]].force;
        friction[r->contact[i]].force = 0;
    }
    find_column(s, r, 0);
    for (int i = 0; i < r->count; i++) {
        gw_contact_friction *f = &friction[r->contact[i]];
        const gw_closure_row *t = gw_rolling_rows(s, r->contact[i]);
        gw_closure_row kept = f->row;
        gw_vec3 axis[3];
        double lever[3], unit = fmax(1, fabs(r->kept[i]));
        gw_slip_axes(s, r->contact[i], axis, lever);
        for (int k = 0; k < r->first[i + 1] - r->first[i]; k++) {
            f->row = r->complete ? t[k] : kept;
            f->force = r->complete ? unit * lever[k] : unit;
            find_column(s, r, r->first[i] + k);
            take_difference(r, r->first[i] + k, unit);
        }
        f->row = kept;
        f->force = 0;
    }
    for (int i = 0; i < r->count; i++)
        friction[r->contact[i]].force = r->kept[i];
}

void gw_slip_motion(const gw_slip_response *r, int i, double a[3], double *lambda, gw_vec3 *moment)
{
    assert(r->complete && i >= 0 && i < r->count);
    *lambda = r->normal[i];
    *moment = r->moment[i];
    memcpy(a, r->acceleration + 3 * i, 3 * sizeof *a);
    for (int n = 0; n < r->count; n++)
        for (int j = r->first[n]; j < r->first[n + 1] && !r->left_out[n]; j++) {
            const double *by = gw_slip_column(r, j, i);
            *lambda += r->force[j] * r->normal[j * r->count + i];
            *moment = gw_mul_add(*moment, r->force[j], r->moment[j * r->count + i]);
            for (int k = 0; k < 3; k++)
                a[k] -= r->force[j] * by[k];
        }
}
