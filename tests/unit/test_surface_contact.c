/*
 * Contacts of curved surfaces: rows against central differences, motions against closed forms and
 * against the equations of a rolling body integrated on their own.
 */
#include "rt/dynamics/surface_contact.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/nurbs_fixture.h"
#include "tests/unit/rolling.h"

static gw_surface shape(const gw_nurbs *nurbs)
{
    return (gw_surface){.kind = nurbs->dimension == 2 ? GW_SURFACE_FREE_FORM : GW_SURFACE_CURVE,
                        .axis = {0, 0, 1},
                        .turn = {1, 0, 0, 0},
                        .nurbs = nurbs};
}

static gw_surface ellipsoid(double a, double b, double c)
{
    return (gw_surface){.kind = GW_SURFACE_ELLIPSOID, .turn = {1, 0, 0, 0}, .semi_axes = {a, b, c}};
}

/* ---- where they are closest ------------------------------------------------------------------ */

static gw_vec3 point_of(const gw_nurbs *s, const gw_pose *at, const double x[2])
{
    gw_nurbs_point point;
    gw_nurbs_evaluate(s, x, 0, NULL, &point);
    return gw_pose_point(at, point.d[0][0]);
}

static double nearest_on(const gw_nurbs *s, const gw_pose *at, gw_vec3 to, double x[2])
{
    gw_nurbs_nearest nearest;
    gw_nurbs_nearest_point(s, gw_unrotate(at->q, gw_sub(to, at->p)), &nearest);
    memcpy(x, nearest.parameter, sizeof nearest.parameter);
    return nearest.distance;
}

/* From every point of a grid on a, and by turns from the closest of them. */
static double exhaustive(const gw_nurbs *s[2], const gw_pose at[2], double x[2][2])
{
    enum { N = 50 };
    double best = HUGE_VAL, z[2], on[2];
    for (int i = 0; i < N * N; i++) {
        for (int k = 0; k < 2; k++) {
            const gw_nurbs_direction *d = &s[0]->direction[k];
            z[k] = d->low + ((k ? i / N : i % N) + 0.5) / N * (d->high - d->low);
        }
        double distance = nearest_on(s[1], &at[1], point_of(s[0], &at[0], z), on);
        if (distance >= best)
            continue;
        best = distance;
        memcpy(x[0], z, sizeof z);
        memcpy(x[1], on, sizeof on);
    }
    for (double was = HUGE_VAL; was - best > 1e-13;) {
        was = best;
        nearest_on(s[0], &at[0], point_of(s[1], &at[1], x[1]), x[0]);
        best = nearest_on(s[1], &at[1], point_of(s[0], &at[0], x[0]), x[1]);
    }
    return best;
}

static bool inside(const gw_nurbs *s, const double x[2])
{
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        double beside = 1e-3 * (d->high - d->low);
        if (x[k] < d->low + beside || x[k] > d->high - beside)
            return false;
    }
    return true;
}

/* Waves of 100 patches over one another: an eighth of the domain is more than a wave. */
static void the_closest_points_of_two_surfaces_are_found(void **state)
{
    (void)state;
    unsigned long long seed = 7;
    int looked_at = 0;
    for (int trial = 0; trial < 24; trial++) {
        const gw_nurbs *s[2] = {random_bicubic(&seed, 10, 0.02), random_bicubic(&seed, 10, 0.02)};
        gw_quat turn = gw_quat_axis(gw_v3(0, 0, 1), gw_random_uniform(&seed, -1, 1));
        gw_pose at[2] = {{{0, 0, 0}, gw_quat_mul(turn, gw_quat_axis(gw_v3(1, 0, 0), GW_PI))},
                         gw_pose_identity()};
        gw_vec3 half[2], middle[2];
        for (int i = 0; i < 2; i++) {
            half[i] = gw_scale(0.5, gw_sub(s[i]->bounds.high, s[i]->bounds.low));
            middle[i] = gw_rotate(at[i].q, gw_add(s[i]->bounds.low, half[i]));
        }
        at[0].p = gw_sub(middle[1], middle[0]);
        at[0].p.z += half[0].z + half[1].z + 0.01;
        double x[2][2], best = exhaustive(s, at, x);
        gw_pose to_a = gw_pose_inverse(&at[0]), a_from_b = gw_pose_mul(&to_a, &at[1]);
        gw_nurbs_pair pair;
        gw_nurbs_nearest_pair(s[0], s[1], &a_from_b, 4000, &pair);
        gw_vec3 apart = gw_sub(point_of(s[0], &at[0], pair.parameter[0]),
                               point_of(s[1], &at[1], pair.parameter[1]));
        assert_true(fabs(gw_norm(apart) - pair.distance) < 1e-12);
        assert_true(pair.distance < best + 1e-7 && pair.bound <= best && pair.bound > 0);
        if (inside(s[0], pair.parameter[0]) && inside(s[1], pair.parameter[1])) {
            gw_closure_contact k = {.on_a = shape(s[0]), .on_b = shape(s[1])};
            gw_body_frame frame[2];
            for (int i = 0; i < 2; i++)
                frame[i] = (gw_body_frame){.turn = gw_quat_to_mat3(at[i].q), .p = at[i].p};
            gw_contact_point point = {.known = false};
            gw_contact_state found;
            assert_true(gw_surface_contact_at(&k, &frame[0], &frame[1], &point, &found));
            assert_true(fabs(found.gap) < pair.distance + 1e-7);
            looked_at++;
        }
        for (int i = 0; i < 2; i++)
            gw_nurbs_put((gw_nurbs *)s[i]);
    }
    assert_true(looked_at >= 8);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void rows_are_derivatives_apart_and_through(void **state)
{
    (void)state;
    srand(4);
    gw_nurbs *egg = gw_nurbs_ellipsoid(gw_v3(0.3, 0.2, 0.25), NULL);
    gw_nurbs *ring = gw_nurbs_circle(0.15, NULL);
    gw_surface ball = surface_at(GW_SURFACE_SPHERE, gw_v3(0.02, 0.01, -0.03), zero, 0.07);
    gw_surface flat = surface_at(GW_SURFACE_PLANE, gw_v3(0.1, 0, 0), gw_unit(gw_v3(1, 2, -1)), 0);
    gw_surface stone = ellipsoid(0.12, 0.08, 0.1);
    stone.point = gw_v3(0.02, -0.03, 0.01);
    stone.turn = gw_quat_exp(gw_v3(0.3, 0.7, -0.4));
    gw_surface egg_there = shape(egg);
    egg_there.point = stone.point, egg_there.turn = stone.turn;
    for (int motion = 0; motion < 3; motion++) {
        gw_contact_motion m = (gw_contact_motion)motion;
        rows_are_derivatives(contact(0, ball, 1, egg_there, m));
        rows_are_derivatives(contact(0, stone, 1, egg_there, m));
        rows_are_derivatives(contact(0, stone, 1, flat, m));
        rows_are_derivatives(contact(0, egg_there, 1, flat, m));
        rows_are_derivatives(contact(0, shape(ring), 1, egg_there, m));
    }
    gw_nurbs_put(egg);
    gw_nurbs_put(ring);
}

/* ---- a rolling body by itself ---------------------------------------------------------------- */

/* The arm from the centre of an ellipsoid or a torus to where it touches the plane below, and its
 * rate; n up, in the body's axes. */
typedef struct roller {
    gw_mass mass;
    gw_vec3 semi_axes; /* of an ellipsoid, or: */
    double ring, tube; /* radii of a torus about z */
} roller;

static gw_vec3 arm_of(const roller *r, gw_vec3 n)
{
    if (r->tube > 0) {
        double out = hypot(n.x, n.y);
        return gw_sub(gw_scale(-r->tube, n), gw_scale(r->ring / out, gw_v3(n.x, n.y, 0)));
    }
    gw_vec3 d = {r->semi_axes.x * n.x, r->semi_axes.y * n.y, r->semi_axes.z * n.z};
    double over = -1 / gw_norm(d);
    return gw_v3(over * r->semi_axes.x * d.x, over * r->semi_axes.y * d.y,
                 over * r->semi_axes.z * d.z);
}

typedef struct rolling {
    gw_quat q;
    gw_vec3 w, p; /* spin in the body's axes, position of the centre */
} rolling;

/* With all in the body's axes, s the arm, n up: v = -w x s, and
 *   I w' + w x I w = s x (m (v' + w x v) + m g n),  v' = -w' x s - w x s' */
static rolling rates_of(const roller *r, const rolling *x)
{
    gw_vec3 n = gw_unrotate(x->q, ez), w = x->w, s = arm_of(r, n), n_dot = gw_cross(n, w);
    double h = 1e-5, m = r->mass.mass;
    gw_vec3 s_dot = gw_sub(
        gw_scale(8,
                 gw_sub(arm_of(r, gw_mul_add(n, h, n_dot)), arm_of(r, gw_mul_add(n, -h, n_dot)))),
        gw_sub(arm_of(r, gw_mul_add(n, 2 * h, n_dot)), arm_of(r, gw_mul_add(n, -2 * h, n_dot))));
    s_dot = gw_scale(1 / (12 * h), s_dot);
    gw_vec3 v = gw_neg(gw_cross(w, s));
    gw_vec3 rest = gw_sub(gw_cross(w, v), gw_cross(w, s_dot));
    gw_vec3 push = gw_scale(m, gw_mul_add(rest, G, n));
    gw_vec3 right = gw_sub(gw_cross(s, push), gw_cross(w, gw_mat3_mul(&r->mass.inertia, w)));
    /* (I + m (s.s - s s^T)) w' = right */
    gw_mat3 a = r->mass.inertia;
    const double e[3] = {s.x, s.y, s.z};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            a.m[i][j] += m * ((i == j) * gw_norm2(s) - e[i] * e[j]);
    gw_vec3 c0 = {a.m[0][0], a.m[1][0], a.m[2][0]}, c1 = {a.m[0][1], a.m[1][1], a.m[2][1]},
            c2 = {a.m[0][2], a.m[1][2], a.m[2][2]};
    double det = gw_dot(c0, gw_cross(c1, c2));
    rolling d;
    d.w = gw_v3(gw_dot(right, gw_cross(c1, c2)) / det, gw_dot(c0, gw_cross(right, c2)) / det,
                gw_dot(c0, gw_cross(c1, right)) / det);
    d.p = gw_rotate(x->q, v);
    d.q = gw_quat_mul(x->q, (gw_quat){0, 0.5 * w.x, 0.5 * w.y, 0.5 * w.z});
    return d;
}

static rolling ahead(const rolling *x, double h, const rolling *d)
{
    return (rolling){
        {x->q.w + h * d->q.w, x->q.x + h * d->q.x, x->q.y + h * d->q.y, x->q.z + h * d->q.z},
        gw_mul_add(x->w, h, d->w),
        gw_mul_add(x->p, h, d->p)};
}

static void integrate(const roller *r, rolling *x, double seconds, double h)
{
    for (int n = (int)lround(seconds / h); n > 0; n--) {
        rolling a = rates_of(r, x), xb = ahead(x, h / 2, &a), b = rates_of(r, &xb);
        rolling xc = ahead(x, h / 2, &b), c = rates_of(r, &xc), xd = ahead(x, h, &c);
        rolling d = rates_of(r, &xd);
        *x = ahead(x, h / 6, &a);
        *x = ahead(x, h / 3, &b);
        *x = ahead(x, h / 3, &c);
        *x = ahead(x, h / 6, &d);
        x->q = gw_quat_unit(x->q);
    }
}

/* A system with that body on the plane z = 0. */
static gw_system *rolling_system(const roller *r, gw_surface surface, const rolling *x)
{
    gw_system_body_def body = joined(GW_MOBILIZER_FREE, r->mass);
    gw_vec3 turn = gw_quat_log(x->q), w = gw_rotate(x->q, x->w);
    gw_vec3 s = gw_rotate(x->q, arm_of(r, gw_unrotate(x->q, ez)));
    gw_vec3 v = gw_neg(gw_cross(w, s));
    double position[6] = {x->p.x, x->p.y, -s.z, turn.x, turn.y, turn.z};
    double velocity[6] = {v.x, v.y, v.z, w.x, w.y, w.z};
    memcpy(body.position, position, sizeof position);
    memcpy(body.velocity, velocity, sizeof velocity);
    gw_closure_def c = contact(0, surface, GW_GROUND, plane(ez), GW_CONTACT_ROLLS);
    return make(&body, 1, &c, 1, gw_v3(0, 0, -G));
}

static void check_rolling(const char *name, const roller *r, gw_surface surface, rolling x,
                          double seconds, double tolerance)
{
    x.p = gw_v3(0, 0, -gw_rotate(x.q, arm_of(r, gw_unrotate(x.q, ez))).z);
    gw_system *s = rolling_system(r, surface, &x);
    double off = 0, slip = 0, gap = 0, before = total(s);
    for (double t = 0; t < seconds - 1e-9; t += 0.25) {
        integrate(r, &x, 0.25, 2.5e-5);
        run(s, 0.25);
        gw_pose at = s->bodies[0].pose;
        off = fmax(off, gw_distance(at.p, x.p));
        off = fmax(off, gw_quat_angle(at.q, x.q));
        slip = fmax(slip, gw_system_slip_velocity(s));
        gap = fmax(gap, gw_system_residual(s));
    }
    print_message("%s: off %.1e, slip %.1e m/s, gap %.1e m, energy %.1e J of %.3g\n", name, off,
                  slip, gap, total(s) - before, before);
    assert_true(off < tolerance);
    assert_true(slip < 1e-10);
    assert_true(gap < 1e-12 * 0.1);
    assert_true(fabs(total(s) - before) < 1e-8 * before);
    gw_system_destroy(s);
}

static void ellipsoids_roll_on_a_plane(void **state)
{
    (void)state;
    gw_nurbs *egg = gw_nurbs_ellipsoid(gw_v3(0.1, 0.06, 0.07), NULL);
    roller r = {.mass = diagonal(1, 1.7e-3, 3e-3, 2.7e-3), .semi_axes = {0.1, 0.06, 0.07}};
    rolling x = {gw_quat_exp(gw_v3(0.3, 0.2, -0.1)), {2, 1, -1.5}, zero};
    check_rolling("ellipsoid", &r, ellipsoid(0.1, 0.06, 0.07), x, 2, 1e-6);
    check_rolling("ellipsoid of free form", &r, shape(egg), x, 0.5, 1e-6);
    gw_nurbs_put(egg);
}

static void a_torus_rolls_on_a_plane(void **state)
{
    (void)state;
    gw_nurbs *torus = gw_nurbs_torus(0.1, 0.03, NULL);
    roller r = {.mass = diagonal(1, 5.6e-3, 5.6e-3, 1.07e-2), .ring = 0.1, .tube = 0.03};
    rolling x = {gw_quat_exp(gw_v3(1.2, 0, 0)), {0, 0.3, 6}, zero};
    check_rolling("torus", &r, shape(torus), x, 2, 1e-6);
    gw_nurbs_put(torus);
}

/* A rattleback: principal axes of the inertia turned a little against those of the surface. Spun
 * the one way it rattles and turns back. */
static void a_rattleback_turns_back(void **state)
{
    (void)state;
    gw_vec3 semi = {0.1, 0.02, 0.015};
    double c = cos(0.1), k = sin(0.1), ix = 4e-5, iy = 1.2e-3;
    roller r = {.mass = {0.4, zero, {{{0}}}}, .semi_axes = semi};
    r.mass.inertia = (gw_mat3){{{ix * c * c + iy * k * k, (ix - iy) * c * k, 0},
                                {(ix - iy) * c * k, ix * k * k + iy * c * c, 0},
                                {0, 0, 1.2e-3}}};
    rolling x = {gw_quat_exp(gw_v3(0.01, 0.01, 0)), {0, 0, -4}, zero}, y = x;
    double most = -4;
    for (int i = 0; i < 40; i++) {
        integrate(&r, &y, 0.1, 1e-4);
        most = fmax(most, y.w.z);
    }
    print_message("rattleback: spin from -4 to %.3g rad/s\n", most);
    assert_true(most > 1);
    check_rolling("rattleback", &r, ellipsoid(semi.x, semi.y, semi.z), x, 3, 1e-5);
}

/* ---- closed forms ---------------------------------------------------------------------------- */

static void a_ball_in_a_free_form_tube_goes_up_and_down(void **state)
{
    (void)state;
    double tube = 0.5, r = 0.1, round = 4, n = sqrt(2. / 7) * round, away = tube - r;
    gw_nurbs *surface = gw_nurbs_cylinder(tube, 10, NULL),
             *round_ball = gw_nurbs_ellipsoid(gw_v3(r, r, r), NULL);
    for (int which = 0; which < 2; which++) {
        gw_system_body_def ball = solid_ball(r);
        ball.position[0] = away;
        ball.velocity[1] = round * away;
        ball.velocity[5] = -round * away / r;
        gw_closure_def c = contact(0, which ? shape(round_ball) : sphere(r), GW_GROUND,
                                   shape(surface), GW_CONTACT_ROLLS);
        c.contact.inside = true;
        gw_system *s = make(&ball, 1, &c, 1, gw_v3(0, 0, -G));
        double worst = 0, before = total(s);
        for (int k = 1; k <= (which ? 1 : 5); k++) {
            double q[6], v[6];
            run(s, 1);
            gw_system_joint(s, 0, q, v);
            double z = -5 * G / 7 * (1 - cos(n * k)) / (n * n);
            worst =
                fmax(worst, gw_distance(gw_v3(q[0], q[1], q[2]),
                                        gw_v3(away * cos(round * k), away * sin(round * k), z)));
        }
        print_message("ball in a tube off %.2e m, slip %.1e m/s\n", worst,
                      gw_system_slip_velocity(s));
        assert_true(worst < 1e-7);
        assert_true(fabs(total(s) - before) < 1e-8);
        assert_true(gw_system_slip_velocity(s) < 1e-10);
        gw_system_destroy(s);
    }
    gw_nurbs_put(surface);
    gw_nurbs_put(round_ball);
}

/* On a sphere R from rest near the top, s = R + r: (7/10) (s theta')^2 = g s (cos0 - cos); it
 * presses until g cos = s theta'^2, which from the top is at cos = 10/17. */
static void a_ball_leaves_a_sphere_at_ten_seventeenths(void **state)
{
    (void)state;
    double big = 0.5, r = 0.1, s0 = big + r, start = 0.02;
    gw_nurbs *globe = gw_nurbs_ellipsoid(gw_v3(big, big, big), NULL),
             *ball_shape = gw_nurbs_ellipsoid(gw_v3(r, r, r), NULL);
    for (int which = 0; which < 2; which++) {
        gw_system_body_def ball = solid_ball(r);
        ball.position[0] = s0 * sin(start), ball.position[2] = s0 * cos(start);
        gw_surface on_b = shape(globe);
        on_b.turn = gw_quat_axis(ex, GW_PI / 2); /* its poles aside */
        gw_surface on_a = which ? shape(ball_shape) : sphere(r);
        on_a.turn = on_b.turn;
        gw_closure_def c = contact(0, on_a, GW_GROUND, on_b, GW_CONTACT_ROLLS);
        gw_system *s = make(&ball, 1, &c, 1, gw_v3(0, 0, -G));
        double before = 0, cosine = 1, leaves = 0, first = cos(start);
        for (int k = 0; k < 3000 && leaves == 0; k++) {
            double q[6], v[6];
            run(s, 1e-3);
            gw_system_joint(s, 0, q, v);
            double cos_now = q[2] / s0, press = G * cos_now - (v[0] * v[0] + v[2] * v[2]) / s0;
            double square = 10. / 7 * G * s0 * (first - cos_now);
            assert_true(fabs(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] - square) < 1e-9);
            if (press < 0)
                leaves = cosine + (cos_now - cosine) * before / (before - press);
            before = press, cosine = cos_now;
        }
        print_message("leaves at cos %.9g, %.9g expected\n", leaves, 10. / 17 * first);
        assert_true(fabs(leaves - 10. / 17 * first) < 1e-6);
        gw_system_destroy(s);
    }
    gw_nurbs_put(globe);
    gw_nurbs_put(ball_shape);
}

/* The same motion whether the ball is a primitive or of free form; it slides, rolls, or rolls
 * without spin over a saddle. */
static void a_ball_on_a_saddle_is_one_and_the_same(void **state)
{
    (void)state;
    double r = 0.05;
    gw_nurbs *surface = saddle_of(0.5, 1), *ball_shape = gw_nurbs_ellipsoid(gw_v3(r, r, r), NULL);
    for (int motion = 0; motion < 3; motion++) {
        gw_vec3 end[3];
        for (int which = 0; which < 3; which++) {
            gw_system_body_def ball = solid_ball(r);
            ball.position[0] = 0.3, ball.position[2] = 0.1;
            ball.velocity[1] = 0.1;
            gw_surface on_a = which == 1   ? shape(ball_shape)
                              : which == 2 ? ellipsoid(r, r, r)
                                           : sphere(r);
            on_a.turn = gw_quat_axis(ex, GW_PI / 2);
            gw_closure_def c =
                contact(0, on_a, GW_GROUND, shape(surface), (gw_contact_motion)motion);
            gw_system *s = make(&ball, 1, &c, 1, gw_v3(0, 0, -G));
            double before = total(s);
            run(s, 0.8);
            end[which] = s->bodies[0].pose.p;
            assert_true(fabs(total(s) - before) < 1e-8);
            assert_true(gw_system_residual(s) < 1e-13);
            assert_true(gw_system_slip_velocity(s) < 1e-10);
            gw_system_destroy(s);
        }
        print_message("apart by %.1e and %.1e m at (%g, %g)\n", gw_distance(end[0], end[1]),
                      gw_distance(end[0], end[2]), end[0].x, end[0].y);
        assert_true(gw_distance(end[0], end[1]) < 1e-9);
        assert_true(gw_distance(end[0], end[2]) < 1e-9);
    }
    gw_nurbs_put(surface);
    gw_nurbs_put(ball_shape);
}

/* A ball and a free-form egg on a saddle, each tied to a contact point over it by a spring, without
 * friction: they never leave it, do not slip, and keep their energy. SADDLE_SECONDS=600 for ten
 * minutes. */
static void nothing_drifts_on_a_saddle(void **state)
{
    (void)state;
    const char *asked = getenv("SADDLE_SECONDS");
    int seconds = asked ? atoi(asked) : 10;
    double r = 0.05;
    gw_nurbs *surface = saddle_of(0.5, 1), *egg = gw_nurbs_ellipsoid(gw_v3(0.08, r, 0.06), NULL);
    for (int motion = 0; motion < 3; motion++)
        for (int which = 0; which < 2; which++) {
            gw_system_body_def body = joined(GW_MOBILIZER_FREE, diagonal(1, 1e-3, 2e-3, 1.5e-3));
            body.position[0] = 0.1, body.position[2] = 0.06;
            body.velocity[1] = 0.2, body.velocity[3] = 1, body.velocity[5] = 2;
            gw_closure_def c = contact(0, which ? shape(egg) : sphere(r), GW_GROUND, shape(surface),
                                       (gw_contact_motion)motion);
            c.contact.on_a.turn = gw_quat_axis(ex, GW_PI / 2);
            gw_system_spring_def spring = {.a = 0, .b = GW_GROUND, .stiffness = 20};
            spring.on_b = gw_v3(0.02, 0.03, 0.05);
            gw_system_def def = {.body_count = 1,
                                 .closure_count = 1,
                                 .spring_count = 1,
                                 .bodies = &body,
                                 .closures = &c,
                                 .springs = &spring};
            gw_system *s = gw_system_create(&def, NULL);
            assert_non_null(s);
            double before = total(s), gap = 0, slip = 0, way = 0;
            for (int k = 0; k < 50 * seconds; k++) {
                gw_vec3 last = s->bodies[0].pose.p;
                run(s, 0.02);
                gap = fmax(gap, gw_system_residual(s));
                slip = fmax(slip, gw_system_slip_velocity(s));
                way += gw_distance(last, s->bodies[0].pose.p);
            }
            double off = fabs(total(s) - before);
            print_message("%s, motion %d: %.3g m in %d s, gap %.1e m, slip %.1e m/s, energy off by "
                          "%.1e of %.2g J\n",
                          which ? "egg" : "ball", motion, way, seconds, gap, slip, off, before);
            assert_true(gap < 1e-12 * r && slip < 1e-10);
            assert_true(off < 1e-8 * before);
            assert_true(way > 0.05 * seconds);
            gw_system_destroy(s);
        }
    gw_nurbs_put(surface);
    gw_nurbs_put(egg);
}

/* Two equal ellipses on axles through a focus each roll on one another: a curve on the rim of a
 * cylinder over the other, tan(phi / 2) = (1 + e) / (1 - e) tan(theta / 2). */
static gw_nurbs *ellipse(double a, double b, double height)
{
    static const double x[9] = {1, 1, 0, -1, -1, -1, 0, 1, 1},
                        y[9] = {0, 1, 1, 1, 0, -1, -1, -1, 0};
    static const double round[] = {0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4}, straight[] = {0, 0, 1, 1};
    gw_vec3 points[18];
    double weights[18], c = sqrt(a * a - b * b);
    int across = height > 0 ? 2 : 1;
    for (int i = 0; i < 9 * across; i++) {
        int k = i / across;
        points[i] = gw_v3(c + a * x[k], b * y[k], height * (i % across - 0.5) * (across - 1));
        weights[i] = k % 2 ? sqrt(0.5) : 1;
    }
    return gw_nurbs_create(&(gw_nurbs_def){.dimension = across,
                                           .degree = {2, 1},
                                           .count = {9, 2},
                                           .knot_count = {12, 4},
                                           .knots = {round, straight},
                                           .points = points,
                                           .weights = weights},
                           NULL);
}

static void ellipses_roll_about_their_foci(void **state)
{
    (void)state;
    double a = 0.08, e = 0.4, b = a * sqrt(1 - e * e), theta = 0.5, k = (1 + e) / (1 - e);
    gw_nurbs *rim = ellipse(a, b, 0.02), *line = ellipse(a, b, 0);
    gw_system_body_def bodies[2];
    for (int i = 0; i < 2; i++) {
        bodies[i] = joined(GW_MOBILIZER_REVOLUTE, diagonal(0.5, 1e-3, 1e-3, 2e-3));
        bodies[i].parent_from_f.p = gw_v3(2 * a * i, 0, 0);
        bodies[i].keeps_position = bodies[i].keeps_velocity = i == 0;
    }
    bodies[0].position[0] = theta, bodies[0].velocity[0] = 3;
    bodies[1].position[0] = -2 * atan(k * tan(theta / 2)) + 0.01;
    gw_closure_def c = contact(1, shape(line), 0, shape(rim), GW_CONTACT_SLIDES);
    gw_system *s = make(bodies, 2, &c, 1, zero);
    double worst = 0, before = total(s), q[6], v[6];
    assert_int_equal(gw_system_mobility(s), 1);
    for (int i = 0; i < 20; i++) {
        run(s, 0.02);
        gw_system_joint(s, 0, q, v);
        theta = q[0];
        gw_system_joint(s, 1, q, v);
        worst = fmax(worst, fabs(q[0] + 2 * atan(k * tan(theta / 2))));
    }
    print_message("ellipses off %.1e rad at %g, energy %.1e J\n", worst, theta, total(s) - before);
    assert_true(theta > 1.2 && theta < 3);
    assert_true(worst < 1e-11);
    assert_true(fabs(total(s) - before) < 1e-10);
    gw_system_destroy(s);
    gw_nurbs_put(rim);
    gw_nurbs_put(line);
}

static void surfaces_that_conform_or_cross_are_named(void **state)
{
    (void)state;
    gw_nurbs *bole = gw_nurbs_cylinder(0.1, 0.3, NULL), *valley = saddle_of(0.05, 0.5);
    gw_nurbs *tube = gw_nurbs_cylinder(0.2, 1, NULL), *ring = gw_nurbs_circle(0.1, NULL);
    gw_surface lying = shape(bole);
    lying.turn = gw_quat_axis(ex, GW_PI / 2);
    refused(contact(0, lying, GW_GROUND, plane(ez), GW_CONTACT_ROLLS), gw_v3(0, 0, 0.1), "conform");
    gw_closure_def inside = contact(0, sphere(0.2), GW_GROUND, shape(tube), GW_CONTACT_ROLLS);
    inside.contact.inside = true;
    refused(inside, gw_v3(1e-3, 0, 0), "conform");
    refused(contact(0, ellipsoid(0.3, 0.3, 0.05), GW_GROUND, shape(valley), GW_CONTACT_SLIDES),
            gw_v3(0, 0, 0.05), "cross");
    refused(contact(0, sphere(0.1), GW_GROUND, shape(ring), GW_CONTACT_SLIDES), zero, "a curve");
    gw_nurbs_put(bole);
    gw_nurbs_put(valley);
    gw_nurbs_put(tube);
    gw_nurbs_put(ring);
}

/* ---- edges ----------------------------------------------------------------------------------- */

static gw_body_frame frame_moved(const gw_pose *pose, const gw_twist *twist, double t)
{
    gw_quat q = gw_quat_mul(gw_quat_exp(gw_scale(t, twist->w)), pose->q);
    return (gw_body_frame){gw_quat_to_mat3(q), gw_mul_add(pose->p, t, twist->v), *twist};
}

/* How far past edges a contact is, by both bodies' motion and by differences. */
static void edges_have_exact_gradients(void **state)
{
    (void)state;
    srand(9);
    gw_nurbs *surface = saddle_of(0.2, 0.5),
             *egg = gw_nurbs_ellipsoid(gw_v3(0.06, 0.05, 0.04), NULL);
    gw_nurbs *bole = gw_nurbs_cylinder(0.05, 0.4, NULL);
    const gw_surface on[3] = {sphere(0.05), shape(egg), shape(bole)};
    for (int trial = 0; trial < 30; trial++) {
        gw_closure_def c = contact(0, on[trial % 3], 1, shape(surface), GW_CONTACT_ROLLS);
        gw_pose a = {{0.15, 0.15, 0.05}, gw_quat_axis(ex, GW_PI / 2)};
        gw_pose b = {zero, gw_quat_exp(some_vector(0.1))}, next = a;
        gw_twist still = {zero, zero}, va = {some_vector(1), some_vector(1)},
                 vb = {some_vector(1), some_vector(1)};
        gw_contact_state x;
        gw_edge at[GW_MAX_EDGES], ahead[GW_MAX_EDGES], back[GW_MAX_EDGES];
        /* out over the edges, on the branch that begins within them */
        for (int i = 0; i < 60; i++) {
            next.p = gw_mul_add(a.p, 0.002 * i, gw_v3(1, 0.7, 0));
            gw_body_frame fa = frame_moved(&next, &still, 0), fb = frame_moved(&b, &still, 0);
            assert_true(gw_surface_contact_at(&c.contact, &fa, &fb, &c.contact.point, &x));
        }
        assert_true(x.beyond);
        gw_edge *const to[3] = {back, at, ahead};
        int count[3];
        double h = 1e-6;
        for (int k = 0; k < 3; k++) {
            gw_body_frame fa = frame_moved(&next, &va, (k - 1) * h);
            gw_body_frame fb = frame_moved(&b, &vb, (k - 1) * h);
            assert_true(gw_surface_contact_at(&c.contact, &fa, &fb, &c.contact.point, &x));
            count[k] = gw_surface_contact_edges(&c.contact, &fa, &fb, false, to[k]);
        }
        assert_true(count[1] >= 1 && count[0] == count[1] && count[2] == count[1]);
        for (int i = 0; i < count[1]; i++) {
            double rate = gw_dot(at[i].on_a.f, va.v) + gw_dot(at[i].on_a.t, va.w) +
                          gw_dot(at[i].on_b.f, vb.v) + gw_dot(at[i].on_b.t, vb.w);
            double by_differences = (ahead[i].past - back[i].past) / (2 * h);
            assert_true(fabs(rate - by_differences) < 1e-7 * (1 + fabs(rate)));
        }
    }
    gw_nurbs_put(surface);
    gw_nurbs_put(egg);
    gw_nurbs_put(bole);
}

/* A ball that rolls down a saddle is stopped by its edge and rolls on along it; a point that slides
 * on it as a constraint is too. The energy balance closes. */
static void edges_are_stops(void **state)
{
    (void)state;
    gw_nurbs *surface = saddle_of(0.3, 0.6);
    for (int which = 0; which < 2; which++) {
        gw_system_body_def ball = solid_ball(0.04);
        ball.position[0] = 0.1, ball.position[1] = 0.02, ball.position[2] = 0.06;
        gw_closure_def c = contact(0, sphere(0.04), GW_GROUND, shape(surface), GW_CONTACT_ROLLS);
        if (which) {
            c.kind = GW_CLOSURE_ROWS;
            c.row_count = 1;
            c.rows[0] = (gw_row){
                .kind = GW_ROW_SURFACE, .q = {1, 0, 0, 0}, .value = 0.04, .nurbs = surface};
        }
        gw_system *s = make(&ball, 1, &c, 1, gw_v3(0, 0, -G));
        double before = total(s), lost = 0, farthest = 0;
        bool stopped = false;
        for (int i = 0; i < 2000; i++) {
            gw_step step;
            gw_model_step(gw_system_model(s), NULL, DT, &step);
            assert_true(step.finite);
            lost += step.dissipated;
            stopped = stopped || gw_system_closure_at_edge(s) >= 0;
            farthest = fmax(farthest, fabs(s->bodies[0].pose.p.y));
        }
        print_message("stopped at %.3g m, energy %.1e J of %.2g lost\n", farthest,
                      total(s) + lost - before, lost);
        assert_true(stopped && farthest < 0.335 && lost > 0.05);
        assert_true(fabs(total(s) + lost - before) < 1e-9);
        assert_true(gw_system_residual(s) < 1e-12);
        gw_system_destroy(s);
    }
    gw_nurbs_put(surface);
}

/* The same on a saddle that a moving ground carries along steadily: the same motion as seen from
 * it, and the ground's work makes up the balance. */
static void edges_of_a_moving_ground_do_its_work(void **state)
{
    (void)state;
    gw_nurbs *surface = saddle_of(0.3, 0.6);
    gw_vec3 end[2];
    for (int which = 0; which < 2; which++) {
        gw_system_body_def ball = solid_ball(0.04);
        gw_error error = {0};
        gw_vec3 v = {0.4, 0.3, 0.1};
        ball.position[0] = 0.1, ball.position[1] = 0.02, ball.position[2] = 0.06;
        gw_closure_def c = contact(0, sphere(0.04), which ? GW_MOVING_GROUND(0) : GW_GROUND,
                                   shape(surface), GW_CONTACT_ROLLS);
        gw_system_def def = {.body_count = 1,
                             .closure_count = 1,
                             .bodies = &ball,
                             .closures = &c,
                             .gravity = {0, 0, -G},
                             .ground_count = which};
        gw_system *s = gw_system_create(&def, &error);
        assert_non_null(s);
        gw_pose home = gw_pose_identity();
        gw_twist moves = {v, zero};
        if (which) {
            gw_pose at = s->bodies[0].pose;
            gw_system_move_grounds(s, &home, &moves);
            gw_system_place(s, &at, &moves); /* at rest as seen from the ground */
        }
        double before = 0, balance = 0;
        for (int i = 0; i < 1500; i++) {
            gw_step step;
            gw_model_step(gw_system_model(s), NULL, DT, &step);
            if (i == 0)
                before = total(s);
            else
                balance += step.dissipated - step.base_work;
        }
        end[which] = s->bodies[0].pose.p;
        print_message("balance %.1e J\n", total(s) + balance - before);
        assert_true(fabs(total(s) + balance - before) < 1e-9);
        if (which)
            end[1] = gw_mul_add(end[1], -1500 * DT, v);
        gw_system_destroy(s);
    }
    print_message("apart by %.1e m\n", gw_distance(end[0], end[1]));
    assert_true(gw_distance(end[0], end[1]) < 1e-8);
    gw_nurbs_put(surface);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_closest_points_of_two_surfaces_are_found),
        cmocka_unit_test(rows_are_derivatives_apart_and_through),
        cmocka_unit_test(ellipsoids_roll_on_a_plane),
        cmocka_unit_test(a_torus_rolls_on_a_plane),
        cmocka_unit_test(a_rattleback_turns_back),
        cmocka_unit_test(a_ball_in_a_free_form_tube_goes_up_and_down),
        cmocka_unit_test(a_ball_leaves_a_sphere_at_ten_seventeenths),
        cmocka_unit_test(a_ball_on_a_saddle_is_one_and_the_same),
        cmocka_unit_test(nothing_drifts_on_a_saddle),
        cmocka_unit_test(ellipses_roll_about_their_foci),
        cmocka_unit_test(edges_have_exact_gradients),
        cmocka_unit_test(edges_are_stops),
        cmocka_unit_test(edges_of_a_moving_ground_do_its_work),
        cmocka_unit_test(surfaces_that_conform_or_cross_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
