/*
 * Coulomb friction of rolling and sliding contacts that may part, of materials that state one: slip
 * that ends in rolling, rolling that begins to slip, and impacts; against closed forms and
 * integrations of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/unilateral_fixture.h"

#define RADIUS 0.05
#define MASS   0.3

static gw_scene *scene_of(int rate, double friction, double restitution)
{
    gw_scene *s = new_scene();
    s->gravity = gw_v3(0, 0, -G);
    s->rate = rate;
    gw_material *m = gw_scene_add_material(s, NULL);
    strcpy(m->id, "rubber");
    m->surface.friction = friction;
    m->has_friction = friction >= 0;
    m->surface.restitution = restitution;
    return s;
}

static gw_object *add_moving(gw_scene *s, gw_shape shape, gw_vec3 at, gw_twist twist)
{
    gw_object *o = add_solid(s, "ball", shape, at, MASS);
    o->velocity = twist.v, o->spin = twist.w;
    strcpy(o->material, "rubber");
    return o;
}

static gw_object *add_rolling_ball(gw_scene *s, gw_vec3 at, gw_twist twist)
{
    gw_shape shape = {.kind = GW_SHAPE_SPHERE, .radius = RADIUS};
    return add_moving(s, shape, at, twist);
}

static void touches(gw_scene *s, gw_constraint_kind kind, const char *b, const char *feature)
{
    join(s, "touches", kind, "ball", "surface", b, feature)->unilateral = GW_CONTACT_UNILATERAL;
}

static const gw_snapshot *run(running *r, int ticks)
{
    const gw_snapshot *now = NULL;
    for (int i = 0; i < ticks; i++)
        now = running_tick(r);
    return now;
}

/* ---- slip that ends ------------------------------------------------------------------------- */

/* A ball with slip u decelerates by mu g along u, which keeps its direction, until the slip ends
 * after 2 |u| / (7 mu g); its spin about the normal stays. */
static void a_sliding_ball_comes_to_roll(void **state)
{
    (void)state;
    static const gw_constraint_kind kinds[] = {GW_ROLLING, GW_SLIDING, GW_PURE_ROLLING};
    static const gw_twist starts[] = {{{1.4, 0, 0}, {0, 0, 0}}, {{1, 0, 0}, {8, -20, 0}}};
    const double mu = 0.2;
    for (int n = 0; n < 6; n++) {
        gw_twist t = starts[n / 3];
        gw_scene *s = scene_of(1000, mu, 0);
        running r;
        add_floor(s, 0);
        add_rolling_ball(s, gw_v3(0, 0, RADIUS), t);
        touches(s, kinds[n % 3], "floor", "+z");
        running_open(&r, s);
        const gw_snapshot *now = run(&r, 1000);
        const gw_free_body *b = body(now, &r, "ball");
        gw_vec3 u = gw_add(t.v, gw_cross(t.w, gw_v3(0, 0, -RADIUS)));
        double ends = 2 * gw_norm(u) / (7 * mu * G);
        gw_vec3 v = gw_mul_add(t.v, -mu * G * ends, gw_unit(u));
        gw_vec3 x = gw_mul_add(gw_scale(now->time, v), mu * G * ends * ends / 2, gw_unit(u));
        double off = gw_norm(gw_sub(b->twist.v, v));
        double away = gw_norm(gw_sub(b->pose.p, gw_add(x, gw_v3(0, 0, RADIUS))));
        gw_vec3 slips = gw_add(b->twist.v, gw_cross(b->twist.w, gw_v3(0, 0, -RADIUS)));
        print_message("%s: off by %.2g m/s and %.2g m, slip %.2g m/s, dissipated %.6f J\n",
                      gw_any_constraint_name(kinds[n % 3]), off, away, gw_norm(slips),
                      now->energy.dissipated);
        assert_true(off < 1e-12 && away < 1e-12 && gw_norm(slips) < 1e-12);
        double lost = MASS * gw_dot(u, u) / 7;
        assert_true(fabs(now->energy.dissipated - lost) < 1e-12);
        assert_true(fabs(energy_error(now)) < 1e-12);
        running_close(&r);
    }
}

/* Both ends of a lying cylinder slip at once: 2/3 of the speed across its axis are left, and none
 * along it. */
static void a_sliding_cylinder_comes_to_roll(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        gw_scene *s = scene_of(1000, 0.2, 0);
        running r;
        gw_shape shape = {.kind = GW_SHAPE_CYLINDER, .radius = RADIUS, .height = 0.2};
        gw_twist t = {n ? gw_v3(0, 1.2, 0) : gw_v3(1.2, 0, 0), {0, 0, 0}};
        add_floor(s, 0);
        gw_object *o = add_moving(s, shape, gw_v3(0, 0, RADIUS), t);
        o->pose.q = gw_quat_axis(gw_v3(1, 0, 0), -0.5 * GW_PI);
        touches(s, GW_ROLLING, "floor", "+z");
        running_open(&r, s);
        const gw_free_body *b = body(run(&r, 1000), &r, "ball");
        print_message("cylinder: %.10f m/s along x, %.2g along y\n", b->twist.v.x, b->twist.v.y);
        assert_true(fabs(b->twist.v.x - (n ? 0 : 0.8)) < 1e-9 && fabs(b->twist.v.y) < 1e-9);
        running_close(&r);
    }
}

/* On a free slab: the momentum is kept, and the slip ends after u / (mu g (7/2 + m/M)). */
static void a_ball_takes_a_slab_along(void **state)
{
    (void)state;
    const double mu = 0.2, slab_mass = 0.5, v = 1.4;
    gw_scene *s = scene_of(1000, mu, 0);
    running r;
    add_box(s, "ground", gw_v3(0, 0, -3), true);
    gw_shape shape = {.kind = GW_SHAPE_BOX, .size = {4, 4, 0.2}};
    add_solid(s, "slab", shape, gw_v3(0, 0, -0.1), slab_mass)->free = false;
    add_rolling_ball(s, gw_v3(0, 0, RADIUS), (gw_twist){{v, 0, 0}, {0, 0, 0}});
    join(s, "level", GW_DISTANCE, "slab", "-z", "ground", "+z")->value = 2.75;
    join(s, "straight", GW_PARALLEL, "slab", "+x", "ground", "+x");
    join(s, "along", GW_DISTANCE, "slab", "+y", "ground", "+y")->value = 1.95;
    touches(s, GW_ROLLING, "slab", "+z");
    running_open(&r, s);
    const gw_snapshot *now = run(&r, 600);
    double ends = v / (mu * G * (3.5 + MASS / slab_mass));
    double ball = body(now, &r, "ball")->twist.v.x, slab = body(now, &r, "slab")->twist.v.x;
    print_message("ball %.12f m/s, slab %.12f m/s\n", ball, slab);
    assert_true(fabs(ball - (v - mu * G * ends)) < 1e-10);
    assert_true(fabs(slab - mu * G * ends * MASS / slab_mass) < 1e-10);
    running_close(&r);
}

/* A rod of length 2 l, at t from the vertical, whose tip of radius r slides forward with v: in
 * m (v' + l cos t t'' - l sin t t'^2) = -mu N, N = m (g - l sin t t'' - l cos t t'^2) and
 * I t'' = N (mu (l cos t + r) + l sin t). x: t, t', v. Backward slip would jam. */
static const double half_rod = 0.5;

static void slope_of_rod(const double x[3], double mu, double d[3])
{
    double s = half_rod * sin(x[0]), c = half_rod * cos(x[0]), w2 = x[1] * x[1];
    double arm = mu * (c + RADIUS) + s, gyration2 = half_rod * half_rod / 3;
    double normal = (G - c * w2) / (1 + s * arm / gyration2);
    d[0] = x[1];
    d[1] = normal * arm / gyration2;
    d[2] = s * w2 - mu * normal - c * d[1];
}

static void a_steep_rod_slides_until_its_tip_rests(void **state)
{
    (void)state;
    const double mu = 2, h = 1e-5, start = 0.2;
    double x[3] = {start, 0, 1};
    int ticks = 0;
    gw_scene *s = scene_of(1000, mu, 0);
    running r;
    add_floor(s, 0);
    gw_twist t = {{x[2], 0, 0}, {0, 0, 0}};
    gw_body *b = &add_rolling_ball(s, gw_v3(0, 0, RADIUS), t)->body;
    double inertia = MASS * half_rod * half_rod / 3;
    s->objects[s->object_count - 1].pose.q = gw_quat_axis(gw_v3(0, 1, 0), start);
    b->has_com = b->has_inertia = true;
    b->com = gw_v3(0, 0, half_rod);
    b->inertia[0] = b->inertia[1] = inertia;
    b->inertia[2] = 1e-3 * inertia;
    touches(s, GW_SLIDING, "floor", "+z");
    running_open(&r, s);
    run(&r, 1);
    for (; x[2] - RADIUS * x[1] > 0; ticks++) {
        const gw_free_body *tip = body(run(&r, 1), &r, "ball");
        for (int n = 0; n < 100; n++) {
            double a[3], m[3], y[3];
            slope_of_rod(x, mu, a);
            for (int l = 0; l < 3; l++)
                y[l] = x[l] + h / 2 * a[l];
            slope_of_rod(y, mu, m);
            for (int l = 0; l < 3; l++)
                x[l] += h * m[l];
        }
        if (x[2] - RADIUS * x[1] > 0)
            assert_true(fabs(tip->twist.v.x - x[2]) < 1e-6 && fabs(tip->twist.w.y - x[1]) < 1e-6);
    }
    print_message("rod: its tip rests after %d ticks\n", ticks);
    assert_true(ticks > 10);
    running_close(&r);
}

/* ---- slip that begins ----------------------------------------------------------------------- */

/* Down a slope a ball rolls with 5/7 g sin a, or slips with g (sin a - mu cos a) where
 * tan a > 7/2 mu. */
static void a_ball_slips_on_a_steep_slope(void **state)
{
    (void)state;
    static const double degrees[] = {30, 34.9, 35.1, 50};
    const double mu = 0.2;
    for (int n = 0; n < 4; n++) {
        double slope = degrees[n] * GW_PI / 180;
        bool slips = tan(slope) > 3.5 * mu;
        gw_scene *s = scene_of(1000, mu, 0);
        running r;
        add_floor(s, slope);
        gw_vec3 up = gw_v3(sin(slope), 0, cos(slope)), along = gw_v3(cos(slope), 0, -sin(slope));
        add_rolling_ball(s, gw_scale(RADIUS, up), (gw_twist){{0, 0, 0}, {0, 0, 0}});
        touches(s, GW_ROLLING, "floor", "+z");
        running_open(&r, s);
        const gw_snapshot *now = run(&r, 500);
        double a = slips ? G * (sin(slope) - mu * cos(slope)) : 5.0 / 7 * G * sin(slope);
        double off = gw_dot(body(now, &r, "ball")->twist.v, along) - a * now->time;
        print_message("%g degrees, %s: off by %.2g m/s\n", degrees[n], slips ? "slips" : "rolls",
                      off);
        assert_true(fabs(off) < 1e-11);
        running_close(&r);
    }
}

/* On a fixed sphere of radius R, L = R + r: it rolls with L t'' = 5/7 g sin t until the traction
 * 2/7 m g sin t reaches mu N, N = m (g cos t - L t'^2), slips with L t'' = g sin t - mu N / m, and
 * leaves where N = 0. x: t, t', spin. By RK4 in steps of 1e-6 s. */
static void slope_of_descent(const double x[3], double apart, double mu, bool slips, double d[3])
{
    double normal = G * cos(x[0]) - apart * x[1] * x[1], sine = sin(x[0]);
    d[0] = x[1];
    d[1] = (slips ? G * sine - mu * normal : 5.0 / 7 * G * sine) / apart;
    d[2] = slips ? mu * normal / (0.4 * RADIUS) : 5.0 / 7 * G * sine / RADIUS;
}

static double descend(double x[3], double apart, double mu)
{
    const double h = 1e-6;
    double t = 0;
    bool slips = false;
    while (G * cos(x[0]) - apart * x[1] * x[1] > 0) {
        double k[4][3], y[3];
        slips = slips || 2.0 / 7 * G * sin(x[0]) > mu * (G * cos(x[0]) - apart * x[1] * x[1]);
        for (int i = 0; i < 4; i++) {
            double c = i == 0 ? 0 : i < 3 ? h / 2 : h;
            for (int l = 0; l < 3; l++)
                y[l] = x[l] + (i > 0 ? c * k[i - 1][l] : 0);
            slope_of_descent(y, apart, mu, slips, k[i]);
        }
        for (int l = 0; l < 3; l++)
            x[l] += h / 6 * (k[0][l] + 2 * k[1][l] + 2 * k[2][l] + k[3][l]);
        t += h;
    }
    return t;
}

static void a_ball_slips_before_it_leaves_a_sphere(void **state)
{
    (void)state;
    static const double frictions[] = {0.1, 0.5, 2};
    for (int n = 0; n < 3; n++) {
        const double big = 0.5, apart = big + RADIUS, start = 0.1;
        double x[3] = {start, 0, 0}, leaves = descend(x, apart, frictions[n]);
        gw_scene *s = scene_of(1000, frictions[n], 0);
        running r;
        gw_shape shape = {.kind = GW_SHAPE_SPHERE, .radius = big};
        add_solid(s, "big", shape, gw_v3(0, 0, 0), 0);
        add_rolling_ball(s, gw_v3(apart * sin(start), 0, apart * cos(start)),
                         (gw_twist){{0, 0, 0}, {0, 0, 0}});
        touches(s, GW_ROLLING, "big", "surface");
        running_open(&r, s);
        const gw_snapshot *now = run(&r, (int)(1000 * leaves) + 30);
        const gw_free_body *b = body(now, &r, "ball");
        double falls = G * (now->time - leaves), v = apart * x[1];
        double off =
            fmax(fabs(b->twist.v.x - v * cos(x[0])), fabs(b->twist.v.z + v * sin(x[0]) + falls));
        print_message("mu %g: leaves at cos %.6f after %.6f s, off by %.2g m/s, spin by %.2g\n",
                      frictions[n], cos(x[0]), leaves, off, b->twist.w.y - x[2]);
        assert_true(off < 1e-9 && fabs(b->twist.w.y - x[2]) < 1e-8);
        assert_true(fabs(energy_error(now)) < 1e-9);
        running_close(&r);
    }
}

/* ---- an ellipsoid --------------------------------------------------------------------------- */

typedef struct ellipsoid_state {
    gw_pose pose;
    gw_twist twist;
} ellipsoid_state;

static const gw_vec3 axes = {0.08, 0.05, 0.04};

static gw_vec3 times(gw_vec3 a, gw_vec3 b)
{
    return gw_v3(a.x * b.x, a.y * b.y, a.z * b.z);
}

/* From the centre to the lowest point. */
static gw_vec3 lowest_of(gw_quat q)
{
    gw_vec3 scaled = times(axes, gw_unrotate(q, gw_v3(0, 0, 1)));
    return gw_rotate(q, gw_scale(-1 / gw_norm(scaled), times(axes, scaled)));
}

static gw_vec3 inertia_of_ellipsoid(void)
{
    gw_vec3 s = times(axes, axes);
    return gw_scale(MASS / 5, gw_v3(s.y + s.z, s.x + s.z, s.x + s.y));
}

/* Accelerations of a slipping ellipsoid on the floor z = 0 with the force F = lambda (n - mu d)
 * such that n . (v' + w' x r) + d/dt (r x n) . w = 0, the rate by central differences. */
static gw_twist acceleration_of(const ellipsoid_state *x, double mu)
{
    const double e = 1e-4;
    gw_quat q = x->pose.q;
    gw_vec3 n = gw_v3(0, 0, 1), w = x->twist.w, r = lowest_of(q), arm[4];
    gw_vec3 inertia = inertia_of_ellipsoid();
    gw_vec3 slip = gw_add(x->twist.v, gw_cross(w, r));
    gw_vec3 f = gw_sub(n, gw_scale(mu, gw_unit(gw_reject(slip, n))));
    for (int k = 0; k < 4; k++) {
        double t = (k < 2 ? e : 2 * e) * (k % 2 ? -1 : 1);
        arm[k] = gw_cross(lowest_of(gw_quat_mul(gw_quat_exp(gw_scale(t, w)), q)), n);
    }
    gw_vec3 rate =
        gw_scale(1 / (12 * e), gw_sub(gw_scale(8, gw_sub(arm[0], arm[1])), gw_sub(arm[2], arm[3])));
    gw_vec3 own = gw_unrotate(q, w), torque = gw_unrotate(q, gw_cross(r, f));
    gw_vec3 gyro = gw_cross(own, times(inertia, own));
    gw_vec3 inverse = gw_v3(1 / inertia.x, 1 / inertia.y, 1 / inertia.z);
    gw_vec3 free = gw_rotate(q, gw_neg(times(inverse, gyro)));
    gw_vec3 pushed = gw_rotate(q, times(inverse, torque)), side = gw_cross(r, n);
    double falls = -G + gw_dot(side, free) + gw_dot(rate, w);
    double lambda = -falls / (f.z / MASS + gw_dot(side, pushed));
    return (gw_twist){gw_mul_add(gw_v3(0, 0, -G), lambda / MASS, f),
                      gw_mul_add(free, lambda, pushed)};
}

static ellipsoid_state moved(const ellipsoid_state *x, double h, gw_twist v, gw_twist a)
{
    ellipsoid_state y = *x;
    y.pose.p = gw_mul_add(y.pose.p, h, v.v);
    y.pose.q = gw_quat_mul(gw_quat_exp(gw_scale(h, v.w)), y.pose.q);
    y.twist.v = gw_mul_add(y.twist.v, h, a.v);
    y.twist.w = gw_mul_add(y.twist.w, h, a.w);
    return y;
}

/* The midpoint rule, extrapolated from two step widths. */
static ellipsoid_state slide(ellipsoid_state x, double time, int steps, double mu)
{
    double h = time / steps;
    for (int i = 0; i < steps; i++) {
        ellipsoid_state half = moved(&x, h / 2, x.twist, acceleration_of(&x, mu));
        x = moved(&x, h, half.twist, acceleration_of(&half, mu));
    }
    return x;
}

static void an_ellipsoid_slides_on_a_floor(void **state)
{
    (void)state;
    static const gw_twist starts[] = {{{1.5, 0.2, 0}, {1, -4, 2}}, {{-1, 1, 0}, {3, 1, -6}}};
    const double mu = 0.25, time = 0.12;
    for (int n = 0; n < 4; n++) {
        ellipsoid_state x = {.twist = starts[n / 2]};
        x.pose.q = gw_quat_axis(gw_unit(gw_v3(1, 2, 0.5)), 0.3);
        gw_vec3 r = lowest_of(x.pose.q);
        x.pose.p = gw_v3(0, 0, -r.z);
        x.twist.v.z = -gw_cross(x.twist.w, r).z;
        gw_scene *s = scene_of(n % 2 ? 4000 : 1000, mu, 0);
        running r1;
        gw_shape shape = {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_ellipsoid(axes, NULL)};
        add_floor(s, 0);
        gw_object *o = add_moving(s, shape, x.pose.p, x.twist);
        gw_vec3 i = inertia_of_ellipsoid();
        const double inertia[6] = {i.x, i.y, i.z, 0, 0, 0};
        o->pose.q = x.pose.q;
        o->body.has_inertia = true;
        memcpy(o->body.inertia, inertia, sizeof inertia);
        touches(s, GW_ROLLING, "floor", "+z");
        running_open(&r1, s);
        const gw_snapshot *now = run(&r1, (int)(time * s->rate + 0.5));
        const gw_free_body *b = body(now, &r1, "ball");
        ellipsoid_state fine = slide(x, now->time, 12000, mu);
        ellipsoid_state coarse = slide(x, now->time, 6000, mu);
        gw_twist to = {gw_mul_add(gw_scale(4.0 / 3, fine.twist.v), -1.0 / 3, coarse.twist.v),
                       gw_mul_add(gw_scale(4.0 / 3, fine.twist.w), -1.0 / 3, coarse.twist.w)};
        double off = gw_norm(gw_sub(b->twist.v, to.v)), turns = gw_norm(gw_sub(b->twist.w, to.w));
        print_message("ellipsoid at %d Hz: off by %.2g m/s, %.2g rad/s, energy by %.2g J\n",
                      s->rate, off, turns, energy_error(now));
        assert_true(off < 1e-7 && turns < 1e-6 && fabs(energy_error(now)) < 1e-10);
        running_close(&r1);
    }
}

/* Slip and rolling by turns: the motion is that of four times the rate. */
static void an_ellipsoid_slips_and_rolls_by_turns(void **state)
{
    (void)state;
    gw_twist end[2];
    for (int n = 0; n < 2; n++) {
        gw_scene *s = scene_of(n ? 4000 : 1000, 0.28, 0);
        running r;
        gw_shape shape = {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_ellipsoid(axes, NULL)};
        gw_twist t = {{0.3, 0.8, 0}, {2, -3, 3}};
        add_floor(s, 0);
        gw_object *o = add_moving(s, shape, gw_v3(0, 0, 0), t);
        gw_vec3 i = inertia_of_ellipsoid();
        const double inertia[6] = {i.x, i.y, i.z, 0, 0, 0};
        o->pose.q = gw_quat_axis(gw_unit(gw_v3(1, 0.5, 0)), 0.2);
        gw_vec3 lowest = lowest_of(o->pose.q);
        o->pose.p.z = -lowest.z;
        o->velocity.z = -gw_cross(o->spin, lowest).z;
        o->body.has_inertia = true;
        memcpy(o->body.inertia, inertia, sizeof inertia);
        touches(s, GW_ROLLING, "floor", "+z");
        running_open(&r, s);
        const gw_snapshot *now = run(&r, (int)(0.6 * s->rate + 0.5) + 1);
        end[n] = body(now, &r, "ball")->twist;
        assert_true(fabs(energy_error(now)) < 1e-10);
        running_close(&r);
    }
    double off = gw_norm(gw_sub(end[0].v, end[1].v));
    print_message("by turns: off by %.2g m/s\n", off);
    assert_true(off < 1e-6);
}

/* ---- impacts -------------------------------------------------------------------------------- */

/* The tangential impulse is at most mu (1 + e) m v_n, and ends the slip where 2/7 m u is less. */
static void an_oblique_impact_has_friction(void **state)
{
    (void)state;
    static const struct {
        double restitution, friction;
    } cases[] = {{0.5, 0.1}, {0.5, 0.8}, {0.9, 0.05}};
    for (int n = 0; n < 3; n++) {
        const double high = 0.2, v = 1;
        double e = cases[n].restitution, mu = cases[n].friction, before = sqrt(2 * G * high);
        gw_scene *s = scene_of(1000, mu, e);
        running r;
        add_floor(s, 0);
        add_rolling_ball(s, gw_v3(0, 0, RADIUS + high), (gw_twist){{v, 0, 0}, {0, 0, 0}});
        touches(s, GW_ROLLING, "floor", "+z");
        running_open(&r, s);
        const gw_snapshot *now = run(&r, (int)(1000 * before / G) + 20);
        const gw_free_body *b = body(now, &r, "ball");
        double push = fmin(mu * (1 + e) * before, 2.0 / 7 * v);
        print_message("e %g, mu %g: %.12f m/s, %.12f expected\n", e, mu, b->twist.v.x, v - push);
        assert_true(fabs(b->twist.v.x - (v - push)) < 1e-10);
        assert_true(fabs(b->twist.w.y * RADIUS - 2.5 * push) < 1e-10);
        running_close(&r);
    }
}

/* Without a stated friction rolling does not slip, and sliding has none. */
static void a_material_that_states_none_changes_nothing(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        gw_scene *s = scene_of(1000, n ? -1 : 0, 0);
        running r;
        add_floor(s, 0.9);
        gw_vec3 up = gw_v3(sin(0.9), 0, cos(0.9)), along = gw_v3(cos(0.9), 0, -sin(0.9));
        add_rolling_ball(s, gw_scale(RADIUS, up), (gw_twist){{0, 0, 0}, {0, 0, 0}});
        touches(s, n ? GW_ROLLING : GW_SLIDING, "floor", "+z");
        running_open(&r, s);
        const gw_snapshot *now = run(&r, 300);
        double v = gw_dot(body(now, &r, "ball")->twist.v, along);
        assert_true(fabs(v - (n ? 5.0 / 7 : 1) * G * sin(0.9) * now->time) < 1e-11);
        running_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sliding_ball_comes_to_roll),
        cmocka_unit_test(a_sliding_cylinder_comes_to_roll),
        cmocka_unit_test(a_ball_takes_a_slab_along),
        cmocka_unit_test(a_steep_rod_slides_until_its_tip_rests),
        cmocka_unit_test(a_ball_slips_on_a_steep_slope),
        cmocka_unit_test(a_ball_slips_before_it_leaves_a_sphere),
        cmocka_unit_test(an_ellipsoid_slides_on_a_floor),
        cmocka_unit_test(an_ellipsoid_slips_and_rolls_by_turns),
        cmocka_unit_test(an_oblique_impact_has_friction),
        cmocka_unit_test(a_material_that_states_none_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
