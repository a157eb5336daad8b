/*
 * Poles of free-form surfaces: heights over the tangent plane with their derivatives, charts there,
 * and bodies that start at a pole or pass over it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "rt/dynamics/guided.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/nurbs_pole.h"
#include "rt/positioning/solve.h"
#include "rt/geometry/nurbs_primitive.h"

#define A 0.5
#define B 0.4
#define C 0.3

/* Both poles of an ellipsoid, z = +-C sqrt(1 - x^2/A^2 - y^2/B^2), in closed form. */
static void heights_have_exact_derivatives(void **unused)
{
    (void)unused;
    gw_nurbs *s = gw_nurbs_ellipsoid(gw_v3(A, B, C), NULL);
    double worst[4] = {0};
    for (int i = 2; i < 4; i++) {
        const gw_nurbs_pole *p = s->pole[i];
        assert_non_null(p);
        assert_true(gw_distance(p->plane.point, gw_v3(0, 0, i == 2 ? -C : C)) < 1e-15);
        for (double far = 0; far < 0.9 * p->plane.reach; far = far * 1.7 + 1e-9)
            for (int k = 0; k < 7; k++) {
                double xy[2] = {far * cos(0.9 * k), far * sin(0.9 * k)}, parameter[2];
                gw_nurbs_point at, by;
                assert_true(gw_tangent_plane_evaluate(s, &p->plane, xy, 3, parameter, &at));
                gw_nurbs_evaluate(s, parameter, 0, NULL, &by);
                worst[0] = fmax(worst[0], gw_distance(at.d[0][0], by.d[0][0]));
                gw_vec3 x = at.d[0][0];
                worst[0] = fmax(worst[0], fabs(x.x * x.x / (A * A) + x.y * x.y / (B * B) +
                                               x.z * x.z / (C * C) - 1));
                /* n . d_ij by F(S) = 0: grad F . S_ij = -S_i . F'' S_j */
                gw_vec3 g = gw_v3(x.x / (A * A), x.y / (B * B), x.z / (C * C));
                gw_vec3 w = gw_v3(1 / (A * A), 1 / (B * B), 1 / (C * C));
                gw_vec3 d[2] = {at.d[1][0], at.d[0][1]};
                for (int a = 0; a < 2; a++) {
                    worst[1] = fmax(worst[1], fabs(gw_dot(g, d[a])));
                    for (int b = 0; b < 2; b++) {
                        gw_vec3 db = gw_v3(w.x * d[b].x, w.y * d[b].y, w.z * d[b].z);
                        gw_vec3 ab = at.d[2 - a - b][a + b];
                        worst[2] = fmax(worst[2], fabs(gw_dot(g, ab) + gw_dot(d[a], db)));
                        for (int c = 0; c < 2; c++) {
                            gw_vec3 ac = at.d[2 - a - c][a + c], bc = at.d[2 - b - c][b + c];
                            gw_vec3 dc = gw_v3(w.x * d[c].x, w.y * d[c].y, w.z * d[c].z);
                            gw_vec3 da = gw_v3(w.x * d[a].x, w.y * d[a].y, w.z * d[a].z);
                            double sum = gw_dot(g, at.d[3 - a - b - c][a + b + c]) +
                                         gw_dot(ab, dc) + gw_dot(ac, db) + gw_dot(bc, da);
                            worst[3] = fmax(worst[3], fabs(sum));
                        }
                    }
                }
            }
    }
    print_message("off by %g, %g, %g, %g\n", worst[0], worst[1], worst[2], worst[3]);
    assert_true(worst[0] < 1e-14 && worst[1] < 1e-11 && worst[2] < 1e-7 && worst[3] < 1e-4);
    gw_nurbs_put(s);
}

/* From the pole itself and from all about the surface but the other pole, where they are the
 * farthest. */
static void closest_points_are_found_over_poles(void **unused)
{
    (void)unused;
    gw_nurbs *s = gw_nurbs_ellipsoid(gw_v3(0.2, 0.2, 0.2), NULL);
    for (int i = 0; i < 40; i++) {
        double far = i % 5 == 0 ? 0 : pow(10, -i % 9), turn = 0.7 * i;
        gw_vec3 on = gw_scale(0.2, gw_unit(gw_v3(far * cos(turn), far * sin(turn), 1)));
        for (double v = 0.0625; v <= 1; v += 0.0625)
            for (double u = 0; u < 1; u += 0.125) {
                double parameter[2] = {u, v};
                gw_nurbs_point at;
                gw_nurbs_event event = gw_nurbs_follow(s, gw_scale(1.1, on), parameter, NULL, &at);
                assert_true(event == GW_NURBS_REGULAR || event == GW_NURBS_FOCAL);
                assert_true(fabs(parameter[0]) < 8 && gw_distance(at.d[0][0], on) < 1e-12);
            }
    }
    gw_nurbs_put(s);
}

/* A body on the sphere or beside it, from its upper pole or from beside that, held to it by a
 * force towards it. */
typedef struct on_sphere {
    gw_constraint_kind kind;
    double offset;
    bool swapped; /* the sphere is the body's */
    double aside; /* rad from the pole, at the start */
} on_sphere;

static void swing(const on_sphere *c)
{
    static gw_solution solution;
    gw_nurbs *s = gw_nurbs_ellipsoid(gw_v3(0.2, 0.2, 0.2), NULL);
    gw_element own = {.kind = c->kind == GW_NORMAL ? GW_LINE : GW_POINT, .d = {0, 0, 1}};
    gw_element shape = {.kind = GW_SURFACE, .q = {1, 0, 0, 0}, .nurbs = s};
    gw_constraint k = {.kind = c->kind, .sense = GW_SAME, .value = c->offset};
    k.mobile = c->swapped ? shape : own;
    k.fixed = c->swapped ? own : shape;
    gw_quat tilt = gw_quat_axis(gw_v3(0.6, 0.8, 0), c->aside);
    gw_vec3 at = gw_rotate(tilt, gw_v3(0, 0, 0.2 + c->offset));
    gw_problem problem = {{c->swapped ? gw_v3(0, 0, -0.2 - c->offset) : at, tilt}, 1, 1, &k};
    if (c->swapped)
        problem.pose.q = gw_quat_conj(tilt);
    gw_solve(&problem, &solution);
    assert_int_equal(solution.status, GW_SOLVED);
    gw_guided_def def = {.set = solution.branches[0].set,
                         .mass = {.mass = 2, .com = {0.01, 0.02, 0.03}},
                         .gravity = gw_v3(0, 0, c->swapped ? -5 : 5),
                         .body_from_held = gw_pose_identity(),
                         .length = 0.1};
    def.mass.inertia = (gw_mat3){{{0.02, 0, 0}, {0, 0.03, 0}, {0, 0, 0.01}}};
    gw_guided body;
    gw_guided_init(&body, &def, &solution.branches[0].nearest);
    gw_guided_set_twist(&body, &(gw_twist){{0.3, 0.1, 0}, {0.3, 0.2, 1}});
    double kinetic, potential, before, worst = 0, off = 0;
    gw_model_energy(&body.model, &before, &potential);
    double scale = before;
    before += potential;
    for (int i = 0; i < 4000; i++) {
        gw_step step;
        gw_pose last = body.pose;
        double speed = gw_norm(body.twist.v);
        gw_model_step(&body.model, NULL, 1e-3, &step);
        assert_true(step.finite && !step.edge);
        assert_true(gw_distance(last.p, body.pose.p) < 1.1e-3 * speed + 1e-4);
        gw_vec3 centre = c->swapped ? body.pose.p : gw_v3(0, 0, 0);
        gw_vec3 point = c->swapped ? gw_v3(0, 0, 0) : body.pose.p;
        off = fmax(off, fabs(gw_distance(centre, point) - 0.2 - c->offset));
        gw_model_energy(&body.model, &kinetic, &potential);
        worst = fmax(worst, fabs(kinetic + potential - before));
    }
    print_message("kind %d at %g%s, from %g rad: energy to %.2g of %.2g J, off by %.2g m\n",
                  (int)c->kind, c->offset, c->swapped ? ", the body's" : "", c->aside, worst, scale,
                  off);
    assert_true(worst < 1e-8 * scale && off < 1e-12);
    gw_nurbs_put(s);
}

static void bodies_swing_through_poles(void **unused)
{
    static const on_sphere cases[] = {
        {GW_COINCIDENT, 0, false, 0},
        {GW_COINCIDENT, 0, false, 0.02},
        {GW_DISTANCE, 0.05, false, 0},
        {GW_DISTANCE, -0.05, false, 0},
        {GW_NORMAL, 0, false, 0},
        {GW_NORMAL, 0, false, 0.02},
        {GW_NORMAL, 0.05, false, 0},
        /* over knots, where parameters change their speed */
        {GW_COINCIDENT, 0, true, 0},
        {GW_DISTANCE, -0.05, false, 0.2},
        {GW_NORMAL, 0.05, true, 0},
        {GW_NORMAL, -0.05, false, 0},
        {GW_NORMAL, -0.05, false, 0.2},
        {GW_COINCIDENT, 0, false, 1.4},
        {GW_NORMAL, 0.05, false, 1.4},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        swing(&cases[i]);
}

/* A revolved profile whose last control points are one: its end is an apex without a speed, where
 * neither parameters nor a tangent plane tell the way. */
static gw_nurbs *blunt(void)
{
    static const double round[] = {0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
    static const double along[] = {0, 0, 0, 0, 1, 1, 1, 1};
    static const double ring[9][2] = {{1, 0},   {1, 1},  {0, 1},  {-1, 1}, {-1, 0},
                                      {-1, -1}, {0, -1}, {1, -1}, {1, 0}};
    gw_vec3 points[36];
    double weights[36];
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 4; j++) {
            double r = j ? 0 : 0.2;
            points[4 * i + j] = gw_v3(r * ring[i][0], r * ring[i][1], j ? 0.2 : 0);
            weights[4 * i + j] = i % 2 ? sqrt(0.5) : 1;
        }
    return gw_nurbs_create(&(gw_nurbs_def){.dimension = 2,
                                           .degree = {2, 3},
                                           .count = {9, 4},
                                           .knot_count = {12, 8},
                                           .knots = {round, along},
                                           .points = points,
                                           .weights = weights},
                           NULL);
}

/* Steps that succeed gain no energy; the others fail, and leave the body at rest.
 */
static void no_energy_comes_from_an_apex(void **unused)
{
    (void)unused;
    gw_nurbs *s = blunt();
    assert_null(s->pole[3]);
    for (int i = 0; i < 6; i++) {
        static gw_solution solution;
        gw_constraint k = {
            .kind = i < 3 ? GW_DISTANCE : GW_NORMAL,
            .value = 0.03,
            .mobile = {.kind = i < 3 ? GW_POINT : GW_LINE, .d = {0, 0, 1}},
            .fixed = {.kind = GW_SURFACE, .q = {1, 0, 0, 0}, .nurbs = s},
        };
        gw_problem problem = {{{i % 3 * 0.005, 0, 0.23}, {1, 0, 0, 0}}, 1, 1, &k};
        gw_solve(&problem, &solution);
        if (solution.status != GW_SOLVED)
            continue;
        gw_guided_def def = {.set = solution.branches[0].set,
                             .mass = {.mass = 1},
                             .body_from_held = gw_pose_identity(),
                             .length = 0.1};
        def.mass.inertia = (gw_mat3){{{0.02, 0, 0}, {0, 0.03, 0}, {0, 0, 0.01}}};
        gw_guided body;
        gw_guided_init(&body, &def, &solution.branches[0].nearest);
        gw_guided_set_twist(&body, &(gw_twist){{0.3, 0.1, 0}, {0.3, 0.2, 1}});
        double kinetic, last, potential;
        gw_model_energy(&body.model, &last, &potential);
        for (int t = 0; t < 500; t++) {
            gw_step step;
            gw_model_step(&body.model, NULL, 1e-3, &step);
            gw_model_energy(&body.model, &kinetic, &potential);
            assert_true(kinetic < last + 1e-8);
            assert_true(step.finite || kinetic == 0);
            assert_true(fabs(step.dissipated - (last - kinetic)) < 1e-6 * last + 1e-12);
            last = kinetic;
        }
    }
    gw_nurbs_put(s);
}

/* A body whose point keeps an offset from a cone, or whose axis stands along its normal there, goes
 * against the apex: what it loses there is told, and no more than it had. */
static void an_apex_takes_no_more_than_there_is(void **unused)
{
    (void)unused;
    gw_nurbs *s = gw_nurbs_cone(0.1, 0.2, NULL);
    double most = 0;
    int hit = 0, made = 0;
    for (unsigned trial = 0; trial < 40; trial++) {
        static gw_solution solution;
        gw_constraint k = {
            .kind = trial % 2 ? GW_DISTANCE : GW_NORMAL,
            .value = trial % 4 < 2 ? 0.03 : 0.003,
            .mobile = {.kind = trial % 2 ? GW_POINT : GW_LINE, .d = {0, 0, 1}},
            .fixed = {.kind = GW_SURFACE, .q = {1, 0, 0, 0}, .nurbs = s},
        };
        double turn = 0.7 * trial, near = 0.01 + 0.001 * trial;
        gw_problem problem = {
            {{near * cos(turn) + k.value, near * sin(turn), 0.2 - near}, {1, 0, 0, 0}}, 1, 1, &k};
        gw_solve(&problem, &solution);
        if (solution.status != GW_SOLVED)
            continue;
        made++;
        gw_guided_def def = {.set = solution.branches[0].set,
                             .mass = {.mass = 1},
                             .body_from_held = gw_pose_identity(),
                             .length = 0.1};
        def.mass.inertia = (gw_mat3){{{0.02, 0, 0}, {0, 0.03, 0}, {0, 0, 0.01}}};
        gw_guided body;
        gw_guided_init(&body, &def, &solution.branches[0].nearest);
        gw_vec3 p = body.pose.p, up = gw_sub(gw_v3(0, 0, 0.2), p);
        gw_guided_set_twist(&body, &(gw_twist){gw_scale(0.5 / gw_norm(up), up), {0.3, 0.2, 1}});
        double kinetic, last, potential;
        gw_model_energy(&body.model, &last, &potential);
        for (int t = 0; t < 300; t++) {
            gw_step step;
            gw_model_step(&body.model, NULL, 1e-3, &step);
            gw_model_energy(&body.model, &kinetic, &potential);
            hit += step.edge;
            double off = fabs(step.dissipated - (last - kinetic)) / (last + 1e-9);
            assert_true(step.finite && step.dissipated > -1e-12);
            assert_true(off < (step.edge ? 1e-9 : 1e-3));
            most = step.edge ? fmax(most, off) : most;
            last = kinetic;
        }
    }
    print_message("%d bodies, %d steps against the apex, energy told within %.1e\n", made, hit,
                  most);
    assert_true(made > 30 && hit > 20);
    gw_nurbs_put(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heights_have_exact_derivatives),
        cmocka_unit_test(closest_points_are_found_over_poles),
        cmocka_unit_test(bodies_swing_through_poles),
        cmocka_unit_test(no_energy_comes_from_an_apex),
        cmocka_unit_test(an_apex_takes_no_more_than_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
