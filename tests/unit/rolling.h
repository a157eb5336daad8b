/*
 * Systems of bodies with contacts: bodies, surfaces, runs, and rows against central differences.
 */
#ifndef GW_TEST_ROLLING_H
#define GW_TEST_ROLLING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rt/dynamics/system_private.h"

#define G  9.81
#define DT 1e-3

static const gw_vec3 zero = {0, 0, 0}, ex = {1, 0, 0}, ey = {0, 1, 0}, ez = {0, 0, 1};

static inline gw_mass diagonal(double mass, double x, double y, double z)
{
    return (gw_mass){mass, {0, 0, 0}, {{{x, 0, 0}, {0, y, 0}, {0, 0, z}}}};
}

static inline gw_system_body_def joined(gw_mobilizer joint, gw_mass mass)
{
    return (gw_system_body_def){.mass = mass,
                                .parent = GW_GROUND,
                                .joint = joint,
                                .parent_from_f = gw_pose_identity(),
                                .body_from_m = gw_pose_identity()};
}

/* A solid ball of 1 kg. */
static inline gw_system_body_def solid_ball(double radius)
{
    double i = 0.4 * radius * radius;
    return joined(GW_MOBILIZER_FREE, diagonal(1, i, i, i));
}

static inline gw_system *make(const gw_system_body_def *bodies, int body_count,
                              const gw_closure_def *closures, int closure_count, gw_vec3 gravity)
{
    gw_error error = {0};
    gw_system_def def = {.body_count = body_count,
                         .closure_count = closure_count,
                         .bodies = bodies,
                         .closures = closures,
                         .gravity = gravity};
    gw_system *s = gw_system_create(&def, &error);
    if (!s)
        print_message("%s\n", error.message);
    assert_non_null(s);
    return s;
}

static inline gw_closure_def contact(int a, gw_surface on_a, int b, gw_surface on_b,
                                     gw_contact_motion motion)
{
    return (gw_closure_def){.a = a,
                            .b = b,
                            .kind = GW_CLOSURE_CONTACT,
                            .contact = {.on_a = on_a, .on_b = on_b, .motion = motion}};
}

static inline gw_surface sphere(double radius)
{
    return (gw_surface){.kind = GW_SURFACE_SPHERE, .radius = radius};
}

static inline gw_surface plane(gw_vec3 normal)
{
    return (gw_surface){.kind = GW_SURFACE_PLANE, .axis = normal};
}

static inline gw_surface around(gw_surface_kind kind, gw_vec3 axis, double radius)
{
    return (gw_surface){.kind = kind, .axis = axis, .radius = radius};
}

static inline gw_surface surface_at(gw_surface_kind kind, gw_vec3 point, gw_vec3 axis,
                                    double radius)
{
    return (gw_surface){.kind = kind, .point = point, .axis = axis, .radius = radius};
}

static inline double total(gw_system *s)
{
    double kinetic, potential;
    gw_model_energy(gw_system_model(s), &kinetic, &potential);
    return kinetic + potential;
}

static inline void run(gw_system *s, double seconds)
{
    gw_step step;
    int n = (int)lround(seconds / DT);
    for (int i = 0; i < n; i++) {
        gw_model_step(gw_system_model(s), NULL, DT, &step);
        assert_true(step.finite);
    }
}

static inline double slip_after(gw_system *s, double seconds)
{
    double before = total(s), worst = 0;
    for (double t = 0; t < seconds - DT / 2; t += 0.1) {
        run(s, 0.1);
        worst = fmax(worst, gw_system_slip_velocity(s));
    }
    assert_true(fabs(total(s) - before) < 1e-8 * (1 + fabs(before)));
    assert_true(gw_system_residual(s) < 1e-12);
    return worst;
}

static inline double noise(void)
{
    return 2.0 * rand() / RAND_MAX - 1;
}

static inline gw_vec3 some_vector(double size)
{
    double x = noise(), y = noise();
    return gw_v3(size * x, size * y, size * noise());
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Puts the bodies where they are after moving for t with constant velocity of their origins and
 * constant spin, and works the rows out. */
static inline void move_to(gw_system *s, const gw_pose *poses, const gw_twist *twists, double t)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        k->pose.p = gw_mul_add(poses[i].p, t, twists[i].v);
        k->pose.q = gw_quat_mul(gw_quat_exp(gw_scale(t, twists[i].w)), poses[i].q);
        k->turn = gw_quat_to_mat3(k->pose.q);
        k->twist = twists[i];
    }
    gw_closures_update_rows(s);
}

/* Poses of the two bodies in a trial. */
typedef void (*placing)(const gw_closure_contact *contact, int trial, gw_pose poses[2]);

static inline void anywhere(const gw_closure_contact *contact, int trial, gw_pose poses[2])
{
    (void)trial;
    for (int i = 0; i < 2; i++) {
        gw_vec3 p = some_vector(1);
        poses[i] = (gw_pose){p, gw_quat_exp(some_vector(2))};
    }
    if (contact->inside)
        poses[0].p = gw_add(poses[1].p, some_vector(0.5));
}

/* h: of differences (s), at velocities of up to 1 m/s. */
static inline void rows_are_derivatives_placed(gw_closure_def closure, placing point, double h)
{
    gw_system_body_def bodies[2] = {solid_ball(0.1), solid_ball(0.1)};
    gw_error error = {0};
    enum { MOST = 8 };
    /* made with a closure that is satisfied in any pose, which the rows under test then replace */
    gw_closure_def free_row = {.a = 0, .b = 1, .row_count = MOST};
    for (int i = 0; i < MOST; i++)
        free_row.rows[i] =
            (gw_row){.kind = GW_ROW_PLANE, .m = zero, .f = zero, .n = ez, .value = 0};
    gw_system_def def = {
        .body_count = 2, .closure_count = 1, .bodies = bodies, .closures = &free_row};
    gw_system *s = gw_system_create(&def, &error);
    assert_non_null(s);
    int velocities;
    gw_closure_row_counts(&closure, &s->position_rows, &velocities);
    s->closures[0] = closure;
    s->blocks[0].position_rows = s->position_rows;
    gw_closures_classify(s);
    s->row_count = s->position_rows + velocities;
    for (int trial = 0; trial < 20; trial++) {
        gw_closure_row at[5][MOST];
        gw_pose poses[2];
        gw_twist twists[2];
        point(&closure.contact, trial, poses);
        s->closures[0].contact.point.known = false;
        for (int i = 0; i < 2; i++) {
            gw_vec3 v = some_vector(1);
            twists[i] = (gw_twist){v, some_vector(1)};
        }
        for (int k = 0; k < 5; k++) {
            move_to(s, poses, twists, (k - 2) * h);
            memcpy(at[k], s->rows, (size_t)s->row_count * sizeof *s->rows);
        }
        for (int n = 0; n < s->row_count; n++) {
            const gw_closure_row *r = &at[2][n];
            const double v[2][6] = {{twists[0].v.x, twists[0].v.y, twists[0].v.z, twists[0].w.x,
                                     twists[0].w.y, twists[0].w.z},
                                    {twists[1].v.x, twists[1].v.y, twists[1].v.z, twists[1].w.x,
                                     twists[1].w.y, twists[1].w.z}};
            double jv = gw_dot6(r->on_a, v[0]) + gw_dot6(r->on_b, v[1]);
            double value_rate =
                (8 * (at[3][n].value - at[1][n].value) - (at[4][n].value - at[0][n].value)) /
                (12 * h);
            double rate_rate =
                (8 * (at[3][n].rate - at[1][n].rate) - (at[4][n].rate - at[0][n].rate)) / (12 * h);
            assert_true(fabs(jv - r->rate) < 1e-12 * (1 + fabs(jv)));
            if (n < s->position_rows && fabs(value_rate - r->rate) > 1e-8 * (1 + fabs(r->rate)))
                print_message("row %d: rate %.9g, differences %.9g\n", n, r->rate, value_rate);
            assert_true(n >= s->position_rows ||
                        fabs(value_rate - r->rate) < 1e-7 * (1 + fabs(r->rate)));
            /* J-dot v: the rate's, as origins do not accelerate */
            if (fabs(rate_rate - r->bias) > 1e-8 * (1 + fabs(r->bias)))
                print_message("row %d: bias %.9g, differences %.9g\n", n, r->bias, rate_rate);
            assert_true(fabs(rate_rate - r->bias) < 1e-7 * (1 + fabs(r->bias)));
        }
    }
    gw_system_destroy(s);
}

static inline void rows_are_derivatives(gw_closure_def closure)
{
    rows_are_derivatives_placed(closure, anywhere, 1e-4);
}

/* A ball at `at` that would begin with that closure: the sentence has `why` in it. */
static inline void refused(gw_closure_def c, gw_vec3 at, const char *why)
{
    gw_system_body_def ball = solid_ball(0.1);
    gw_error error = {0};
    ball.position[0] = at.x, ball.position[1] = at.y, ball.position[2] = at.z;
    gw_system_def def = {.body_count = 1, .closure_count = 1, .bodies = &ball, .closures = &c};
    assert_null(gw_system_create(&def, &error));
    if (!strstr(error.message, why))
        print_message("%s\n", error.message);
    assert_non_null(strstr(error.message, why));
}

#endif
