/*
 * Springs with dampers between points of two bodies of a system, along the line between them. RT
 * safe.
 *
 *   d = p_a - p_b,  l = |d|,  n = d / l,    T = k (l - l_0) + c l',    on a: -T n, on b: T n
 *
 * An implicit step adds h C + h^2 K to the inertia, with
 *
 *   c n n^T  and  K = k n n^T + k (1 - l_0 / l) (1 - n n^T)
 *
 * the second part of K only where it is pulled: three rows with compliance beside the closures', of
 * which the operator J D^-1 J^T + 1 is left where each is scaled by the root of what it adds.
 */
#include <math.h>

#include "rt/dynamics/system_private.h"

/* State of a spring at the present configuration. */
typedef struct spring_state {
    gw_vec3 arm[2];           /* from the bodies' origins to the points */
    gw_vec3 along, apart;     /* n; velocity of a's point relative to b's */
    double length, rate;      /* l, l' */
    double stiffness, across; /* k and k (1 - l_0 / l) */
} spring_state;

static spring_state state_of(const gw_system *s, const gw_system_spring_def *def)
{
    const int bodies[2] = {def->a, def->b};
    const gw_vec3 points[2] = {def->on_a, def->on_b};
    gw_vec3 p[2], v[2];
    spring_state x = {.stiffness = def->stiffness};
    for (int i = 0; i < 2; i++) {
        gw_pose pose = gw_body_of(s, bodies[i])->pose;
        gw_twist t = gw_body_of(s, bodies[i])->twist;
        x.arm[i] = gw_rotate(pose.q, points[i]);
        p[i] = gw_add(pose.p, x.arm[i]);
        v[i] = gw_add(t.v, gw_cross(t.w, x.arm[i]));
    }
    gw_vec3 d = gw_sub(p[0], p[1]);
    x.length = gw_norm(d);
    x.along = x.length > 0 ? gw_scale(1 / x.length, d) : gw_v3(1, 0, 0);
    x.apart = gw_sub(v[0], v[1]);
    x.rate = gw_dot(x.along, x.apart);
    x.across = def->stiffness * fmax(0, def->length > 0 ? 1 - def->length / x.length : 1);
    return x;
}

/* Adds the force f on a's point, and -f on b's. */
static void apply_spring_force(const gw_system_spring_def *def, const spring_state *x, gw_vec3 f,
                               gw_wrench *on)
{
    on[def->a] = gw_wrench_add(on[def->a], (gw_wrench){f, gw_cross(x->arm[0], f)});
    if (def->b >= 0)
        on[def->b] =
            gw_wrench_add(on[def->b], (gw_wrench){gw_neg(f), gw_cross(x->arm[1], gw_neg(f))});
}

void gw_springs_load(gw_system *s, gw_system_work *power)
{
    for (int i = 0; i < s->body_count; i++)
        s->by_springs[i] = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < s->spring_count; i++) {
        const gw_system_spring_def *def = &s->springs[i];
        spring_state x = state_of(s, def);
        double tension = def->stiffness * (x.length - def->length) + def->damping * x.rate;
        apply_spring_force(def, &x, gw_scale(-tension, x.along), s->by_springs);
        power->dissipated += def->damping * x.rate * x.rate;
    }
    gw_edges_load(s, power);
}

double gw_springs_ground_power(const gw_system *s)
{
    double sum = gw_edges_ground_power(s);
    for (int i = 0; i < s->spring_count; i++) {
        const gw_system_spring_def *def = &s->springs[i];
        if (def->b >= GW_GROUND)
            continue;
        const gw_twist *t = &gw_body_of(s, def->b)->twist;
        spring_state x = state_of(s, def);
        double tension = def->stiffness * (x.length - def->length) + def->damping * x.rate;
        sum -= tension * gw_dot(x.along, gw_add(t->v, gw_cross(t->w, x.arm[1])));
    }
    return sum;
}

double gw_springs_energy(const gw_system *s)
{
    double sum = 0;
    for (int i = 0; i < s->spring_count; i++) {
        const gw_system_spring_def *def = &s->springs[i];
        double stretch = state_of(s, def).length - def->length;
        sum += 0.5 * def->stiffness * stretch * stretch;
    }
    return sum + gw_edges_energy(s);
}

double gw_springs_moment(const gw_system *s)
{
    double sum = 0;
    for (int i = 0; i < s->spring_count; i++) {
        const gw_system_spring_def *def = &s->springs[i];
        spring_state x = state_of(s, def);
        gw_vec3 at = gw_add(gw_body_of(s, def->a)->pose.p, x.arm[0]);
        sum += def->stiffness * fabs(x.length - def->length) * (gw_norm(at) + x.length);
    }
    return sum + gw_edges_moment(s);
}

/* Two unit vectors across n. */
static void unit_normals(gw_vec3 n, gw_vec3 t[2])
{
    t[0] = gw_unit(gw_cross(n, fabs(n.x) < 0.6 ? gw_v3(1, 0, 0) : gw_v3(0, 1, 0)));
    t[1] = gw_cross(n, t[0]);
}

void gw_springs_update_rows(gw_system *s, double h)
{
    for (int i = 0; i < s->spring_count; i++) {
        const gw_system_spring_def *def = &s->springs[i];
        spring_state x = state_of(s, def);
        gw_vec3 axes[3] = {x.along};
        gw_vec3 wa = gw_body_of(s, def->a)->twist.w, wb = gw_body_of(s, def->b)->twist.w;
        unit_normals(x.along, axes + 1);
        gw_vec3 turning =
            gw_sub(gw_cross(wa, gw_cross(wa, x.arm[0])), gw_cross(wb, gw_cross(wb, x.arm[1])));
        gw_vec3 sideways = gw_mul_add(x.apart, -x.rate, x.along);
        for (int k = 0; k < 3; k++) {
            gw_closure_row *r = &s->rows[s->blocks[s->closure_count + i].first + k];
            double stiffness = k == 0 ? x.stiffness : x.across;
            *r = (gw_closure_row){.a = def->a, .b = def->b};
            gw_spatial_set(r->on_a, axes[k], gw_cross(x.arm[0], axes[k]));
            gw_spatial_set(r->on_b, gw_neg(axes[k]), gw_cross(gw_neg(x.arm[1]), axes[k]));
            r->scale = sqrt(h * ((k == 0 ? def->damping : 0) + h * stiffness));
            r->bias = gw_dot(axes[k], turning);
            if (k == 0 && def->length > 0) /* n turns */
                r->bias += gw_norm2(sideways) / x.length;
            apply_spring_force(def, &x,
                               gw_scale(-h * stiffness * gw_dot(axes[k], x.apart), axes[k]),
                               s->by_springs);
        }
        gw_closures_flatten(s, &s->blocks[s->closure_count + i]);
    }
}

double gw_springs_resist(gw_system *s, double h)
{
    double power = 0;
    for (int i = 0; i < s->spring_count; i++) {
        const gw_system_spring_def *def = &s->springs[i];
        spring_state x = state_of(s, def);
        gw_vec3 v = {0, 0, 0};
        for (int k = 0; k < 2; k++) {
            int body = k == 0 ? def->a : def->b;
            if (body < 0)
                continue;
            const double *t = s->bodies[body].acceleration;
            v = gw_mul_add(v, k == 0 ? 1 : -1,
                           gw_add(gw_linear_part(t), gw_cross(gw_angular_part(t), x.arm[k])));
        }
        double along = gw_dot(x.along, v), a = h * (def->damping + h * x.stiffness);
        gw_vec3 f = gw_mul_add(gw_scale(a * along, x.along), h * h * x.across,
                               gw_mul_add(v, -along, x.along));
        power += gw_dot(f, v);
        apply_spring_force(def, &x, f, s->on);
    }
    return power;
}

double gw_springs_bound(const gw_system *s, double h)
{
    double sum = 0;
    for (int i = 0; i < s->spring_count; i++) {
        const gw_system_spring_def *def = &s->springs[i];
        double mobility = 0;
        for (int k = 0; k < 2; k++) {
            int body = k == 0 ? def->a : def->b;
            if (body < 0)
                continue;
            const gw_system_body *b = &s->bodies[body];
            gw_vec3 arm = gw_sub(k == 0 ? def->on_a : def->on_b, b->def.mass.com);
            mobility +=
                1 / b->def.mass.mass + (gw_norm2(arm) > 0 ? gw_norm2(arm) / b->least_inertia : 0);
        }
        sum += h * (def->damping + 3 * h * def->stiffness) * mobility;
    }
    return sum;
}
