/*
 * Rims that lie flat on a plane: they slide, spin, tip over an edge, fall flat and rock; against
 * closed forms and integrations of their own.
 */
#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/unilateral_fixture.h"

#define RADIUS 0.05
#define MASS   0.3

static const gw_twist still = {{0, 0, 0}, {0, 0, 0}};

/* A disc and its start on the plane z = 0 of a frame, which is turned in the world by `turn`. */
typedef struct disc {
    double height, friction; /* friction < 0: not stated */
    gw_constraint_kind kind;
    int rate;
    double tilt; /* about y, on its edge at x = RADIUS cos(tilt) from the axis */
    gw_twist twist;
    gw_vec3 gravity;
    gw_quat turn;
    bool kept; /* the contact is kept both ways */
} disc;

/* Moments of inertia about the centre: across the axis, about it. */
static double across(const disc *d)
{
    return MASS * (RADIUS * RADIUS / 4 + d->height * d->height / 12);
}

static double about(void)
{
    return MASS * RADIUS * RADIUS / 2;
}

static gw_scene *scene_with(const disc *d)
{
    gw_scene *s = new_scene();
    s->gravity = gw_rotate(d->turn, d->gravity);
    s->rate = d->rate;
    gw_material *m = gw_scene_add_material(s, NULL);
    strcpy(m->id, "rubber");
    m->surface.friction = d->friction;
    m->has_friction = d->friction >= 0;
    add_floor(s, 0);
    s->objects[0].pose.q = d->turn;
    s->objects[0].pose.p = gw_rotate(d->turn, gw_v3(0, 0, -0.1));
    double up = RADIUS * sin(d->tilt) + 0.5 * d->height * cos(d->tilt);
    gw_shape shape = {.kind = GW_SHAPE_CYLINDER, .radius = RADIUS, .height = d->height};
    gw_object *o = add_solid(s, "disc", shape, gw_rotate(d->turn, gw_v3(0, 0, up)), MASS);
    o->pose.q = gw_quat_mul(d->turn, gw_quat_axis(gw_v3(0, 1, 0), d->tilt));
    o->velocity = gw_rotate(d->turn, d->twist.v), o->spin = gw_rotate(d->turn, d->twist.w);
    strcpy(o->material, "rubber");
    join(s, "touches", d->kind, "disc", "bottom-rim", "floor", "+z")->unilateral =
        d->kept ? GW_CONTACT_BILATERAL : GW_CONTACT_UNILATERAL;
    return s;
}

static void start(running *r, const disc *d)
{
    running_open(r, scene_with(d));
}

/* The disc in the plane's frame after a time. */
typedef struct place {
    gw_vec3 p;
    gw_twist twist;
    double tilt; /* sine of the angle between its axis and the normal */
    double time, dissipated;
} place;

static place of_snapshot(const running *r, const disc *d, const gw_snapshot *now)
{
    const gw_free_body *b = body(now, r, "disc");
    gw_vec3 n = gw_rotate(d->turn, gw_v3(0, 0, 1)), u = gw_rotate(b->pose.q, gw_v3(0, 0, 1));
    return (place){.p = gw_unrotate(d->turn, b->pose.p),
                   .twist = {gw_unrotate(d->turn, b->twist.v), gw_unrotate(d->turn, b->twist.w)},
                   .tilt = gw_norm(gw_cross(u, n)),
                   .time = now->time,
                   .dissipated = now->energy.dissipated};
}

/* After `seconds`; energy is accounted for, and no event tells otherwise. */
static place after(const disc *d, double seconds)
{
    running r;
    start(&r, d);
    const gw_snapshot *now = NULL;
    for (int i = 0; i <= (int)round(seconds * d->rate); i++)
        now = running_tick(&r);
    place end = of_snapshot(&r, d, now);
    assert_true(fabs(energy_error(now)) < 1e-12);
    gw_event events[64];
    int count = gw_simulation_events(r.simulation, events, 64);
    for (int i = 0; i < count; i++)
        assert_true(events[i].kind != GW_EVENT_UNBOOKED && events[i].kind != GW_EVENT_DEGENERATE);
    running_close(&r);
    return end;
}

static const gw_quat turns[2] = {{1, 0, 0, 0}, {0.32, 0.53, -0.21, 0.754387}};

static disc lying(double height, double friction, gw_twist twist)
{
    return (disc){.height = height,
                  .friction = friction,
                  .kind = GW_ROLLING,
                  .rate = 1000,
                  .twist = twist,
                  .gravity = {0, 0, -G},
                  .turn = {1, 0, 0, 0}};
}

/* ---- sliding -------------------------------------------------------------------------------- */

/* It decelerates by mu g without tilting, and stops after v^2 / (2 mu g). */
static void a_disc_slides_flat(void **state)
{
    (void)state;
    static const gw_constraint_kind kinds[] = {GW_ROLLING, GW_SLIDING, GW_PURE_ROLLING};
    for (int n = 0; n < 12; n++) {
        disc d = lying(0.04, 0.3, (gw_twist){{0.8, 0.6, 0}, {0, 0, 0}});
        d.kind = kinds[n % 3];
        d.rate = n % 2 ? 4000 : 1000;
        d.turn = gw_quat_unit(turns[n / 6]);
        place half = after(&d, 0.1), end = after(&d, 0.5);
        double v = 1 - 0.3 * G * half.time, way = half.time - 0.15 * G * half.time * half.time;
        double off = gw_norm(gw_sub(half.p, gw_v3(0.8 * way, 0.6 * way, 0.02)));
        double slower = gw_norm(gw_sub(half.twist.v, gw_v3(0.8 * v, 0.6 * v, 0)));
        way = 1 / (0.6 * G);
        double beyond = gw_norm(gw_sub(end.p, gw_v3(0.8 * way, 0.6 * way, 0.02)));
        print_message("%s, %d Hz: %.2g m, %.2g m/s off on the way, %.2g m at the end, tilt %.2g\n",
                      gw_any_constraint_name(d.kind), d.rate, off, slower, beyond,
                      fmax(half.tilt, end.tilt));
        assert_true(off < 1e-12 && slower < 1e-12 && beyond < 1e-11);
        assert_true(fmax(half.tilt, end.tilt) < 1e-13 && gw_norm(end.twist.v) < 1e-15);
        assert_true(fabs(end.dissipated - 0.5 * MASS) < 1e-12);
    }
}

/* Friction and its couple of a ring of many points with the pressure of Poisson's kernel, whose
 * centre is where the couple of friction about the centre of mass is balanced. */
static double complex ring_friction(const disc *d, double complex v, double spin, double *couple)
{
    enum { POINTS = 2000 };
    double complex e = 0, sum = 0;
    for (int n = 0; n < 40; n++) {
        sum = 0, *couple = 0;
        for (int i = 0; i < POINTS; i++) {
            double complex w = cexp(2 * I * GW_PI * (i + 0.5) / POINTS);
            double complex z = (w + e) / (1 + conj(e) * w), slip = v + I * spin * RADIUS * z;
            sum -= slip / cabs(slip) / POINTS;
            *couple -= RADIUS * cimag(conj(z) * slip) / cabs(slip) / POINTS;
        }
        e = -d->friction * sum * 0.5 * d->height / RADIUS;
    }
    return sum;
}

static void ring_rates(const disc *d, const double complex y[3], double complex rate[3])
{
    double couple;
    rate[0] = y[1];
    rate[1] = d->friction * G * ring_friction(d, y[1], creal(y[2]), &couple);
    rate[2] = d->friction * MASS * G * couple / about();
}

/* A disc that spins and slides: position, velocity and spin after a time, by a fourth-order
 * integration of its own. */
static void a_disc_spins_and_slides(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        disc d = lying(0.04, 0.3, (gw_twist){{0.5, 0, 0}, {0, 0, n ? 20 : 4}});
        place end = after(&d, 0.06);
        double complex y[3] = {0, 0.5, n ? 20 : 4}, k[4][3], at[3];
        const int steps = 60;
        double h = end.time / steps;
        for (int i = 0; i < steps; i++) {
            for (int stage = 0; stage < 4; stage++) {
                double by = stage == 0 ? 0 : stage == 3 ? h : 0.5 * h;
                for (int j = 0; j < 3; j++)
                    at[j] = y[j] + (stage > 0 ? by * k[stage - 1][j] : 0);
                ring_rates(&d, at, k[stage]);
            }
            for (int j = 0; j < 3; j++)
                y[j] += h / 6 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
        }
        double off = hypot(end.p.x - creal(y[0]), end.p.y - cimag(y[0]));
        double slower = hypot(end.twist.v.x - creal(y[1]), end.twist.v.y - cimag(y[1]));
        double spin = fabs(end.twist.w.z - creal(y[2]));
        print_message("spin %g: off by %.2g m, %.2g m/s, %.2g rad/s\n", d.twist.w.z, off, slower,
                      spin);
        assert_true(off < 1e-11 && slower < 1e-9 && spin < 1e-8 && end.tilt < 1e-13);
        assert_true(fabs(end.twist.v.y) > 1e-3); /* it curves */
    }
}

/* The slip of a point of the rim ends on the way, as the slip becomes less than the spin's. */
static void a_point_of_the_rim_stops(void **state)
{
    (void)state;
    place end[2];
    for (int n = 0; n < 2; n++) {
        disc d = lying(0.01, 0.3, (gw_twist){{0.3, 0.1, 0}, {0, 0, 8}});
        d.rate = n ? 4000 : 1000;
        end[n] = after(&d, 0.08);
    }
    double off = gw_distance(end[0].p, end[1].p);
    double spin = fabs(end[0].twist.w.z - end[1].twist.w.z);
    print_message("1 and 4 kHz differ by %.2g m, %.2g rad/s\n", off, spin);
    assert_true(off < 1e-10 && spin < 1e-7 && end[0].twist.w.z * RADIUS < gw_norm(end[0].twist.v));
}

/* On a slope it stays below the angle of friction, and slides above. */
static void a_disc_begins_to_slide(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        static const double steep[] = {0.9, 0.999, 1.001, 1.2};
        double angle = atan(0.3 * steep[n]);
        disc d = lying(0.04, 0.3, still);
        d.gravity = gw_v3(G * sin(angle), 0, -G * cos(angle));
        place end = after(&d, 0.3);
        double v = fmax(0, G * (sin(angle) - 0.3 * cos(angle)) * end.time);
        print_message("%g of the angle of friction: %.12g m/s, should be %.12g\n", steep[n],
                      end.twist.v.x, v);
        assert_true(fabs(end.twist.v.x - v) < 1e-12 && fabs(end.twist.w.z) < 1e-12);
    }
}

/* Under a couple about its axis it rests up to mu m g r, the couple of friction of its rim. */
static void a_disc_begins_to_spin(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        static const double part[] = {0.99, 0.9999, 1.0001, 1.5};
        running r;
        disc d = lying(0.04, 0.3, still);
        gw_scene *s = scene_with(&d);
        hold(s, "disc");
        running_open(&r, s);
        double most = 0.3 * MASS * G * RADIUS;
        gw_command retired,
            twist = {.kind = GW_COMMAND_PUSH, .push = {{0, 0, 0}, {0, 0, part[n] * most}}};
        gw_simulation_apply(r.simulation, &twist, &retired);
        const gw_snapshot *now = NULL;
        for (int i = 0; i <= 300; i++)
            now = running_tick(&r);
        double spin = now->tools[0].twist.w.z;
        double should = fmax(0, part[n] - 1) * most / about() * now->time;
        print_message("%g of the couple: %.12g rad/s, should be %.12g\n", part[n], spin, should);
        assert_true(fabs(spin - should) < 1e-10 && gw_norm(now->tools[0].twist.v) < 1e-12);
        running_close(&r);
    }
}

/* ---- tipping -------------------------------------------------------------------------------- */

/* The angular acceleration of a disc that slides on the front of its rim, tilted by the angle
 * `tilt` with the rate `rate`, under the normal force *normal; friction may be 0. */
static double tipping(const disc *d, double tilt, double rate, double *normal)
{
    double ahead = RADIUS * cos(tilt) - 0.5 * d->height * sin(tilt);
    double up = RADIUS * sin(tilt) + 0.5 * d->height * cos(tilt);
    double lever = d->friction * up - ahead;
    double a = lever * MASS * (G - up * rate * rate) / (across(d) - lever * MASS * ahead);
    *normal = MASS * (G + ahead * a - up * rate * rate);
    return a;
}

/* A sliding disc tips over the front of its rim if h / 2 > r / mu. */
static void a_tall_disc_tips_as_it_slides(void **state)
{
    (void)state;
    for (int n = 0; n < 8; n++) {
        static const double frictions[] = {0.95, 0.999, 1.01, 1.1};
        disc d = lying(0.1, frictions[n % 4], (gw_twist){{1, 0, 0}, {0, 0, 0}});
        d.turn = gw_quat_unit(turns[n / 4]);
        place end = after(&d, 0.03);
        double q[2] = {0, 0}, normal, v = 1, h = end.time / 1000;
        for (int i = 0; i < 1000 && d.friction > 1; i++) {
            double k[4][3];
            for (int stage = 0; stage < 4; stage++) {
                double by = stage == 0 ? 0 : stage == 3 ? h : 0.5 * h;
                const double *last = k[stage > 0 ? stage - 1 : 0];
                double rate = stage > 0 ? q[1] + by * last[1] : q[1];
                k[stage][0] = rate;
                k[stage][1] = tipping(&d, stage > 0 ? q[0] + by * last[0] : q[0], rate, &normal);
                k[stage][2] = -d.friction * normal / MASS;
            }
            for (int j = 0; j < 3; j++) {
                double change = h / 6 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
                *(j == 2 ? &v : &q[j]) += change;
            }
        }
        if (d.friction < 1)
            v = 1 - d.friction * G * end.time;
        print_message("mu h / (2 r) = %g: tilt %.3g off by %.2g, rate by %.2g, speed by %.2g\n",
                      d.friction, q[0], fabs(asin(end.tilt) - q[0]), fabs(end.twist.w.y - q[1]),
                      fabs(end.twist.v.x - v));
        assert_true(fabs(asin(end.tilt) - q[0]) < 1e-9 && fabs(end.twist.w.y - q[1]) < 2e-8);
        assert_true(fabs(end.twist.v.x - v) < 1e-9 && fabs(end.twist.w.x) < 1e-10);
        assert_true(d.friction < 1 || q[0] > 1e-4);
    }
}

/* A resting disc whose weight points beyond the rim turns about its edge, and one whose weight does
 * not rests; the pull at its centre is then m g r / (h / 2). */
static void a_disc_on_a_slope_tips(void **state)
{
    (void)state;
    for (int n = 0; n < 8; n++) {
        static const double steep[] = {0.99, 0.9999, 1.0001, 1.05};
        double angle = atan(RADIUS / 0.05 * steep[n % 4]);
        disc d = lying(0.1, n < 4 ? 2 : -1, still);
        d.turn = gw_quat_unit(turns[n / 4]);
        d.gravity = gw_v3(G * sin(angle), 0, -G * cos(angle));
        place end = after(&d, 0.2);
        double arm = hypot(RADIUS, 0.05), inertia = across(&d) + MASS * arm * arm;
        double fell = gw_dot(d.gravity, gw_sub(end.p, gw_v3(0, 0, 0.05)));
        double rate = end.twist.w.y, error = fabs(0.5 * inertia * rate * rate - MASS * fell);
        print_message("%g of the slope: rate %.6g rad/s, energy of turning off by %.2g J\n",
                      steep[n % 4], rate, error);
        assert_true(steep[n % 4] < 1 ? end.tilt < 1e-13 && rate < 1e-12
                                     : error < 1e-12 && rate > 5e-4);
        gw_vec3 edge = gw_v3(RADIUS, 0, 0); /* it does not move */
        double way = fabs(gw_distance(end.p, edge) - arm);
        assert_true(way < 1e-10 && end.dissipated < 1e-12);
    }
}

/* ---- falling -------------------------------------------------------------------------------- */

/* A tilted disc falls flat and stays: what it had is dissipated at once. */
static void a_disc_falls_flat(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        disc d = lying(0.04, n < 2 ? -1 : 0.3, still);
        d.tilt = 0.3;
        d.turn = gw_quat_unit(turns[n % 2]);
        double before = MASS * G * (RADIUS * sin(0.3) + 0.02 * cos(0.3) - 0.02);
        place falling = after(&d, 0.05), end = after(&d, 0.3);
        print_message("dissipated %.2g J on the way, %.12g in all, should be %.12g\n",
                      falling.dissipated, end.dissipated, before);
        assert_true(fabs(end.dissipated - before) < 1e-12);
        assert_true(end.tilt < 1e-13 && gw_norm(end.twist.v) + gw_norm(end.twist.w) < 1e-15);
        assert_true(n >= 2 || fabs(falling.dissipated) < 1e-13);
        assert_true(falling.tilt > 0.05);
    }
}

/* So does one whose contact is kept both ways. On a slope it tips as one that may lift off. */
static void a_kept_rim_falls_and_tips(void **state)
{
    (void)state;
    static const gw_constraint_kind kinds[] = {GW_ROLLING, GW_SLIDING, GW_PURE_ROLLING};
    for (int n = 0; n < 6; n++) {
        disc d = lying(0.04, -1, still);
        d.kept = true;
        d.kind = kinds[n % 3];
        d.tilt = 0.3;
        d.turn = gw_quat_unit(turns[n / 3]);
        double before = MASS * G * (RADIUS * sin(0.3) + 0.02 * cos(0.3) - 0.02);
        place end = after(&d, 0.3);
        double moves = gw_norm(end.twist.v) + gw_norm(end.twist.w);
        print_message("%s: dissipated %.12g J, should be %.12g; then moves at %.2g\n",
                      gw_any_constraint_name(d.kind), end.dissipated, before, moves);
        assert_true(fabs(end.dissipated - before) < 1e-11);
        assert_true(end.tilt < 1e-13 && moves < 1e-12);
    }
    for (int n = 0; n < 2; n++) {
        place end[2];
        double angle = atan(n ? 1.05 : 0.9999);
        for (int kept = 0; kept < 2; kept++) {
            disc d = lying(0.1, -1, still);
            d.gravity = gw_v3(G * sin(angle), 0, -G * cos(angle));
            d.kept = kept;
            end[kept] = after(&d, 0.2);
        }
        double off = gw_distance(end[0].p, end[1].p);
        print_message("tilt %.6g, differs by %.2g m\n", end[1].tilt, off);
        assert_true(off < 1e-12 && (n ? end[1].tilt > 0.05 : end[1].tilt < 1e-13));
    }
}

/* Friction acts in its impact too: while it slides in one direction, its momentum along that
 * changes by mu times the impulse of its weight. */
static void a_falling_disc_slides_on(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        disc d = lying(0.04, 0.2, (gw_twist){{n ? 1 : -1, 0, 0}, {0, 0, 0}});
        d.tilt = 0.3;
        place end = after(&d, 0.15);
        double v = 1 - 0.2 * G * end.time, off = fabs(fabs(end.twist.v.x) - v);
        print_message("%.12g m/s, off by %.2g\n", end.twist.v.x, off);
        assert_true(off < 1e-10 && end.tilt < 1e-13);
    }
}

/* A disc that lies strikes another elastically: that one goes on with its speed. */
static void a_disc_strikes_another(void **state)
{
    (void)state;
    running r;
    disc d = lying(0.04, 0.2, (gw_twist){{1, 0, 0}, {0, 0, 0}});
    gw_scene *s = scene_with(&d);
    s->materials[0].surface.restitution = 1;
    s->contact.enabled = true;
    gw_object *o = add_solid(s, "other", s->objects[1].shape, gw_v3(0.15, 0, 0.02), MASS);
    strcpy(o->material, "rubber");
    join(s, "lies", GW_ROLLING, "other", "bottom-rim", "floor", "+z")->unilateral =
        GW_CONTACT_UNILATERAL;
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 600; i++)
        now = running_tick(&r);
    double ways = body(now, &r, "disc")->pose.p.x + body(now, &r, "other")->pose.p.x - 0.15;
    print_message("%.12g m in all, should be %.12g\n", ways, 1 / (0.4 * G));
    assert_true(fabs(ways - 1 / (0.4 * G)) < 1e-9 && fabs(energy_error(now)) < 1e-12);
    assert_true(fabs(body(now, &r, "disc")->pose.p.x - 0.05) < 1e-9);
    running_close(&r);
}

/* A tall one rocks from edge to edge. With the moment of inertia J about an edge, each impact
 * leaves 1 - 2 m r^2 / J of its rate (Housner 1963). */
static void a_tall_disc_rocks(void **state)
{
    (void)state;
    disc d = lying(0.2, -1, still);
    d.tilt = 0.2;
    running r;
    start(&r, &d);
    double lost[4] = {0}, total = MASS * G * (RADIUS * sin(0.2) + 0.1 * cos(0.2) - 0.1);
    double inertia = across(&d) + MASS * (RADIUS * RADIUS + 0.01);
    double left = pow(1 - 2 * MASS * RADIUS * RADIUS / inertia, 2);
    int count = 0;
    for (int i = 0; i < 500 && count < 4; i++) {
        double now = running_tick(&r)->energy.dissipated, sum = 0;
        for (int k = 0; k < count; k++)
            sum += lost[k];
        if (now - sum > 1e-6)
            lost[count++] = now - sum;
    }
    running_close(&r);
    print_message("lost %.9f %.9f %.9f J of %.9f\n", lost[0], lost[1], lost[2], total);
    assert_true(count >= 3);
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(lost[k] - (1 - left) * total) < 1e-8);
        total *= left;
    }
}

/* A coin that rolls keeps its energy as it passes a nearly flat posture and rises again. */
static void a_rolling_coin_passes_a_flat_posture(void **state)
{
    (void)state;
    disc d = lying(0.002, -1, (gw_twist){{0, 0, 0}, {0.3, 0, 0}});
    d.tilt = 0.3;
    running r;
    start(&r, &d);
    double least = 1, most = 0, first = NAN;
    for (int i = 0; i < 1000; i++) {
        const gw_snapshot *now = running_tick(&r);
        place p = of_snapshot(&r, &d, now);
        double energy = now->energy.kinetic + now->energy.potential;
        first = i == 1 ? energy : first;
        least = fmin(least, p.tilt);
        most = i > 1 ? fmax(most, fabs(energy - first)) : most;
    }
    print_message("least tilt %.3g, energy changes by %.2g J of %.2g\n", least, most, first);
    assert_true(least < 0.01 && least > 1e-4 && most < 5e-9);
    running_close(&r);
}

/* Dropped flat, it lands flat. */
static void a_disc_lands_flat(void **state)
{
    (void)state;
    running r;
    disc d = lying(0.04, 0.3, (gw_twist){{0.2, 0, 0.5}, {0, 0, 0}});
    d.turn = gw_quat_unit(turns[1]);
    start(&r, &d);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 600; i++)
        now = running_tick(&r);
    place end = of_snapshot(&r, &d, now);
    assert_true(end.tilt < 1e-13 && fabs(end.p.z - 0.02) < 1e-13 &&
                fabs(energy_error(now)) < 1e-12);
    assert_true(gw_norm(end.twist.v) < 1e-13);
    running_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disc_slides_flat),
        cmocka_unit_test(a_disc_spins_and_slides),
        cmocka_unit_test(a_point_of_the_rim_stops),
        cmocka_unit_test(a_disc_begins_to_slide),
        cmocka_unit_test(a_disc_begins_to_spin),
        cmocka_unit_test(a_tall_disc_tips_as_it_slides),
        cmocka_unit_test(a_disc_on_a_slope_tips),
        cmocka_unit_test(a_disc_falls_flat),
        cmocka_unit_test(a_kept_rim_falls_and_tips),
        cmocka_unit_test(a_falling_disc_slides_on),
        cmocka_unit_test(a_disc_strikes_another),
        cmocka_unit_test(a_tall_disc_rocks),
        cmocka_unit_test(a_rolling_coin_passes_a_flat_posture),
        cmocka_unit_test(a_disc_lands_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
