/*
 * Velocity constraints and gears of systems of bodies: rows against central differences, motions
 * against closed forms.
 */
#include "tests/unit/rolling.h"

/* ---- rows ----------------------------------------------------------------------------------- */

static void rows_of_contacts_are_derivatives(void **state)
{
    (void)state;
    srand(1);
    gw_vec3 u = gw_unit(gw_v3(0.3, -0.5, 0.7)), p = {0.1, -0.2, 0.3};
    for (int motion = 0; motion < 3; motion++) {
        gw_contact_motion m = (gw_contact_motion)motion;
        gw_surface ball = surface_at(GW_SURFACE_SPHERE, p, zero, 0.2);
        gw_surface flat = surface_at(GW_SURFACE_PLANE, p, u, 0);
        gw_surface other = surface_at(GW_SURFACE_SPHERE, p, zero, 0.7);
        gw_surface tube = surface_at(GW_SURFACE_CYLINDER, p, u, 0.6);
        gw_surface rim = surface_at(GW_SURFACE_RIM, p, u, 0.4);
        rows_are_derivatives(contact(0, ball, 1, flat, m));
        rows_are_derivatives(contact(0, ball, 1, other, m));
        rows_are_derivatives(contact(0, ball, 1, tube, m));
        rows_are_derivatives(contact(0, tube, 1, flat, m));
        rows_are_derivatives(contact(0, rim, 1, flat, m));
        gw_closure_def inside = contact(0, ball, 1, tube, m);
        inside.contact.inside = true;
        rows_are_derivatives(inside);
        inside.contact.on_b = other;
        rows_are_derivatives(inside);
        gw_closure_def parallel =
            contact(0, surface_at(GW_SURFACE_CYLINDER, p, u, 0.2), 1, tube, m);
        parallel.contact.line = true;
        rows_are_derivatives(parallel);
        parallel.contact.inside = true;
        rows_are_derivatives(parallel);
    }
    gw_closure_def knife = {.a = 0, .b = 1, .kind = GW_CLOSURE_KNIFE_EDGE, .knife_edge = {p, u}};
    rows_are_derivatives(knife);
}

static void rows_of_joints_and_constraints_are_derivatives(void **state)
{
    (void)state;
    srand(2);
    gw_vec3 u = gw_unit(gw_v3(0.3, -0.5, 0.7)), m = {0.1, -0.2, 0.3}, f = {-0.3, 0.2, 0.4};
    for (int kind = GW_ROW_PLANE; kind <= GW_ROW_ANGLE; kind++) {
        gw_closure_def c = {.a = 0, .b = 1, .row_count = 1};
        c.rows[0] = (gw_row){.kind = (gw_row_kind)kind,
                             .m = kind == GW_ROW_ANGLE ? ex : m,
                             .f = f,
                             .n = u,
                             .value = 0.2};
        rows_are_derivatives(c);
    }
}

static void freedoms_of_positions_and_velocities_are_counted(void **state)
{
    (void)state;
    static const struct {
        gw_contact_motion motion;
        int positions, velocities;
    } expected[] = {
        {GW_CONTACT_SLIDES, 5, 5}, {GW_CONTACT_ROLLS, 5, 3}, {GW_CONTACT_ROLLS_PURELY, 5, 2}};
    gw_system_body_def ball = solid_ball(0.1);
    ball.position[2] = 0.1;
    for (int i = 0; i < 3; i++) {
        gw_closure_def c = contact(0, sphere(0.1), GW_GROUND, plane(ez), expected[i].motion);
        gw_system *s = make(&ball, 1, &c, 1, zero);
        assert_int_equal(gw_system_position_dof(s), expected[i].positions);
        assert_int_equal(gw_system_mobility(s), expected[i].velocities);
        gw_system_destroy(s);
        c = contact(0, around(GW_SURFACE_CYLINDER, ex, 0.1), GW_GROUND, plane(ez),
                    expected[i].motion);
        s = make(&ball, 1, &c, 1, zero);
        assert_int_equal(gw_system_position_dof(s), 4);
        assert_int_equal(gw_system_mobility(s), i == 0 ? 4 : 1);
        gw_system_destroy(s);
        gw_system_body_def on_top = ball;
        on_top.position[2] = 0.4;
        for (int parallel = 0; parallel < 2; parallel++) {
            c = contact(0, around(GW_SURFACE_CYLINDER, parallel ? ey : ex, 0.1), GW_GROUND,
                        around(GW_SURFACE_CYLINDER, ey, 0.3), expected[i].motion);
            c.contact.line = parallel;
            s = make(&on_top, 1, &c, 1, zero);
            assert_int_equal(gw_system_position_dof(s), parallel ? 3 : 5);
            assert_int_equal(gw_system_mobility(s), !parallel ? expected[i].velocities
                                                    : i == 0  ? 3
                                                              : 1);
            gw_system_destroy(s);
        }
    }
}

static void surfaces_that_cannot_touch_are_named(void **state)
{
    (void)state;
    gw_system_body_def ball = solid_ball(0.1);
    gw_closure_def closures[2] = {
        contact(0, sphere(0.1), GW_GROUND, plane(ez), GW_CONTACT_ROLLS),
        contact(0, sphere(0.1), GW_GROUND, around(GW_SURFACE_CYLINDER, ex, 0.1), GW_CONTACT_ROLLS)};
    gw_error error = {0};
    gw_system_def def = {
        .body_count = 1, .closure_count = 2, .bodies = &ball, .closures = closures};
    closures[1].contact.inside = true;
    assert_null(gw_system_create(&def, &error));
    assert_int_equal(error.code, GW_BAD_INPUT);
    assert_string_equal(error.where, "/1");
    assert_non_null(strstr(error.message, "must be smaller"));
    closures[1].contact.inside = false;
    closures[1].contact.on_a = plane(ez);
    assert_null(gw_system_create(&def, &error));
    assert_non_null(strstr(error.message, "a plane cannot touch a cylinder"));
}

/* ---- motions -------------------------------------------------------------------------------- */

/* On a table that turns at W a solid ball's centre goes round at 2/7 W: v' = 2/7 W x v. */
static void a_ball_on_a_turntable_goes_round_at_two_sevenths(void **state)
{
    (void)state;
    double rate = 3, r = 0.05;
    gw_system_body_def bodies[2] = {joined(GW_MOBILIZER_REVOLUTE, diagonal(1e9, 1e9, 1e9, 1e9)),
                                    solid_ball(r)};
    bodies[0].velocity[0] = rate;
    bodies[1].position[0] = 0.4, bodies[1].position[2] = r;
    /* the centre at 0.3 m/s along y, without slip on a table that goes at W x there */
    bodies[1].velocity[1] = 0.3;
    bodies[1].velocity[3] = (rate * 0.4 - 0.3) / r;
    gw_closure_def c = contact(1, sphere(r), 0, plane(ez), GW_CONTACT_ROLLS);
    gw_system *s = make(bodies, 2, &c, 1, gw_v3(0, 0, -G));
    assert_int_equal(gw_system_mobility(s), 4);
    double q[6], v[6];
    gw_system_joint(s, 1, q, v);
    gw_vec3 start = gw_v3(v[0], v[1], 0);
    for (int k = 1; k <= 10; k++) {
        run(s, 1);
        gw_system_joint(s, 1, q, v);
        gw_vec3 expected = gw_rotate(gw_quat_axis(ez, 2. / 7 * rate * k), start);
        assert_true(gw_distance(gw_v3(v[0], v[1], 0), expected) < 1e-8);
        assert_true(fabs(q[2] - r) < 1e-12);
    }
    gw_system_joint(s, 1, q, v);
    print_message("slip %.1e m/s\n", gw_system_slip_velocity(s));
    assert_true(gw_system_slip_velocity(s) < 1e-10);
    gw_system_destroy(s);
}

/* A thin disc of radius R rolls in a circle, its axis at `tilt` from the vertical, precessing at W.
 * With w its spin about the axis, A and C = 2 A its inertias,
 *
 *   W sin((C + m R^2) w - A W cos) + m g R cos = 0,     the centre goes round at R w / W
 */
static void a_rolling_disc_goes_round_steadily(void **state)
{
    (void)state;
    double tilt = 1.1, w_z = 2.5, radius = 0.3, m = 1, a = m * radius * radius / 4;
    double spin = (a * w_z * cos(tilt) - m * G * radius * cos(tilt) / (w_z * sin(tilt))) /
                  (2 * a + m * radius * radius);
    double away = -radius * spin / w_z;
    gw_system_body_def disc = joined(GW_MOBILIZER_FREE, diagonal(m, a, a, 2 * a));
    gw_vec3 axis = {sin(tilt), 0, cos(tilt)};
    /* w = W z + (spin - W cos) axis */
    gw_vec3 w = gw_mul_add(gw_v3(0, 0, w_z), spin - w_z * cos(tilt), axis);
    double start[6] = {away, 0, radius * sin(tilt), 0, tilt, 0};
    double velocity[6] = {0, w_z * away, 0, w.x, w.y, w.z};
    memcpy(disc.position, start, sizeof start);
    memcpy(disc.velocity, velocity, sizeof velocity);
    gw_closure_def c =
        contact(0, around(GW_SURFACE_RIM, ez, radius), GW_GROUND, plane(ez), GW_CONTACT_ROLLS);
    gw_system *s = make(&disc, 1, &c, 1, gw_v3(0, 0, -G));
    assert_int_equal(gw_system_mobility(s), 3);
    double worst = 0, q[6], v[6], before = total(s);
    for (int k = 1; k <= 10; k++) {
        run(s, 1);
        gw_system_joint(s, 0, q, v);
        gw_vec3 expected = {away * cos(w_z * k), away * sin(w_z * k), radius * sin(tilt)};
        worst = fmax(worst, gw_distance(gw_v3(q[0], q[1], q[2]), expected));
    }
    print_message("disc off %.2e m after 10 s, slip %.1e, energy %.1e\n", worst,
                  gw_system_slip_velocity(s), total(s) - before);
    assert_true(worst < 1e-7);
    assert_true(gw_system_slip_velocity(s) < 1e-10);
    assert_true(fabs(total(s) - before) < 1e-9);
    gw_system_destroy(s);
}

/* Chaplygin's sleigh: mass centre a ahead of the blade, thrown into a spin:
 * v = w_0 sqrt(J/m) tanh(k t), w = w_0 sech(k t), J = I + m a^2, k = a w_0 sqrt(m/J). */
static void a_sleigh_ends_along_its_edge(void **state)
{
    (void)state;
    double a = 0.2, m = 1.5, i = 0.04, w_0 = 2, j = i + m * a * a, k = a * w_0 * sqrt(m / j);
    gw_system_body_def sleigh = joined(GW_MOBILIZER_PLANAR, diagonal(m, i, i, i));
    sleigh.mass.com = gw_v3(a, 0, 0);
    sleigh.velocity[2] = w_0;
    gw_closure_def blade = {.a = 0,
                            .b = GW_GROUND,
                            .kind = GW_CLOSURE_KNIFE_EDGE,
                            .knife_edge = {.direction = {0, 1, 0}}};
    gw_system *s = make(&sleigh, 1, &blade, 1, zero);
    assert_int_equal(gw_system_mobility(s), 2);
    assert_int_equal(gw_system_position_dof(s), 3);
    for (int t = 1; t <= 5; t++) {
        double q[6], v[6];
        run(s, 1);
        gw_system_joint(s, 0, q, v);
        double along = v[0] * cos(q[2]) + v[1] * sin(q[2]);
        assert_true(fabs(v[2] - w_0 / cosh(k * t)) < 1e-9);
        assert_true(fabs(along - w_0 * sqrt(j / m) * tanh(k * t)) < 1e-9);
        assert_true(fabs(v[1] * cos(q[2]) - v[0] * sin(q[2])) < 1e-10);
    }
    gw_system_destroy(s);
}

/* A ball that rolls round within an upright tube goes up and down at sqrt(2/7) of the rate at which
 * its centre goes round: z = -(5 g / 7) (1 - cos(n t)) / n^2. */
static void a_ball_in_a_tube_goes_up_and_down(void **state)
{
    (void)state;
    double tube = 0.5, r = 0.1, round = 4, n = sqrt(2. / 7) * round, away = tube - r;
    gw_system_body_def ball = solid_ball(r);
    ball.position[0] = away;
    ball.velocity[1] = round * away;
    /* the contact, r outwards, is at rest: round away + w_z r = 0 */
    ball.velocity[5] = -round * away / r;
    gw_closure_def c =
        contact(0, sphere(r), GW_GROUND, around(GW_SURFACE_CYLINDER, ez, tube), GW_CONTACT_ROLLS);
    c.contact.inside = true;
    gw_system *s = make(&ball, 1, &c, 1, gw_v3(0, 0, -G));
    double worst = 0, before = total(s);
    for (int k = 1; k <= 10; k++) {
        double q[6], v[6];
        run(s, 1);
        gw_system_joint(s, 0, q, v);
        double z = -5 * G / 7 * (1 - cos(n * k)) / (n * n);
        worst = fmax(worst, gw_distance(gw_v3(q[0], q[1], q[2]),
                                        gw_v3(away * cos(round * k), away * sin(round * k), z)));
    }
    print_message("ball in a tube off %.2e m after 10 s\n", worst);
    assert_true(worst < 1e-7);
    assert_true(fabs(total(s) - before) < 1e-8);
    assert_true(gw_system_slip_velocity(s) < 1e-10);
    gw_system_destroy(s);
}

/* Down a slope of 0.3 rad: a = g sin / (1 + I / m r^2), of a ball and of a cylinder; without
 * rolling g sin. */
static void balls_and_cylinders_roll_down_a_slope(void **state)
{
    (void)state;
    double r = 0.1, slope = 0.3;
    gw_vec3 gravity = {G * sin(slope), 0, -G * cos(slope)};
    for (int which = 0; which < 4; which++) {
        bool ball = which % 2 == 0, slides = which >= 2;
        double share = ball ? 0.4 : 0.5, i = share * r * r;
        gw_system_body_def body = joined(GW_MOBILIZER_FREE, diagonal(1, i, i, i));
        body.position[2] = r;
        gw_surface on_a = ball ? sphere(r) : around(GW_SURFACE_CYLINDER, gw_v3(0, 1, 0), r);
        gw_closure_def c =
            contact(0, on_a, GW_GROUND, plane(ez), slides ? GW_CONTACT_SLIDES : GW_CONTACT_ROLLS);
        gw_system *s = make(&body, 1, &c, 1, gravity);
        double q[6], v[6];
        run(s, 1);
        gw_system_joint(s, 0, q, v);
        assert_true(fabs(v[0] - G * sin(slope) / (1 + (slides ? 0 : share))) < 1e-10);
        assert_true(fabs(v[4] - (slides ? 0 : v[0] / r)) < 1e-9);
        gw_system_destroy(s);
    }
}

/* A solid cylinder of 1 kg that rolls on or within a fixed one about y, both axes along y; it is at
 * rest where its axis is `angle` from the vertical line through that of the other. */
static gw_system *rolling_cylinder(double r, double other, bool inside, double angle, double g)
{
    double away = inside ? r - other : r + other;
    gw_system_body_def body =
        joined(GW_MOBILIZER_FREE, diagonal(1, 0.3 * r * r, 0.5 * r * r, 0.3 * r * r));
    body.position[0] = away * sin(angle), body.position[2] = away * cos(angle);
    gw_closure_def c = contact(0, around(GW_SURFACE_CYLINDER, ey, r), GW_GROUND,
                               around(GW_SURFACE_CYLINDER, ey, other), GW_CONTACT_ROLLS);
    c.contact.inside = inside;
    c.contact.line = true;
    return make(&body, 1, &c, 1, gw_v3(0, 0, -g));
}

static double angle_about(gw_system *s, double sign)
{
    double q[6], v[6];
    gw_system_joint(s, 0, q, v);
    return atan2(sign * q[0], sign * q[2]);
}

/* The cylinder in a trough swings as a pendulum of length 3/2 (R - r): back after 4 K(sin(a / 2))
 * sqrt(3 (R - r) / 2 g), here 2 s. */
static void a_cylinder_in_a_trough_swings_in_its_period(void **state)
{
    (void)state;
    const double r = 0.1, trough = 0.5, angle = 1.2, period = 2;
    double x = 1, y = cos(angle / 2); /* K = pi / 2 over their arithmetic-geometric mean */
    for (int i = 0; i < 8; i++) {
        double mean = 0.5 * (x + y);
        y = sqrt(x * y), x = mean;
    }
    double rate = 2 * GW_PI / x / period;
    gw_system *s = rolling_cylinder(r, trough, true, angle, 1.5 * (trough - r) * rate * rate);
    double before = total(s);
    run(s, period / 2);
    double half = angle_about(s, -1);
    run(s, period / 2);
    double whole = angle_about(s, -1);
    print_message("trough: off %.1e, %.1e rad after half a period and a whole one\n", half + angle,
                  whole - angle);
    assert_true(fabs(half + angle) < 1e-9 && fabs(whole - angle) < 1e-9);
    assert_true(fabs(total(s) - before) < 1e-9 && gw_system_residual(s) < 1e-13);
    assert_true(gw_system_slip_velocity(s) < 1e-13);
    gw_system_destroy(s);
}

/* Down from the top of another one it is pressed by m g (7 cos(a) - 4 cos(a0)) / 3: no more from
 * cos(a) = 4/7 cos(a0) on. */
static void a_cylinder_rolls_off_a_cylinder_at_four_sevenths(void **state)
{
    (void)state;
    const double start = 0.1, leaves = acos(4 * cos(start) / 7);
    gw_system *s = rolling_cylinder(0.1, 0.5, false, start, G);
    double angle = start, pressed = 1, worst = 0;
    while (pressed > 0) {
        gw_step step;
        angle = angle_about(s, 1);
        gw_model_step(gw_system_model(s), NULL, DT, &step);
        gw_vec3 n = {sin(angle), 0, cos(angle)};
        pressed = gw_dot(gw_system_closure_wrench(s, 0).f, n);
        worst = fmax(worst, fabs(pressed - G * (7 * cos(angle) - 4 * cos(start)) / 3));
    }
    print_message("leaves at %.4f rad (%.4f), force off by %.1e N\n", angle, leaves, worst);
    assert_true(worst < 1e-8);
    assert_true(angle >= leaves && angle_about(s, 1) - leaves < 0.02);
    gw_system_destroy(s);
}

/* Across a fixed cylinder another one lies as a plank: it rocks by w^2 = g (R - r) / (k^2 + r^2),
 * of whatever it slides or rolls along the other. */
static void a_cylinder_across_a_cylinder_rocks_as_a_plank(void **state)
{
    (void)state;
    const double r = 0.1, log = 0.4, k2 = 0.03, tilt = 1e-3, period = 2;
    double rate = 2 * GW_PI / period, g = rate * rate * (k2 + r * r) / (log - r);
    gw_system_body_def body = joined(GW_MOBILIZER_FREE, diagonal(1, 0.5 * r * r, k2, k2));
    gw_vec3 n = {sin(tilt), 0, cos(tilt)}, t = {cos(tilt), 0, -sin(tilt)};
    gw_vec3 at = gw_mul_add(gw_scale(log + r, n), -log * tilt, t);
    body.position[0] = at.x, body.position[2] = at.z;
    body.position[4] = tilt;
    gw_closure_def c = contact(0, around(GW_SURFACE_CYLINDER, ex, r), GW_GROUND,
                               around(GW_SURFACE_CYLINDER, ey, log), GW_CONTACT_ROLLS);
    gw_system *s = make(&body, 1, &c, 1, gw_v3(0, 0, -g));
    double q[6], v[6], before = total(s), slip = 0;
    for (int half = 1; half <= 4; half++) {
        run(s, period / 2);
        gw_system_joint(s, 0, q, v);
        slip = fmax(slip, gw_system_slip_velocity(s));
        assert_true(fabs(q[4] - (half % 2 ? -tilt : tilt)) < 1e-8);
    }
    assert_true(fabs(total(s) - before) < 1e-12 && slip < 1e-13);
    assert_true(gw_system_residual(s) < 1e-13);
    gw_system_destroy(s);
}

/* Balls on balls: the lower one held by a ball joint, all of them rolling; and on the outside of a
 * cylinder: energy is kept and nothing slips. */
static void balls_roll_on_balls_and_cylinders(void **state)
{
    (void)state;
    for (int on_cylinder = 0; on_cylinder < 2; on_cylinder++) {
        gw_system_body_def bodies[2] = {joined(GW_MOBILIZER_SPHERICAL, diagonal(3, 0.2, 0.3, 0.4)),
                                        solid_ball(0.1)};
        bodies[0].velocity[1] = 0.4;
        bodies[1].position[0] = 0.2, bodies[1].position[2] = sqrt(0.36 - 0.04);
        bodies[1].velocity[1] = 0.3;
        gw_closure_def c = contact(1, sphere(0.1), 0,
                                   on_cylinder ? around(GW_SURFACE_CYLINDER, ex, 0.5) : sphere(0.5),
                                   GW_CONTACT_ROLLS_PURELY);
        gw_system *s = make(bodies, 2, &c, 1, gw_v3(0, 0, -G));
        double slip = slip_after(s, 1);
        assert_true(slip < 1e-10);
        gw_system_destroy(s);
    }
}

/* Three wheels in mesh, driven by a motor's torque: each turns by its ratio, and the first
 * accelerates as if the others' inertias were on its shaft. */
static void a_gear_train_turns_by_its_ratios(void **state)
{
    (void)state;
    const double inertia[3] = {0.2, 0.5, 0.1};
    gw_system_body_def bodies[3];
    gw_closure_def gears[2];
    for (int i = 0; i < 3; i++)
        bodies[i] = joined(GW_MOBILIZER_REVOLUTE, diagonal(1, inertia[i], inertia[i], inertia[i]));
    bodies[0].motor[0] = (gw_motor){.torque = 2};
    bodies[0].position[0] = 0.3;
    for (int i = 0; i < 2; i++)
        gears[i] = (gw_closure_def){.a = i + 1, .b = i, .kind = GW_CLOSURE_GEAR};
    gears[0].gear.ratio = -0.5, gears[0].gear.offset = 0.15;
    gears[1].gear.ratio = -3;
    gw_system *s = make(bodies, 3, gears, 2, zero);
    assert_int_equal(gw_system_mobility(s), 1);
    double q[3][6], v[3][6], start[3];
    for (int i = 0; i < 3; i++) {
        gw_system_joint(s, i, q[i], v[i]);
        start[i] = q[i][0];
    }
    run(s, 2);
    for (int i = 0; i < 3; i++)
        gw_system_joint(s, i, q[i], v[i]);
    double together = inertia[0] + 0.25 * inertia[1] + 2.25 * inertia[2];
    assert_true(fabs(v[0][0] - 2 * 2 / together) < 1e-9);
    assert_true(fabs(q[0][0] - start[0] - 2 * 2 / together) < 1e-9);
    assert_true(fabs(q[1][0] + 0.5 * q[0][0] - 0.15) < 1e-12);
    assert_true(fabs(q[2][0] + 3 * q[1][0]) < 1e-12);
    gw_system_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_contacts_are_derivatives),
        cmocka_unit_test(rows_of_joints_and_constraints_are_derivatives),
        cmocka_unit_test(freedoms_of_positions_and_velocities_are_counted),
        cmocka_unit_test(surfaces_that_cannot_touch_are_named),
        cmocka_unit_test(a_ball_on_a_turntable_goes_round_at_two_sevenths),
        cmocka_unit_test(a_rolling_disc_goes_round_steadily),
        cmocka_unit_test(a_sleigh_ends_along_its_edge),
        cmocka_unit_test(a_ball_in_a_tube_goes_up_and_down),
        cmocka_unit_test(balls_and_cylinders_roll_down_a_slope),
        cmocka_unit_test(a_cylinder_in_a_trough_swings_in_its_period),
        cmocka_unit_test(a_cylinder_rolls_off_a_cylinder_at_four_sevenths),
        cmocka_unit_test(a_cylinder_across_a_cylinder_rocks_as_a_plank),
        cmocka_unit_test(balls_roll_on_balls_and_cylinders),
        cmocka_unit_test(a_gear_train_turns_by_its_ratios),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
