/*
 * Planar joints of bodies that move in a plane: the same system on a ground that is driven, and
 * stands still, counts as in space, and moves alike.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rt/dynamics/system.h"

enum { BODIES = 6, STEPS = 500 };

typedef enum variant { FREE, SPRUNG, STIFF, CLOSED, VARIANTS } variant;

static const char *const names[] = {"free", "springs and dampers", "stiff", "a loop"};

static gw_ground_motion stands(const void *context, double t)
{
    (void)context, (void)t;
    return (gw_ground_motion){gw_pose_identity(), {{0, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
}

static gw_system_body_def body(int parent, gw_mobilizer joint, int i)
{
    /* z along the plane's normal, which is upwards or downwards in turn, away from the frames of
     * bodies, and x turned about it */
    gw_quat down = {0, 1, 0, 0}, turned = gw_quat_axis(gw_v3(0, 0, 1), 0.3 * i);
    gw_quat f = i % 2 ? gw_quat_mul(turned, down) : turned;
    double m = 1 + 0.3 * i;
    gw_system_body_def def = {
        .mass = {m,
                 {0.02 * i, -0.03, 0.01},
                 {{{0.02 * m, 0.001, 0}, {0.001, 0.03 * m, 0.002}, {0, 0.002, 0.04 * m}}}},
        .parent = parent,
        .joint = joint,
        .parent_from_f = {{0.2, 0.1 * i, 0.05}, f},
        .body_from_m = {{-0.1, 0.05, 0}, {1, 0, 0, 0}}};
    for (int j = 0; j < 3; j++) {
        def.position[j] = 0.1 * (j + 1) - 0.05 * i;
        def.velocity[j] = (j == 2 ? 2 : 0.5) * (i % 3 - 1.2);
    }
    return def;
}

/* A tree of planar and other joints; its plane is inclined, so that gravity acts along it. */
static gw_system *open_system(variant v, int ground)
{
    static const struct {
        int parent;
        gw_mobilizer joint;
    } tree[BODIES] = {{-1, GW_MOBILIZER_PLANAR},  {0, GW_MOBILIZER_PLANAR},
                      {1, GW_MOBILIZER_REVOLUTE}, {0, GW_MOBILIZER_PRISMATIC},
                      {2, GW_MOBILIZER_PLANAR},   {3, GW_MOBILIZER_REVOLUTE}};
    gw_system_body_def bodies[BODIES];
    for (int i = 0; i < BODIES; i++) {
        gw_system_body_def *b = &bodies[i];
        *b = body(tree[i].parent < 0 ? ground : tree[i].parent, tree[i].joint, i);
        if (tree[i].joint == GW_MOBILIZER_PRISMATIC)
            b->parent_from_f.q = gw_quat_axis(gw_v3(1, 0, 0), 0.5 * GW_PI);
        if (i ==
            5) /* back to where the plane's normal is its z, as that of the sliding one is not */
            b->parent_from_f.q = gw_quat_axis(gw_v3(1, 0, 0), -0.5 * GW_PI);
        for (int j = 0; j < 3 && v != FREE && i != 3; j++) {
            b->damping[j] = v == STIFF ? 50 : 0.2;
            b->stiffness[j] = v == STIFF ? 1e5 : 20;
            b->rest[j] = b->position[j] - (v == STIFF ? 1e-3 : 0.1);
        }
        if (v == SPRUNG || v == CLOSED) { /* beside the plane of the body's origin */
            b->damping_linear = 0.4, b->damping_angular = 0.02;
            b->damping_at = gw_v3(0.03, -0.02, 0.1);
        }
    }
    gw_quat inclined = gw_quat_axis(gw_unit(gw_v3(1, 2, 0.5)), 0.7);
    bodies[0].parent_from_f.q = gw_quat_mul(inclined, bodies[0].parent_from_f.q);
    gw_closure_def loop = {.a = 4, .b = ground};
    gw_pose pin = {{0.05, 0, 0}, {1, 0, 0, 0}}, at = {{0.6, 0.2, 0.1}, inclined};
    /* the pin may slide along the normal */
    gw_row rows[6];
    int count = gw_mobilizer_rows(GW_MOBILIZER_CYLINDRICAL, &at, &pin, rows);
    for (int i = 0; i < count; i++)
        if (rows[i].kind == GW_ROW_PLANE)
            loop.rows[loop.row_count++] = rows[i];
    gw_system_def def = {.body_count = BODIES,
                         .bodies = bodies,
                         .closure_count = v == CLOSED,
                         .closures = &loop,
                         .gravity = {1, -2, -9},
                         .ground_count = 1};
    gw_system *s = gw_system_create(&def, NULL);
    assert_non_null(s);
    if (ground != GW_GROUND)
        gw_system_drive_ground(s, 0, stands, NULL);
    return s;
}

static double apart(gw_system *a, gw_system *b, double *twists)
{
    double worst = 0;
    *twists = 0;
    for (int i = 0; i < BODIES; i++) {
        gw_pose p[2];
        gw_twist t[2];
        gw_model_body(gw_system_model(a), i, &p[0], &t[0]);
        gw_model_body(gw_system_model(b), i, &p[1], &t[1]);
        worst = fmax(worst, gw_pose_distance(&p[0], &p[1], 1));
        *twists = fmax(*twists, gw_distance(t[0].v, t[1].v) + gw_distance(t[0].w, t[1].w));
    }
    return worst;
}

static double wrenches_apart(const gw_system *a, const gw_system *b)
{
    double worst = 0;
    for (int i = 0; i < BODIES; i++) {
        gw_wrench x = gw_system_joint_wrench(a, i), y = gw_system_joint_wrench(b, i);
        worst = fmax(worst, gw_distance(x.f, y.f) + gw_distance(x.t, y.t));
    }
    return worst;
}

static void planar_joints_in_their_plane_move_as_in_space(void **state)
{
    (void)state;
    for (variant v = FREE; v < VARIANTS; v++) {
        gw_system *flat = open_system(v, GW_GROUND), *space = open_system(v, GW_MOVING_GROUND(0));
        double poses = 0, twists = 0, wrenches = 0, error = 0, now;
        for (int k = 0; k < STEPS; k++) {
            gw_step step[2];
            gw_model_step(gw_system_model(flat), NULL, 1e-3, &step[0]);
            gw_model_step(gw_system_model(space), NULL, 1e-3, &step[1]);
            assert_true(step[0].finite && step[1].finite);
            poses = fmax(poses, apart(flat, space, &now));
            twists = fmax(twists, now);
            wrenches = fmax(wrenches, wrenches_apart(flat, space));
            error += step[0].energy_error;
        }
        print_message("%s: apart by %.1e m, %.1e m/s, %.1e N; energy error %.1e J\n", names[v],
                      poses, twists, wrenches, error);
        /* stiff steps are closed otherwise on a ground that counts as moving */
        double most = v == STIFF ? 1e-9 : 1e-12;
        assert_true(poses < most);
        assert_true(twists < 1e3 * most);
        assert_true(wrenches < 1e5 * most);
        gw_system_destroy(flat);
        gw_system_destroy(space);
    }
}

/* D^-1, and (D + h C + h^2 K)^-1 with the joints' dampers and springs. */
static void their_inverse_inertia_is_that_of_space(void **state)
{
    (void)state;
    for (variant v = FREE; v < VARIANTS; v++) {
        gw_system *flat = open_system(v, GW_GROUND), *space = open_system(v, GW_MOVING_GROUND(0));
        double force[GW_MODEL_MAX_DOF], x[GW_MODEL_MAX_DOF], y[GW_MODEL_MAX_DOF], worst = 0;
        int n = gw_model_dof(gw_system_model(flat));
        assert_int_equal(n, gw_model_dof(gw_system_model(space)));
        for (int k = 0; k < n; k++) {
            memset(force, 0, sizeof force);
            force[k] = 1;
            gw_model_apply_inverse(gw_system_model(flat), force, x);
            gw_model_apply_inverse(gw_system_model(space), force, y);
            for (int i = 0; i < n; i++)
                worst = fmax(worst, fabs(x[i] - y[i]));
            gw_model_apply_inverse_over(gw_system_model(flat), 1e-3, true, force, x);
            gw_model_apply_inverse_over(gw_system_model(space), 1e-3, true, force, y);
            for (int i = 0; i < n; i++)
                worst = fmax(worst, fabs(x[i] - y[i]));
        }
        print_message("%s: D^-1 off by %.1e\n", names[v], worst);
        assert_true(worst < 1e-11);
        gw_system_destroy(flat);
        gw_system_destroy(space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planar_joints_in_their_plane_move_as_in_space),
        cmocka_unit_test(their_inverse_inertia_is_that_of_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
