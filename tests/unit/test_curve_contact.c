/*
 * Contacts of two curves: rows against central differences, motions against closed forms.
 */
#include "rt/dynamics/curve_contact.h"
#include "rt/geometry/nurbs.h"
#include "tests/unit/rolling.h"

static gw_surface curve(const gw_nurbs *nurbs)
{
    return (gw_surface){
        .kind = GW_SURFACE_CURVE, .axis = {0, 0, 1}, .turn = {1, 0, 0, 0}, .nurbs = nurbs};
}

/* A twisted curve of one span, about 0.3 m long. */
static gw_nurbs *twisted(double lift)
{
    static const double knots[] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
    const gw_vec3 points[] = {{-0.12, 0.05, -lift}, {-0.1, -0.03, 0},   {-0.03, -0.06, lift},
                              {0.02, -0.05, -lift}, {0.08, 0.02, lift}, {0.13, 0.06, 0.03}};
    return gw_nurbs_create(&(gw_nurbs_def){.dimension = 1,
                                           .degree = {5},
                                           .count = {6},
                                           .knot_count = {12},
                                           .knots = {knots},
                                           .points = points},
                           NULL);
}

static gw_nurbs *straight(double length)
{
    static const double knots[] = {0, 0, 1, 1};
    const gw_vec3 points[] = {{-length / 2, 0, 0}, {length / 2, 0, 0}};
    return gw_nurbs_create(&(gw_nurbs_def){.dimension = 1,
                                           .degree = {1},
                                           .count = {2},
                                           .knot_count = {4},
                                           .knots = {knots},
                                           .points = points},
                           NULL);
}

/* An ellipse about a focus. */
static gw_nurbs *ellipse(double a, double b)
{
    static const double x[9] = {1, 1, 0, -1, -1, -1, 0, 1, 1},
                        y[9] = {0, 1, 1, 1, 0, -1, -1, -1, 0};
    static const double round[] = {0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
    gw_vec3 points[9];
    double weights[9], c = sqrt(a * a - b * b);
    for (int i = 0; i < 9; i++) {
        points[i] = gw_v3(c + a * x[i], b * y[i], 0);
        weights[i] = i % 2 ? sqrt(0.5) : 1;
    }
    return gw_nurbs_create(&(gw_nurbs_def){.dimension = 1,
                                           .degree = {2},
                                           .count = {9},
                                           .knot_count = {12},
                                           .knots = {round},
                                           .points = points,
                                           .weights = weights},
                           NULL);
}

/* A closed periodic cubic through a ring of control points with two lobes. */
static gw_nurbs *egg(double radius, double lobe)
{
    enum { COUNT = 12 };
    double knots[COUNT + 7];
    gw_vec3 points[COUNT + 3];
    for (int i = 0; i < COUNT + 7; i++)
        knots[i] = i - 3;
    for (int i = 0; i < COUNT + 3; i++) {
        double at = 2 * GW_PI * (i % COUNT) / COUNT, r = radius * (1 + lobe * cos(2 * at));
        points[i] = gw_v3(r * cos(at), r * sin(at), 0);
    }
    return gw_nurbs_create(&(gw_nurbs_def){.dimension = 1,
                                           .degree = {3},
                                           .count = {COUNT + 3},
                                           .knot_count = {COUNT + 7},
                                           .knots = {knots},
                                           .points = points},
                           NULL);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The frame whose x is the tangent of a curve at one of its points, in its body. */
static gw_pose frame_on(const gw_surface *s, double share)
{
    gw_nurbs_point at;
    if (s->kind == GW_SURFACE_RIM)
        return (gw_pose){gw_mul_add(s->point, s->radius, gw_any_normal(s->axis)),
                         gw_quat_between(ex, gw_cross(s->axis, gw_any_normal(s->axis)))};
    const gw_nurbs_direction *d = &s->nurbs->direction[0];
    gw_nurbs_evaluate(s->nurbs, (double[2]){d->low + share * (d->high - d->low), 0}, 1, NULL, &at);
    gw_vec3 tangent = gw_rotate(s->turn, gw_unit(at.d[1][0]));
    return (gw_pose){gw_add(s->point, gw_rotate(s->turn, at.d[0][0])),
                     gw_quat_between(ex, tangent)};
}

/* In touch, a millimetre off, or a centimetre and more. */
static void near_touch(const gw_closure_contact *k, int trial, gw_pose poses[2])
{
    static const double off[3] = {0, 1e-3, 1e-2};
    double share_a = 0.5 + 0.3 * noise(), share_b = 0.5 + 0.3 * noise(), far = off[trial % 3];
    gw_pose on_a = frame_on(&k->on_a, share_a), on_b = frame_on(&k->on_b, share_b), turn, from_a;
    turn = (gw_pose){some_vector(far),
                     gw_quat_exp(gw_add(some_vector(10 * far), gw_v3(GW_PI * noise(), 0, 0)))};
    poses[1] = (gw_pose){some_vector(1), gw_quat_exp(some_vector(2))};
    from_a = gw_pose_inverse(&on_a);
    poses[0] = gw_pose_mul(&poses[1], &on_b);
    poses[0] = gw_pose_mul(&poses[0], &turn);
    poses[0] = gw_pose_mul(&poses[0], &from_a);
}

static void rows_are_derivatives_apart_and_through(void **state)
{
    (void)state;
    srand(6);
    gw_nurbs *p = twisted(0.02), *q = twisted(-0.05), *round = ellipse(0.08, 0.05),
             *rail = straight(0.5);
    gw_surface moved = curve(q), rim = around(GW_SURFACE_RIM, gw_unit(gw_v3(1, 2, 3)), 0.03);
    moved.point = gw_v3(0.1, -0.2, 0.05), moved.turn = gw_quat_exp(gw_v3(0.4, -1, 0.6));
    for (int motion = 0; motion < 3; motion++) {
        gw_contact_motion m = (gw_contact_motion)motion;
        rows_are_derivatives_placed(contact(0, curve(p), 1, moved, m), near_touch, 2e-5);
        rows_are_derivatives_placed(contact(0, moved, 1, curve(round), m), near_touch, 2e-5);
        rows_are_derivatives_placed(contact(0, rim, 1, curve(p), m), near_touch, 2e-5);
        rows_are_derivatives_placed(contact(0, rim, 1, curve(rail), m), near_touch, 2e-5);
        rows_are_derivatives_placed(contact(0, curve(round), 1, rim, m), near_touch, 2e-5);
    }
    gw_nurbs *lobed = egg(0.06, 0.15);
    rows_are_derivatives_placed(contact(0, curve(lobed), 1, curve(lobed), 0), near_touch, 2e-5);
    gw_nurbs_put(lobed);
    gw_nurbs_put(p);
    gw_nurbs_put(q);
    gw_nurbs_put(round);
    gw_nurbs_put(rail);
}

/* ---- closed forms ---------------------------------------------------------------------------- */

/* Two equal ellipses on axles through a focus each: tan(phi / 2) = (1 + e) / (1 - e) tan(theta /
 * 2), whether they slide or roll, as they cannot slip there. */
static void ellipses_roll_about_their_foci(void **state)
{
    (void)state;
    double a = 0.08, e = 0.4, b = a * sqrt(1 - e * e), k = (1 + e) / (1 - e);
    gw_nurbs *line = ellipse(a, b);
    for (int motion = 0; motion < 2; motion++) {
        double theta = 0.5, worst = 0, q[6], v[6];
        gw_system_body_def bodies[2];
        for (int i = 0; i < 2; i++) {
            bodies[i] = joined(GW_MOBILIZER_REVOLUTE, diagonal(0.5, 1e-3, 1e-3, 2e-3));
            bodies[i].parent_from_f.p = gw_v3(2 * a * i, 0, 0);
            bodies[i].keeps_position = bodies[i].keeps_velocity = i == 0;
        }
        bodies[0].position[0] = theta, bodies[0].velocity[0] = 3;
        bodies[1].position[0] = -2 * atan(k * tan(theta / 2)) + 0.01;
        gw_closure_def c = contact(1, curve(line), 0, curve(line), (gw_contact_motion)motion);
        gw_system *s = make(bodies, 2, &c, 1, zero);
        double before = total(s);
        assert_int_equal(gw_system_mobility(s), 1);
        for (int i = 0; i < 20; i++) {
            run(s, 0.02);
            gw_system_joint(s, 0, q, v);
            theta = q[0];
            gw_system_joint(s, 1, q, v);
            worst = fmax(worst, fabs(q[0] + 2 * atan(k * tan(theta / 2))));
        }
        print_message("ellipses off %.1e rad at %g, energy %.1e J, slip %.1e m/s\n", worst, theta,
                      total(s) - before, gw_system_slip_velocity(s));
        assert_true(theta > 1.2 && theta < 3);
        assert_true(worst < 1e-11);
        assert_true(fabs(total(s) - before) < 1e-10);
        gw_system_destroy(s);
    }
    gw_nurbs_put(line);
}

/* A hoop of radius r that rolls within a ring R: theta'' = -g / 2 (R - r) sin theta; purely, so
 * that it does not tip over. */
static void a_hoop_swings_within_a_ring(void **state)
{
    (void)state;
    double big = 0.3, r = 0.1, away = big - r, theta = 1, rate = 0, worst = 0;
    gw_nurbs *ring = ellipse(big, big);
    gw_system_body_def hoop = joined(GW_MOBILIZER_FREE, diagonal(1, r * r / 2, r * r / 2, r * r));
    hoop.position[0] = away * sin(theta), hoop.position[2] = -away * cos(theta);
    hoop.body_from_m.q = gw_quat_axis(ex, GW_PI / 2);
    gw_surface upright = curve(ring);
    upright.turn = gw_quat_axis(ex, GW_PI / 2);
    gw_closure_def c =
        contact(0, around(GW_SURFACE_RIM, ez, r), GW_GROUND, upright, GW_CONTACT_ROLLS_PURELY);
    gw_system *s = make(&hoop, 1, &c, 1, gw_v3(0, 0, -G));
    double before = total(s);
    assert_int_equal(gw_system_mobility(s), 1);
    assert_int_equal(gw_system_position_dof(s), 3);
    for (int k = 1; k <= 20; k++) {
        double h = 1e-5, w2 = G / (2 * away);
        for (int i = 0; i < 5000; i++) { /* Stoermer and Verlet, 0.05 s */
            rate -= 0.5 * h * w2 * sin(theta);
            theta += h * rate;
            rate -= 0.5 * h * w2 * sin(theta);
        }
        run(s, 0.05);
        gw_vec3 p = s->bodies[0].pose.p;
        worst = fmax(worst, gw_distance(p, gw_v3(away * sin(theta), 0, -away * cos(theta))));
    }
    print_message("hoop off %.1e m, energy %.1e J, slip %.1e m/s, gap %.1e m\n", worst,
                  total(s) - before, gw_system_slip_velocity(s), gw_system_residual(s));
    assert_true(worst < 1e-8);
    assert_true(fabs(total(s) - before) < 1e-8);
    assert_true(gw_system_slip_velocity(s) < 1e-10);
    assert_true(gw_system_residual(s) < 1e-13);
    gw_system_destroy(s);
    gw_nurbs_put(ring);
}

/* Ticks until a step tells that the contact degenerates; -1 where none does. */
static int ticks_until_degenerate(gw_system *s, int most)
{
    for (int t = 0; t < most; t++) {
        gw_step step;
        gw_model_step(gw_system_model(s), NULL, DT, &step);
        assert_true(isfinite(total(s)) && total(s) < 1e3);
        if (step.degenerate)
            return t;
    }
    return -1;
}

static gw_wrench pull(const void *force, double t, const gw_pose *pose, const gw_twist *twist)
{
    (void)t, (void)pose, (void)twist;
    return (gw_wrench){*(const gw_vec3 *)force, zero};
}

/* A contact is stopped where its branch ends, and it rests there while it is
 * pressed on; then its weight takes it back. The energy is dissipated. */
static void rests_at_its_fold(gw_system *s)
{
    double before = total(s), dissipated = 0, work = 0, error = 0;
    gw_vec3 start = gw_body_of(s, 0)->pose.p, on = {start.x > 0 ? 30 : -30, 0, 0};
    gw_forces pressed = {.at = pull, .context = &on};
    for (int t = 0; t < 400; t++) {
        gw_step step;
        gw_model_step(gw_system_model(s), t < 200 ? &pressed : NULL, DT, &step);
        dissipated += step.dissipated, work += step.work, error += step.energy_error;
        assert_true(step.finite && (t < 1 || t > 199 || step.degenerate));
        double way = gw_distance(gw_body_of(s, 0)->pose.p, start);
        if (t == 0)
            start = gw_body_of(s, 0)->pose.p;
        else if (t == 199)
            print_message("rests within %.1e m, ", way);
        assert_true(t == 0 || t > 199 || way < 1e-12);
    }
    double left = gw_distance(gw_body_of(s, 0)->pose.p, start);
    double balance = total(s) - before - work + dissipated;
    print_message("leaves by %.2g m, energy %.1e J, errors %.1e J\n", left, balance, error);
    assert_true(left > 0.01);
    assert_true(error == 0 && fabs(balance) < 1e-9);
}

/* A hoop, or a ball, of radius 0.06 m within an ellipse or an ellipsoid of semi-axes 0.2 and 0.1 m,
 * whose radius of curvature falls from 0.4 m in the middle to 0.05 m at the end: where that is 0.06
 * they bend alike, and the contact would part in two. Within wider ones it goes back and forth. */
static void a_contact_that_degenerates_is_told(void **state)
{
    (void)state;
    for (int ball = 0; ball < 2; ball++)
        for (int narrow = 0; narrow < 2; narrow++) {
            double r = 0.06, wide = narrow ? 0.1 : 0.13, x = 0.02;
            gw_nurbs *ring = ellipse(0.2, wide);
            gw_system_body_def hoop =
                joined(GW_MOBILIZER_FREE, diagonal(1, r * r / 2, r * r / 2, r * r));
            gw_surface around_it = curve(ring), own = around(GW_SURFACE_RIM, ez, r);
            around_it.point.x =
                -sqrt(0.04 - wide * wide); /* of the middle; the frame is at a focus */
            around_it.turn = gw_quat_axis(ex, GW_PI / 2);
            hoop.body_from_m.q = gw_quat_axis(ex, GW_PI / 2);
            if (ball) {
                own = sphere(r);
                around_it = (gw_surface){.kind = GW_SURFACE_ELLIPSOID,
                                         .semi_axes = {0.2, wide, wide},
                                         .turn = {1, 0, 0, 0}};
                hoop.body_from_m.q = gw_quat_identity();
            }
            hoop.position[0] = x, hoop.position[2] = r - wide * sqrt(1 - x * x / 0.04);
            hoop.velocity[0] = 3;
            gw_closure_def c = contact(0, own, GW_GROUND, around_it, GW_CONTACT_SLIDES);
            c.contact.inside = ball;
            c.contact.motion = ball ? GW_CONTACT_SLIDES : GW_CONTACT_ROLLS_PURELY;
            gw_system *s = make(&hoop, 1, &c, 1, gw_v3(0, 0, -G));
            int at = ticks_until_degenerate(s, 400);
            gw_vec3 p = gw_body_of(s, 0)->pose.p;
            print_message("%s in a %s one: %s %d at %.3g, %.3g, %.3g m\n", ball ? "ball" : "hoop",
                          narrow ? "narrow" : "wide", "told at tick", at, p.x, p.y, p.z);
            assert_true(narrow ? at >= 0 && fabs(p.x) > 0.08 : at < 0);
            if (narrow)
                rests_at_its_fold(s);
            gw_system_destroy(s);
            gw_nurbs_put(ring);
        }
}

/* The ball rests on an ellipsoid that begins to move, as fast as it takes to be at `to` after each
 * tick, and pushes the ball towards where its branch ends. The energy balance closes, whether the
 * ball comes to its fold or is carried along. */
static void a_moving_ground_meets_the_fold(void **state)
{
    (void)state;
    double r = 0.06, wide = 0.1;
    for (int fast = 0; fast < 2; fast++) {
        gw_system_body_def ball = joined(GW_MOBILIZER_FREE, diagonal(1, 2e-3, 2e-3, 2e-3));
        gw_surface around_it = {
            .kind = GW_SURFACE_ELLIPSOID, .semi_axes = {0.2, wide, wide}, .turn = {1, 0, 0, 0}};
        ball.position[2] = r - wide;
        gw_closure_def c = contact(0, sphere(r), GW_MOVING_GROUND(0), around_it, GW_CONTACT_SLIDES);
        c.contact.inside = true;
        gw_system_def def = {.body_count = 1,
                             .closure_count = 1,
                             .bodies = &ball,
                             .closures = &c,
                             .gravity = {0, 0, -G},
                             .ground_count = 1};
        gw_system *s = gw_system_create(&def, NULL);
        assert_non_null(s);
        double balance = total(s), errors = 0;
        int told = 0;
        for (int t = 1; t <= 400; t++) {
            gw_step step;
            gw_pose now = gw_system_ground(s, GW_MOVING_GROUND(0)).pose;
            double to = (fast ? 3 : 0.5) * fmin(t, 200) * DT;
            gw_twist moves = {{(to - now.p.x) / DT, 0, 0}, zero};
            balance += gw_system_move_grounds(s, &now, &moves);
            gw_model_step(gw_system_model(s), NULL, DT, &step);
            balance += step.base_work - step.dissipated, errors += step.energy_error;
            told += step.degenerate;
            assert_true(step.finite);
        }
        print_message("told %d times, energy %.1e J, errors %.1e J\n", told, total(s) - balance,
                      errors);
        assert_true(fast ? told > 0 : told == 0);
        assert_true(errors == 0 && fabs(total(s) - balance) < 1e-8);
        gw_system_destroy(s);
    }
}

/* ---- wires in space ------------------------------------------------------------------------- */

static double arc_length(const gw_nurbs *n, double from, double to)
{
    double sum = 0;
    enum { PARTS = 2000 };
    for (int i = 0; i <= PARTS; i++) {
        gw_nurbs_point at;
        double weight = i == 0 || i == PARTS ? 1 : i % 2 ? 4 : 2;
        gw_nurbs_evaluate(n, (double[2]){from + (to - from) * i / PARTS, 0}, 1, NULL, &at);
        sum += weight * gw_norm(at.d[1][0]);
    }
    return sum * (to - from) / (3 * PARTS);
}

/* A wire that touches another, the middles of both together, turned about the tangent. */
static gw_system_body_def wire_at_middles(const gw_closure_contact *k)
{
    gw_system_body_def wire = joined(GW_MOBILIZER_FREE, diagonal(0.2, 4e-4, 6e-4, 8e-4));
    gw_pose on_a = frame_on(&k->on_a, 0.5), on_b = frame_on(&k->on_b, 0.5);
    gw_pose roll = {zero, gw_quat_axis(ex, 2)}, body_from_a = gw_pose_inverse(&on_a);
    gw_pose start = gw_pose_mul(&on_b, &roll);
    start = gw_pose_mul(&start, &body_from_a);
    gw_vec3 turn = gw_quat_log(start.q);
    const double at[6] = {start.p.x, start.p.y, start.p.z, turn.x, turn.y, turn.z};
    memcpy(wire.position, at, sizeof at);
    return wire;
}

/* One wire on another that stands: it slides, rolls, turns about the tangent, each only where the
 * kind of contact lets it. */
static void a_wire_moves_on_a_wire(void **state)
{
    (void)state;
    gw_nurbs *p = twisted(0.02), *q = twisted(-0.05);
    for (int motion = 0; motion < 3; motion++) {
        gw_closure_def c = contact(0, curve(p), GW_GROUND, curve(q), (gw_contact_motion)motion);
        gw_system_body_def wire = wire_at_middles(&c.contact);
        wire.velocity[3] = 3, wire.velocity[4] = -6, wire.velocity[5] = 4;
        gw_system *s = make(&wire, 1, &c, 1, zero);
        const gw_contact_point *point = &s->closures[0].contact.point;
        double before = total(s), slip = 0, gap = 0, a0 = point->a[0], b0 = point->b[0];
        assert_int_equal(gw_system_mobility(s), 3 - motion);
        assert_int_equal(gw_system_position_dof(s), 3);
        for (int i = 0; i < 60 && gw_system_closure_at_edge(s) < 0; i++) {
            run(s, 0.01);
            slip = fmax(slip, gw_system_slip_velocity(s));
            gap = fmax(gap, gw_system_residual(s));
        }
        double way_a = arc_length(p, a0, point->a[0]), way_b = arc_length(q, b0, point->b[0]);
        print_message("wire went %.3g and %.3g m, apart by %.1e; slip %.1e m/s, gap %.1e m, energy "
                      "%.1e J of %.2g\n",
                      way_a, way_b, way_a - way_b, slip, gap, total(s) - before, before);
        assert_true(fabs(way_b) > 0.005);
        assert_true(motion == 0 || fabs(way_a - way_b) < 1e-9);
        assert_true(fabs(total(s) - before) < 1e-8);
        assert_true(slip < 1e-10);
        assert_true(gap < 1e-12 * 0.3);
        gw_system_destroy(s);
    }
    gw_nurbs_put(p);
    gw_nurbs_put(q);
}

/* A wire that slides down another comes to their ends and is stopped there: it stays in touch, and
 * the energy balance closes. */
static void ends_are_stops(void **state)
{
    (void)state;
    gw_nurbs *p = twisted(0.02), *q = twisted(-0.05);
    gw_closure_def c = contact(0, curve(p), GW_GROUND, curve(q), GW_CONTACT_SLIDES);
    gw_system_body_def wire = wire_at_middles(&c.contact);
    wire.velocity[4] = -2;
    gw_system *s = make(&wire, 1, &c, 1, gw_v3(0, 0, -G));
    double before = total(s), dissipated = 0, far = 0, gap = 0;
    int ticks_at_end = 0;
    for (int t = 0; t < 1500; t++) {
        gw_step step;
        gw_model_step(gw_system_model(s), NULL, DT, &step);
        assert_true(step.finite);
        dissipated += step.dissipated;
        ticks_at_end += step.edge;
        const gw_contact_point *point = &s->closures[0].contact.point;
        far = fmax(far, fmax(fabs(point->a[0] - 0.5), fabs(point->b[0] - 0.5)) - 0.5);
        gap = fmax(gap, gw_system_residual(s));
    }
    print_message("%d ticks at an end, %.1e past it, gap %.1e m, balance %.1e J of %.2g\n",
                  ticks_at_end, far, gap, total(s) + dissipated - before, dissipated);
    assert_true(ticks_at_end > 0 && far < 0.05);
    assert_true(gap < 1e-12);
    assert_true(fabs(total(s) + dissipated - before) < 1e-8);
    gw_system_destroy(s);
    gw_nurbs_put(p);
    gw_nurbs_put(q);
}

static gw_body_frame frame_moved(const gw_pose *pose, const gw_twist *twist, double t)
{
    gw_quat q = gw_quat_mul(gw_quat_exp(gw_scale(t, twist->w)), pose->q);
    return (gw_body_frame){gw_quat_to_mat3(q), gw_mul_add(pose->p, t, twist->v), *twist};
}

/* How far past its end a curve touches, by both bodies' motion and by differences. */
static void ends_have_exact_gradients(void **state)
{
    (void)state;
    srand(8);
    gw_nurbs *p = twisted(0.02), *q = twisted(-0.05);
    for (int trial = 0; trial < 10; trial++) {
        gw_closure_def c = contact(0, curve(p), 1, curve(q), GW_CONTACT_SLIDES);
        gw_pose on_a = frame_on(&c.contact.on_a, 1.02), on_b = frame_on(&c.contact.on_b, -0.01);
        gw_pose body_from_a = gw_pose_inverse(&on_a), roll = {zero, gw_quat_axis(ex, 1 + trial)};
        gw_pose poses[2] = {gw_pose_mul(&on_b, &roll), gw_pose_identity()};
        poses[0] = gw_pose_mul(&poses[0], &body_from_a);
        gw_twist twists[2];
        for (int i = 0; i < 2; i++)
            twists[i].v = some_vector(1), twists[i].w = some_vector(1);
        c.contact.point = (gw_contact_point){.known = true, .a = {1.02}, .b = {-0.01}};
        gw_edge edges[3][GW_MAX_EDGES];
        double h = 1e-6;
        for (int k = 0; k < 3; k++) {
            gw_body_frame fa = frame_moved(&poses[0], &twists[0], (k - 1) * h);
            gw_body_frame fb = frame_moved(&poses[1], &twists[1], (k - 1) * h);
            gw_curve_contact x;
            assert_true(gw_curve_contact_at(&c.contact, &fa, &fb, &c.contact.point, &x));
            assert_true(x.beyond);
            assert_int_equal(gw_surface_contact_edges(&c.contact, &fa, &fb, false, edges[k]), 2);
        }
        for (int i = 0; i < 2; i++) {
            const gw_edge *e = &edges[1][i];
            double rate = gw_dot(e->on_a.f, twists[0].v) + gw_dot(e->on_a.t, twists[0].w) +
                          gw_dot(e->on_b.f, twists[1].v) + gw_dot(e->on_b.t, twists[1].w);
            double by_differences = (edges[2][i].past - edges[0][i].past) / (2 * h);
            assert_true(fabs(rate - by_differences) < 1e-7 * (1 + fabs(rate)));
        }
    }
    gw_nurbs_put(p);
    gw_nurbs_put(q);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void curves_that_cannot_touch_are_named(void **state)
{
    (void)state;
    gw_nurbs *rail = straight(0.5), *ring = ellipse(0.1, 0.1);
    gw_closure_def within = contact(0, curve(ring), GW_GROUND, curve(ring), GW_CONTACT_ROLLS);
    refused(contact(0, curve(rail), GW_GROUND, curve(rail), GW_CONTACT_SLIDES), zero, "conform");
    refused(within, zero, "conform");
    within.contact.inside = true;
    refused(within, gw_v3(0.2, 0, 0), "no inside");
    gw_nurbs_put(rail);
    gw_nurbs_put(ring);
}

/* Two cams on axles of their own: the energy stays while their motion turns back and forth. */
static void cams_keep_their_energy(void **state)
{
    (void)state;
    gw_nurbs *one = egg(0.05, -0.2), *two = egg(0.06, 0.15);
    gw_system_body_def bodies[2];
    for (int i = 0; i < 2; i++) {
        bodies[i] = joined(GW_MOBILIZER_REVOLUTE, diagonal(0.2, 2e-4, 2e-4, 3e-4));
        bodies[i].parent_from_f.p = gw_v3(0.115 * i, 0, 0);
        bodies[i].body_from_m.p = gw_v3(i ? 0.02 : 0.015, 0, 0);
        bodies[i].mass.com = gw_v3(i ? -0.02 : 0, 0, 0);
        bodies[i].keeps_position = bodies[i].keeps_velocity = i == 0;
    }
    bodies[0].position[0] = 0.6, bodies[0].velocity[0] = 3;
    gw_closure_def c = contact(0, curve(one), 1, curve(two), GW_CONTACT_SLIDES);
    gw_system *s = make(bodies, 2, &c, 1, gw_v3(0, -G, 0));
    double before = total(s), worst = 0, q[6], v[6];
    for (int i = 0; i < 200; i++) {
        run(s, 0.01);
        worst = fmax(worst, fabs(total(s) - before));
        gw_system_joint(s, 0, q, v);
    }
    print_message("cams at %g rad, energy off by %.1e J of %.2g, gap %.1e m\n", q[0], worst, before,
                  gw_system_residual(s));
    assert_true(worst < 1e-8);
    assert_true(gw_system_residual(s) < 1e-13);
    gw_system_destroy(s);
    gw_nurbs_put(one);
    gw_nurbs_put(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cams_keep_their_energy),
        cmocka_unit_test(rows_are_derivatives_apart_and_through),
        cmocka_unit_test(ellipses_roll_about_their_foci),
        cmocka_unit_test(a_hoop_swings_within_a_ring),
        cmocka_unit_test(a_contact_that_degenerates_is_told),
        cmocka_unit_test(a_moving_ground_meets_the_fold),
        cmocka_unit_test(a_wire_moves_on_a_wire),
        cmocka_unit_test(ends_are_stops),
        cmocka_unit_test(ends_have_exact_gradients),
        cmocka_unit_test(curves_that_cannot_touch_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
