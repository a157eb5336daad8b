/*
 * Joints that are submanifolds, as the positioning solver answers with them, against the same sets
 * as rows of closures, and against joints that are made for them.
 */
#include "tests/unit/solve_util.h"

#include <math.h>
#include <stdlib.h>

#include "rt/dynamics/system.h"

static gw_mass brick(double m)
{
    return (gw_mass){
        m, {0.03, -0.02, 0.01}, {{{0.02 * m, 0, 0}, {0, 0.03 * m, 0}, {0, 0, 0.025 * m}}}};
}

static double total(gw_system *s)
{
    double kinetic, potential;
    gw_model_energy(gw_system_model(s), &kinetic, &potential);
    return kinetic + potential;
}

/* A body on the set, or free on the set's rows, with another one hinged to it. */
static gw_system *on_set(const gw_submanifold *set, const gw_pose *start, const gw_twist *twist,
                         bool as_rows, int grounds)
{
    gw_closure_def rows = {.a = 0, .b = GW_GROUND, .row_count = set->row_count};
    int ground = grounds > 0 ? GW_MOVING_GROUND(0) : GW_GROUND;
    memcpy(rows.rows, set->rows, sizeof rows.rows);
    rows.b = ground;
    gw_system_body_def bodies[2] = {
        {.mass = brick(1),
         .parent = as_rows ? GW_GROUND : ground,
         .joint = as_rows ? GW_MOBILIZER_FREE : GW_MOBILIZER_SUBMANIFOLD,
         .parent_from_f = gw_pose_identity(),
         .body_from_m = gw_pose_identity(),
         .set = as_rows ? NULL : set,
         .start = *start,
         .start_twist = *twist},
        {.mass = brick(0.5),
         .parent = 0,
         .joint = GW_MOBILIZER_REVOLUTE,
         .parent_from_f = {{0.1, 0.05, 0}, gw_quat_exp(gw_v3(0.3, 0.2, 0))},
         .body_from_m = {{-0.1, 0, 0.02}, {1, 0, 0, 0}},
         .damping = {0.02},
         .velocity = {0.3}}};
    gw_vec3 turn = gw_quat_log(start->q);
    const double position[6] = {start->p.x, start->p.y, start->p.z, turn.x, turn.y, turn.z};
    const double velocity[6] = {twist->v.x, twist->v.y, twist->v.z,
                                twist->w.x, twist->w.y, twist->w.z};
    memcpy(bodies[0].position, position, sizeof position);
    memcpy(bodies[0].velocity, velocity, sizeof velocity);
    gw_system_spring_def spring = {0, GW_GROUND, {0.1, 0, 0}, {0.2, 0.3, 0.5}, 20, 0.5, 0.1};
    gw_system_def def = {.body_count = 2,
                         .bodies = bodies,
                         .closure_count = as_rows ? 1 : 0,
                         .closures = &rows,
                         .spring_count = 1,
                         .springs = &spring,
                         .gravity = {0.1, 0.05, -1},
                         .ground_count = grounds};
    return gw_system_create(&def, NULL);
}

/* A motion of the set at a pose. */
static gw_twist some_motion(const gw_submanifold *set, const gw_pose *pose)
{
    double basis[6][6];
    gw_twist t = {{0, 0, 0}, {0, 0, 0}};
    gw_submanifold_tangent(set, pose, 0.2, basis);
    for (int i = 0; i < set->dof; i++) {
        double by = 0.15 * uniform();
        t.v = gw_mul_add(t.v, by, gw_v3(basis[i][0], basis[i][1], basis[i][2]));
        t.w = gw_mul_add(t.w, by, gw_v3(basis[i][3], basis[i][4], basis[i][5]));
    }
    return t;
}

typedef struct answer {
    const char *what;
    int count;
    gw_constraint constraints[3];
} answer;

static const answer answers[] = {
    {"a point at a distance from a point",
     1,
     {{.kind = GW_DISTANCE,
       .value = 0.4,
       .mobile = {GW_POINT, {0.1, 0, 0}, {0, 0, 0}},
       .fixed = {GW_POINT, {0, 0, 0}, {0, 0, 0}}}}},
    {"a point on a plane",
     1,
     {{.kind = GW_COINCIDENT,
       .mobile = {GW_POINT, {0.1, 0, 0}, {0, 0, 0}},
       .fixed = {GW_PLANE, {0, 0, 0}, {0, 0.6, 0.8}}}}},
    {"a point at a distance from a line",
     1,
     {{.kind = GW_DISTANCE,
       .value = 0.3,
       .mobile = {GW_POINT, {0, 0.1, 0}, {0, 0, 0}},
       .fixed = {GW_LINE, {0, 0, 0}, {0, 0.6, 0.8}}}}},
    {"a point on a line",
     1,
     {{.kind = GW_COINCIDENT,
       .mobile = {GW_POINT, {0, 0.1, 0}, {0, 0, 0}},
       .fixed = {GW_LINE, {0, 0, 0.1}, {1, 0, 0}}}}},
    {"a point on a point",
     1,
     {{.kind = GW_COINCIDENT,
       .mobile = {GW_POINT, {0, 0.1, 0}, {0, 0, 0}},
       .fixed = {GW_POINT, {0, 0, 0.1}, {0, 0, 0}}}}},
    {"a plane on a plane",
     1,
     {{.kind = GW_COINCIDENT,
       .sense = GW_SAME,
       .mobile = {GW_PLANE, {0, 0.1, 0}, {0, 0, 1}},
       .fixed = {GW_PLANE, {0, 0, 0.1}, {0, 0.6, 0.8}}}}},
    {"a line on a line",
     1,
     {{.kind = GW_COINCIDENT,
       .sense = GW_SAME,
       .mobile = {GW_LINE, {0, 0.1, 0}, {0, 0, 1}},
       .fixed = {GW_LINE, {0, 0, 0.1}, {0, 0.6, 0.8}}}}},
    {"a line at an angle",
     1,
     {{.kind = GW_ANGLE,
       .value = 1,
       .mobile = {GW_LINE, {0, 0.1, 0}, {0, 0, 1}},
       .fixed = {GW_LINE, {0, 0, 0.1}, {0, 0.6, 0.8}}}}},
    {"a point at a distance from a line and in a plane",
     2,
     {{.kind = GW_DISTANCE,
       .value = 0.3,
       .mobile = {GW_POINT, {0, 0.1, 0}, {0, 0, 0}},
       .fixed = {GW_LINE, {0, 0, 0}, {0, 0, 1}}},
      {.kind = GW_COINCIDENT,
       .mobile = {GW_POINT, {0, 0.1, 0}, {0, 0, 0}},
       .fixed = {GW_PLANE, {0, 0, 0}, {0, 0, 1}}}}},
    {"a point on a point and a line at an angle",
     2,
     {{.kind = GW_COINCIDENT,
       .mobile = {GW_POINT, {0, 0.1, 0}, {0, 0, 0}},
       .fixed = {GW_POINT, {0, 0, 0.1}, {0, 0, 0}}},
      {.kind = GW_ANGLE,
       .value = 1,
       .mobile = {GW_LINE, {0, 0.1, 0}, {0, 0, 1}},
       .fixed = {GW_LINE, {0, 0, 0.1}, {0, 0.6, 0.8}}}}},
};

static double apart(gw_system *a, gw_system *b)
{
    double worst = 0;
    for (int i = 0; i < 2; i++) {
        gw_pose p, q;
        gw_twist u, v;
        gw_model_body(gw_system_model(a), i, &p, &u);
        gw_model_body(gw_system_model(b), i, &q, &v);
        gw_twist off = gw_pose_sub(&p, &q);
        worst = fmax(worst, gw_norm(off.v) + gw_norm(off.w));
    }
    return worst;
}

static bool solved(const answer *a)
{
    gw_problem problem = {.pose = {{0.2, 0.1, 0.3}, gw_quat_exp(gw_v3(0.4, -0.3, 0.2))},
                          .length = 0.3,
                          .count = a->count,
                          .constraints = a->constraints};
    gw_solve(&problem, &solution);
    return solution.status == GW_SOLVED && solution.branch_count > 0 &&
           !solution.branches[0].set.general;
}

static void a_joint_of_a_set_moves_as_its_rows(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof answers / sizeof *answers; n++) {
        assert_true(solved(&answers[n]));
        gw_submanifold set = solution.branches[0].set;
        gw_pose start = solution.branches[0].nearest;
        gw_twist twist = some_motion(&set, &start);
        gw_system *joint = on_set(&set, &start, &twist, false, 0);
        gw_system *rows = on_set(&set, &start, &twist, true, 0);
        double worst = 0, balance = 0, given = 0, before = total(joint), open;
        gw_step step;
        assert_non_null(joint);
        assert_non_null(rows);
        assert_int_equal(gw_model_dof(gw_system_model(joint)), set.dof + 1);
        assert_int_equal(gw_system_mobility(rows), set.dof + 1);
        for (int i = 0; i < 5000; i++) {
            gw_model_step(gw_system_model(joint), NULL, 1e-3, &step);
            assert_true(step.finite);
            given += step.motors - step.dissipated;
            balance = fmax(balance, fabs(total(joint) - before - given));
            gw_model_step(gw_system_model(rows), NULL, 1e-3, &step);
            worst = fmax(worst, apart(joint, rows));
        }
        gw_pose pose, nearest;
        gw_model_body(gw_system_model(joint), 0, &pose, &twist);
        open = gw_submanifold_nearest_local(&set, &pose, 0.3, &nearest);
        print_message("%s: off %.2e, from the set %.2e, balance %.2e\n", answers[n].what, worst,
                      open, balance);
        assert_true(worst < 1e-9 && open < 1e-14 && balance < 1e-10);
        gw_system_destroy(joint);
        gw_system_destroy(rows);
    }
}

/* The same on a ground that turns; bodies are put where others have them; a copy of the state,
 * which has the chart's centre, goes on in the same way. */
static void a_joint_of_a_set_rides_and_is_placed(void **state)
{
    (void)state;
    double worst = 0, again = 0;
    for (size_t n = 0; n < sizeof answers / sizeof *answers; n++) {
        assert_true(solved(&answers[n]));
        gw_submanifold set = solution.branches[0].set;
        gw_pose start = solution.branches[0].nearest, home = gw_pose_identity(), poses[2];
        gw_twist twist = some_motion(&set, &start), twists[2];
        gw_twist moves = {{0.2, 0.1, 0}, {0, 0.3, 0.5}};
        gw_system *joint = on_set(&set, &start, &twist, false, 1);
        gw_system *rows = on_set(&set, &start, &twist, true, 1);
        gw_model *model = gw_system_model(joint), *copy = malloc(model->ops->size);
        gw_step step;
        gw_system_move_grounds(joint, &home, &moves);
        gw_system_move_grounds(rows, &home, &moves);
        for (int i = 0; i < 1500; i++) {
            gw_model_step(gw_system_model(joint), NULL, 1e-3, &step);
            gw_model_step(gw_system_model(rows), NULL, 1e-3, &step);
            worst = fmax(worst, apart(joint, rows));
            if (i != 500 && i != 1000)
                continue;
            for (int k = 0; k < 2; k++)
                gw_model_body(gw_system_model(rows), k, &poses[k], &twists[k]);
            if (i == 500)
                gw_system_place(joint, poses, twists);
            memcpy(copy, model, model->ops->size);
        }
        for (int k = 0; k < 2; k++)
            gw_model_body(model, k, &poses[k], &twists[k]);
        memcpy(model, copy, model->ops->size);
        for (int i = 1001; i < 1500; i++)
            gw_model_step(gw_system_model(joint), NULL, 1e-3, &step);
        for (int k = 0; k < 2; k++) {
            gw_pose now;
            gw_model_body(model, k, &now, &twist);
            again = fmax(again, gw_distance(now.p, poses[k].p));
        }
        free(copy);
        gw_system_destroy(joint);
        gw_system_destroy(rows);
    }
    print_message("on a ground that turns: off %.2e, from a copy %.2e\n", worst, again);
    assert_true(worst < 1e-9 && again == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_joint_of_a_set_moves_as_its_rows),
        cmocka_unit_test(a_joint_of_a_set_rides_and_is_placed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
